package demomail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"time"

	gomessage "github.com/emersion/go-message/textproto"
)

// unknownOutcome is an error after the message was complete on the wire and
// before the server said what it made of it.
type unknownOutcome struct{ err error }

func (e *unknownOutcome) Error() string {
	return "the mail server stopped answering after the mail was handed over: " + e.err.Error()
}
func (e *unknownOutcome) Unwrap() error { return e.err }

const smtpTimeout = 60 * time.Second

// sendSMTP gives the message to a server for all its recipients or for none:
// one refused recipient means that nothing goes to the others either.
func sendSMTP(ctx context.Context, addr string, d draft, raw []byte) error {
	ctx, cancel := context.WithTimeout(ctx, smtpTimeout)
	defer cancel()
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--smtp %q is not HOST:PORT: %w", addr, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("reach the mail server %s: %w", addr, err)
	}
	defer conn.Close()
	// net/smtp knows no context: closing the connection is what ends a wait.
	defer context.AfterFunc(ctx, func() { conn.Close() })()

	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return fmt.Errorf("greet the mail server %s: %w", addr, err)
	}
	if ok, _ := c.Extension("STARTTLS"); ok {
		if err := c.StartTLS(&tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}); err != nil {
			return fmt.Errorf("encrypt the connection to %s: %w", addr, err)
		}
	}
	if err := c.Mail(d.from.Address); err != nil {
		return fmt.Errorf("the mail server refused the sender %s: %w", d.from.Address, err)
	}
	for _, list := range []addressList{d.to, d.cc, d.bcc} {
		for _, a := range list {
			if err := c.Rcpt(a.Address); err != nil {
				return fmt.Errorf("the mail server refused the recipient %s: %w", a.Address, err)
			}
		}
	}
	w, err := c.Data()
	if err != nil {
		return fmt.Errorf("the mail server refused the mail: %w", err)
	}
	if _, err := w.Write(raw); err != nil {
		// The final dot was never written, so the server has no message.
		return fmt.Errorf("hand the mail to %s: %w", addr, err)
	}
	if err := w.Close(); err != nil {
		if reply := (*textproto.Error)(nil); errors.As(err, &reply) {
			return fmt.Errorf("the mail server refused the mail: %w", err)
		}
		return &unknownOutcome{err}
	}
	_ = c.Quit() // accepted is accepted, however the goodbye goes
	return nil
}

// headerOf reads one header field of a message of ours.
func headerOf(raw []byte, key string) string {
	h, err := gomessage.ReadHeader(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return ""
	}
	return h.Get(key)
}
