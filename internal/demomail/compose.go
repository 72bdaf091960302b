package demomail

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-message"
	gomail "github.com/emersion/go-message/mail"
	"github.com/emersion/go-message/textproto"
)

// draft is a mail before it has a date and an id.
type draft struct {
	from        *mail.Address
	to, cc, bcc addressList
	subject     string
	body        string
	inReplyTo   string
	references  []string
	attachments []file
	key         string // idempotency key; "" where none came
}

type addressList []*mail.Address

type file struct {
	name string
	data []byte
}

// keyHeader is an idempotency key that fits a header as it stands.
var keyHeader = regexp.MustCompile(`^[!-~]{1,200}$`)

const (
	maxRecipients      = 100
	maxAttachmentBytes = 20 << 20 // all files together
)

// render writes the message as RFC 5322. Every body is encoded so that it
// decodes to exactly the bytes that were given.
func (d draft) render(id string, date time.Time, withBcc bool) ([]byte, error) {
	if strings.ContainsFunc(d.subject, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("the subject holds a line break or another control character; it must be one line")
	}
	var h gomail.Header
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	encoding := bodyEncoding(d.body)
	h.Set("Content-Transfer-Encoding", encoding)
	h.AddRaw([]byte("MIME-Version: 1.0\r\n"))
	h.Set("X-Mecha-Content", d.digest())
	h.Set("Auto-Submitted", "auto-generated") // drafted by a program: keeps auto-repliers from answering it
	if len(d.references) > 0 {
		h.SetMsgIDList("References", d.references)
	}
	if d.inReplyTo != "" {
		h.SetMsgIDList("In-Reply-To", []string{d.inReplyTo})
	}
	h.AddRaw([]byte("Message-ID: <" + id + ">\r\n")) // spelt as everybody spells it
	h.SetSubject(d.subject)
	if withBcc && len(d.bcc) > 0 {
		h.SetAddressList("Bcc", d.bcc)
	}
	if withBcc && keyHeader.MatchString(d.key) { // the owner's own copy: key: finds it there
		h.Set("X-Mecha-Key", d.key)
	}
	if len(d.cc) > 0 {
		h.SetAddressList("Cc", d.cc)
	}
	h.SetAddressList("To", d.to)
	h.SetAddressList("From", []*mail.Address{d.from})
	h.SetDate(date)

	var b bytes.Buffer
	if len(d.attachments) == 0 {
		if err := textproto.WriteHeader(&b, h.Header.Header); err != nil {
			return nil, err
		}
		err := writeBody(&b, encoding, d.body)
		return b.Bytes(), err
	}
	return d.renderMultipart(&b, h, encoding, id)
}

func (d draft) renderMultipart(b *bytes.Buffer, h gomail.Header, encoding, id string) ([]byte, error) {
	boundary := "=_" + hashHex("boundary", id)
	h.Del("Content-Transfer-Encoding")
	h.SetContentType("multipart/mixed", map[string]string{"boundary": boundary})
	if err := textproto.WriteHeader(b, h.Header.Header); err != nil {
		return nil, err
	}
	mw := textproto.NewMultipartWriter(b)
	if err := mw.SetBoundary(boundary); err != nil {
		return nil, err
	}
	var th message.Header
	th.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	th.Set("Content-Transfer-Encoding", encoding)
	w, err := mw.CreatePart(th.Header)
	if err != nil {
		return nil, err
	}
	if err := writeBody(w, encoding, d.body); err != nil {
		return nil, err
	}
	for _, f := range d.attachments {
		kind := mime.TypeByExtension(filepath.Ext(f.name))
		if kind == "" {
			kind = "application/octet-stream"
		}
		kind, _, _ = mime.ParseMediaType(kind)
		var ah gomail.AttachmentHeader
		ah.SetContentType(kind, nil)
		ah.SetFilename(f.name)
		ah.Set("Content-Transfer-Encoding", "base64")
		w, err := mw.CreatePart(ah.Header.Header)
		if err != nil {
			return nil, err
		}
		if err := writeBase64(w, f.data); err != nil {
			return nil, err
		}
	}
	if err := mw.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// bodyEncoding picks what stays readable in the raw file where it can.
func bodyEncoding(body string) string {
	encoded := 0
	for i := range len(body) {
		if body[i] >= 0x80 || (body[i] < ' ' && body[i] != '\n') {
			encoded++
		}
	}
	if encoded > len(body)/3 {
		return "base64"
	}
	return "quoted-printable"
}

// writeBody encodes line ends too (=0A), and breaks the encoded line softly
// after each: a line end that went out as a bare CRLF would decode as CRLF,
// and somebody approved the other bytes. The soft break at the very end is
// for SMTP, which ends every message with a line end of its own.
func writeBody(w io.Writer, encoding, body string) error {
	if encoding == "base64" {
		return writeBase64(w, []byte(body))
	}
	for rest := body; rest != ""; {
		line := rest
		if at := strings.IndexByte(rest, '\n'); at >= 0 {
			line = rest[:at+1]
		}
		rest = rest[len(line):]
		qp := quotedprintable.NewWriter(w)
		qp.Binary = true
		if _, err := io.WriteString(qp, line); err != nil {
			return err
		}
		if err := qp.Close(); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "=\r\n"); err != nil {
			return err
		}
	}
	return nil
}

