package demomail

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// postOffice is an SMTP server on loopback that keeps what it accepts and can
// misbehave.
type postOffice struct {
	addr       string
	refuse     string // a recipient that is refused
	rejectMail bool   // answers 554 to the finished mail
	hangUp     bool   // takes the finished mail and closes without a word

	mu    sync.Mutex
	mails []string // as received, with the envelope's recipients in front
	tries int
}

func (p *postOffice) start(t *testing.T) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return p
}

func (p *postOffice) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	say := func(s string) { fmt.Fprint(conn, s+"\r\n") }
	say("220 test")
	var rcpt []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		switch verb := strings.ToUpper(strings.SplitN(line, " ", 2)[0]); verb {
		case "EHLO", "HELO":
			say("250 test")
		case "RCPT":
			if p.refuse != "" && strings.Contains(line, p.refuse) {
				say("550 no such user")
				continue
			}
			rcpt = append(rcpt, line)
			say("250 ok")
		case "DATA":
			say("354 go on")
			var mail strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				mail.WriteString(strings.TrimPrefix(line, "."))
			}
			p.mu.Lock()
			p.tries++
			if !p.rejectMail {
				p.mails = append(p.mails, strings.Join(rcpt, "\n")+"\n\n"+mail.String())
			}
			p.mu.Unlock()
			switch {
			case p.hangUp:
				return
			case p.rejectMail:
				say("554 looks like spam")
			default:
				say("250 queued")
			}
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (p *postOffice) accepted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.mails...)
}

func mailToTwo() m {
	return m{"to": []string{"dean@example.edu"}, "bcc": []string{"archive@example.com"}, "subject": "Budget", "body": ".\nfrom here\r\nno end"}
}

func TestSMTPSendsThenFiles(t *testing.T) {
	office := (&postOffice{}).start(t)
	dir := seeded(t)
	s := client(t, Config{Maildir: dir, SMTP: office.addr})
	first, isErr := call(t, s, "mail_send", mailToTwo(), "k")
	if isErr || !strings.Contains(first, "Sent through "+office.addr) {
		t.Fatal(first)
	}
	if again, _ := call(t, s, "mail_send", mailToTwo(), "k"); again != first {
		t.Errorf("the same key answered\n%s\nfirst\n%s", again, first)
	}
	mails := office.accepted()
	if len(mails) != 1 {
		t.Fatalf("%d mails were delivered, want 1", len(mails))
	}
	envelope, raw, _ := strings.Cut(mails[0], "\n\n")
	if !strings.Contains(envelope, "<dean@example.edu>") || !strings.Contains(envelope, "<archive@example.com>") {
		t.Errorf("envelope %s", envelope)
	}
	delivered, err := ReadMessage([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	filed, _ := theSent(t, dir)
	if delivered.Body != mailToTwo()["body"] || filed.Body != delivered.Body || filed.MessageID != delivered.MessageID {
		t.Errorf("delivered %+v, filed %+v", delivered, filed)
	}
	if len(delivered.Bcc) != 0 || show(filed.Bcc) != "archive@example.com" {
		t.Errorf("Bcc delivered %s, filed %s", show(delivered.Bcc), show(filed.Bcc))
	}
}

func TestSMTPRefusalsAreKnownAndCanBeTriedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		office *postOffice
		want   string
	}{
		"recipient": {&postOffice{refuse: "archive@example.com"}, "refused the recipient archive@example.com"},
		"mail":      {&postOffice{rejectMail: true}, "looks like spam"},
	} {
		t.Run(name, func(t *testing.T) {
			office := tc.office.start(t)
			dir := seeded(t)
			s := client(t, Config{Maildir: dir, SMTP: office.addr})
			for range 2 { // the second try is as good as the first: nothing is left of it
				out, isErr := call(t, s, "mail_send", mailToTwo(), "k")
				if !isErr || !strings.Contains(out, tc.want) || !strings.Contains(out, "nothing was sent") {
					t.Errorf("error %v: %s", isErr, out)
				}
			}
			if len(office.accepted()) != 0 || len(sentFiles(t, dir)) != 0 {
				t.Error("something was sent or filed")
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		l.Close()
		s := client(t, Config{Maildir: seeded(t), SMTP: addr})
		if out, isErr := call(t, s, "mail_send", mailToTwo(), "k"); !isErr || !strings.Contains(out, "reach the mail server") {
			t.Errorf("error %v: %s", isErr, out)
		}
	})
}

func TestSMTPLostAnswerIsUnknownAndNeverSentAgain(t *testing.T) {
	office := (&postOffice{hangUp: true}).start(t)
	dir := seeded(t)
	s := client(t, Config{Maildir: dir, SMTP: office.addr})
	out, isErr, err := tryCall(t, s, "mail_send", mailToTwo(), "k")
	if err == nil {
		t.Fatalf("a result (error %v) for an outcome that nobody knows: %s", isErr, out)
	}
	if wire := (*jsonrpc.Error)(nil); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInternalError || !strings.Contains(wire.Message, "is not known") {
		t.Errorf("error %v", err)
	}
	// Another process with the same key finds the attempt.
	_, _, err = tryCall(t, client(t, Config{Maildir: dir, SMTP: office.addr}), "mail_send", mailToTwo(), "k")
	if err == nil || !strings.Contains(err.Error(), "an earlier attempt") {
		t.Errorf("second attempt: %v", err)
	}
	if n := len(office.accepted()); n != 1 {
		t.Errorf("delivered %d times", n)
	}
	// Whoever looks it up hears that nobody knows: not that it is there, and not
	// that it isn't. Another key hears of nothing.
	looked, isErr := call(t, s, "mail_list", map[string]any{"query": "in:sent key:k"}, "")
	if isErr || !strings.Contains(looked, "whether it arrived is not known") || !strings.Contains(looked, "Subject: Budget") || strings.Contains(looked, "Message-ID") {
		t.Errorf("looked up: %s", looked)
	}
	if other, _ := call(t, s, "mail_list", map[string]any{"query": "in:sent key:zzz"}, ""); strings.Contains(other, "not known") {
		t.Errorf("another key: %s", other)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".Sent", "tmp", "*.handover")); len(left) != 1 {
		t.Errorf("notes of attempts: %v", left)
	} else if raw, err := os.ReadFile(left[0]); err != nil || !strings.Contains(string(raw), "Subject: Budget") {
		t.Errorf("the note doesn't hold the mail: %v", err)
	}
}
