package demomail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // decodes what older mail programs still write
	gomail "github.com/emersion/go-message/mail"
)

// Message is one mail as a person would see it: headers and text decoded.
// Everything in it was written by whoever sent it.
type Message struct {
	// ID stands for the bytes of this message and nothing else: a forged
	// copy with the same Message-ID has another one.
	ID         string
	MessageID  string // without angle brackets; empty if there was none
	References []string
	From       []*mail.Address
	ReplyTo    []*mail.Address
	To         []*mail.Address
	Cc         []*mail.Address
	Bcc        []*mail.Address
	Subject    string
	Date       time.Time
	// Body is the text part, or the HTML part as text, never both.
	Body        string
	Attachments []Attachment
	// Sent tells the owner's own mail from what came in.
	Sent bool
	// Key is the idempotency key of what was sent with one; read it only where Sent.
	Key string
}

// Attachment describes a part that is not the text.
type Attachment struct {
	Name  string
	Type  string
	Bytes int
}

const (
	maxTextBytes = 1 << 20 // of one text part
	maxParts     = 200
	maxDepth     = 8 // multiparts inside multiparts: each level costs every read below it
)

var errNotAMessage = errors.New("not a mail message: no header")

// ReadMessage reads an RFC 5322 message. It is forgiving: what can't be
// decoded is shown as it came, and only bytes without any header are refused.
func ReadMessage(raw []byte) (*Message, error) {
	sum := sha256.Sum256(raw)
	msg := &Message{ID: hex.EncodeToString(sum[:8])}
	entity, err := message.Read(bytes.NewReader(raw))
	if entity == nil {
		return nil, fmt.Errorf("read a mail message: %w", err)
	}
	if entity.Header.Len() == 0 {
		return nil, errNotAMessage
	}
	h := gomail.Header{Header: entity.Header}
	msg.From, msg.ReplyTo = addresses(h, "From"), addresses(h, "Reply-To")
	msg.To, msg.Cc, msg.Bcc = addresses(h, "To"), addresses(h, "Cc"), addresses(h, "Bcc")
	msg.Subject = headerText(h, "Subject")
	msg.Date, _ = h.Date()
	msg.Date = msg.Date.UTC()
	msg.MessageID, _ = h.MessageID()
	msg.References = references(h)
	msg.Key = h.Get("X-Mecha-Key")

	p := parts{}
	p.walk(entity, 0)
	msg.Attachments = p.attachments
	msg.Body = p.plain
	if !p.hasPlain {
		msg.Body = htmlText(p.html)
	}
	return msg, nil
}

// parts gathers the first plain text, the first HTML and everything else.
type parts struct {
	plain, html string
	hasPlain    bool
	hasHTML     bool
	attachments []Attachment
	count       int
}

func (p *parts) walk(e *message.Entity, depth int) {
	p.count++
	if p.count > maxParts || depth > maxDepth {
		return
	}
	if mr := e.MultipartReader(); mr != nil {
		for p.count <= maxParts {
			part, err := mr.NextPart()
			if part == nil || (err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err)) {
				return // a cut-off multipart still shows the parts before the cut
			}
			p.walk(part, depth+1)
		}
		return
	}
	kind, params, _ := e.Header.ContentType()
	disposition, dispParams, _ := e.Header.ContentDisposition()
	name := dispParams["filename"]
	if name == "" {
		name = params["name"]
	}
	switch {
	case disposition == "attachment" || name != "":
		n, _ := io.Copy(io.Discard, e.Body)
		p.attachments = append(p.attachments, Attachment{Name: oneLine(name), Type: oneLine(kind), Bytes: int(n)})
	case (kind == "text/plain" || kind == "") && !p.hasPlain:
		p.plain, p.hasPlain = readText(e.Body), true
	case kind == "text/html" && !p.hasHTML:
		p.html, p.hasHTML = readText(e.Body), true
	default:
		n, _ := io.Copy(io.Discard, e.Body)
		p.attachments = append(p.attachments, Attachment{Type: oneLine(kind), Bytes: int(n)})
	}
}

// readText keeps what was decoded before an error: half a mail is worth more
// than none. The line ends are the message's own.
func readText(r io.Reader) string {
	raw, _ := io.ReadAll(io.LimitReader(r, maxTextBytes))
	if !utf8.Valid(raw) {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return string(raw)
}

// addresses reads an address header; one that doesn't parse is kept as a
// name, so that it is shown but never written to.
func addresses(h gomail.Header, key string) []*mail.Address {
	if !h.Has(key) {
		return nil
	}
	list, err := h.AddressList(key)
	if err != nil {
		return []*mail.Address{{Name: headerText(h, key)}}
	}
	return list
}

func headerText(h gomail.Header, key string) string {
	s, err := h.Text(key)
	if err != nil {
		s = h.Get(key)
	}
	return oneLine(s)
}

// references lists the ancestors, the nearest last.
func references(h gomail.Header) []string {
	refs, _ := h.MsgIDList("References")
	if parents, _ := h.MsgIDList("In-Reply-To"); len(parents) > 0 {
		if n := len(refs); n == 0 || refs[n-1] != parents[0] {
			refs = append(refs, parents[0])
		}
	}
	if len(refs) > 100 { // a thread's root and its near end tie it together
		refs = append(refs[:1:1], refs[len(refs)-99:]...)
	}
	return refs
}

// oneLine makes a stranger's header value take one line: a line break in it
// could otherwise pass for another header in what a person reads.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}