func writeBase64(w io.Writer, data []byte) error {
	encoded := base64.StdEncoding.EncodeToString(data)
	for len(encoded) > 0 {
		n := min(76, len(encoded))
		if _, err := io.WriteString(w, encoded[:n]+"\r\n"); err != nil {
			return err
		}
		encoded = encoded[n:]
	}
	return nil
}

// digest identifies what is sent, apart from date and id: it tells a repeated
// call from another mail under the same key.
func (d draft) digest() string {
	h := sha256.New()
	put := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	for _, list := range []addressList{{d.from}, d.to, d.cc, d.bcc} {
		put(fmt.Sprint(len(list)))
		for _, a := range list {
			put(a.String())
		}
	}
	put(d.subject)
	put(d.body)
	put(d.inReplyTo)
	for _, f := range d.attachments {
		put(f.name)
		put(string(f.data))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// replyTo addresses an answer to the message that a thread_id stands for. The
// owner's own message is answered to whom it was written to, as mail programs
// do.
func replyTo(owner *mail.Address, t thread, answered *Message, all bool) (draft, error) {
	d := draft{from: owner, subject: answered.Subject}
	if !replyPrefix.MatchString(d.subject) {
		d.subject = strings.TrimSpace("Re: " + d.subject)
	}
	to := answered.ReplyTo
	if len(to) == 0 {
		to = answered.From
	}
	if answered.Sent || slices.Contains(bare(answered.From), strings.ToLower(owner.Address)) {
		to = answered.To
	}
	seen := map[string]bool{strings.ToLower(owner.Address): true}
	take := func(into *addressList, list []*mail.Address) {
		for _, a := range list {
			clean, err := parseAddress(a.String())
			if a.Address == "" || err != nil || seen[strings.ToLower(clean.Address)] {
				continue
			}
			seen[strings.ToLower(clean.Address)] = true
			*into = append(*into, clean)
		}
	}
	take(&d.to, to)
	if all {
		take(&d.cc, answered.To)
		take(&d.cc, answered.Cc)
	}
	if len(d.to) == 0 && len(d.cc) > 0 {
		d.to, d.cc = d.cc, nil
	}
	if len(d.to) == 0 {
		return d, fmt.Errorf("the message from %q has no address that can be answered", show(answered.From))
	}
	d.inReplyTo = answered.MessageID
	d.references = slices.Clone(answered.References)
	if answered.MessageID != "" {
		d.references = append(d.references, answered.MessageID)
	}
	return d, nil
}

func parseAddresses(raw []string) (addressList, error) {
	if len(raw) > maxRecipients {
		return nil, fmt.Errorf("%d recipients; at most %d", len(raw), maxRecipients)
	}
	var list addressList
	for _, s := range raw {
		a, err := parseAddress(s)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// parseAddress takes exactly one address. Line breaks are refused rather than
// cleaned: whoever put one there was after a header.
func parseAddress(s string) (*mail.Address, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }) {
		return nil, fmt.Errorf("%q holds a line break or another control character", s)
	}
	a, err := mail.ParseAddress(s)
	if err != nil {
		return nil, fmt.Errorf("%q is not one mail address: %s", s, strings.TrimPrefix(err.Error(), "mail: "))
	}
	for i := range len(a.Address) {
		if c := a.Address[i]; c <= ' ' || c >= 0x7f || c == '<' || c == '>' {
			return nil, fmt.Errorf("%q has characters that not every mail server takes; use the plain ASCII address", s)
		}
	}
	return a, nil
}

// readAttachments reads the files through a handle on the workspace, so that
// no path and no link can name a file outside it.
func readAttachments(workspace string, paths []string) ([]file, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("open the workspace for attachments: %w", err)
	}
	defer root.Close()
	var files []file
	left := int64(maxAttachmentBytes)
	for _, p := range paths {
		if !filepath.IsLocal(p) {
			return nil, fmt.Errorf("attachment %q: give a path inside the workspace, relative to it", p)
		}
		f, err := root.Open(p)
		if err != nil {
			return nil, fmt.Errorf("attachment %q: %w", p, err)
		}
		data, err := readRegular(f, left)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("attachment %q: %w", p, err)
		}
		left -= int64(len(data))
		files = append(files, file{name: oneLine(filepath.Base(p)), data: data})
	}
	return files, nil
}

func readRegular(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("attachments of more than %d MB together are refused", maxAttachmentBytes>>20)
	}
	return data, err
}

func hashHex(what, s string) string {
	sum := sha256.Sum256([]byte("mecha-slack/" + what + "\x00" + s))
	return hex.EncodeToString(sum[:16])
}
