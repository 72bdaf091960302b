package demomail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deliver sends one draft once. Its three ways out are the package's promise:
// a result (sent, now or before), an isError result (known not to be sent), a
// protocol error (unknown).
func (s *server) deliver(ctx context.Context, tool string, d draft, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	key, err := keyOf(req)
	if err != nil {
		return refuse("%s: %v; nothing was sent", tool, err), nil
	}
	d.key = key
	unique := s.newID()
	name := "mecha-" + hashHex("mail", cmp.Or(key, unique))
	id := strings.TrimPrefix(name, "mecha-") + "@" + domain(s.owner)

	filed, err := d.render(id, s.now(), true)
	if err != nil {
		return refuse("%s: %v; nothing was sent", tool, err), nil
	}
	there, ok, err := s.box.filed(name)
	if err != nil {
		return refuse("%s: look for an earlier delivery: %v; nothing was sent", tool, err), nil
	}
	if ok {
		return s.answer(tool, d, there)
	}
	if s.smtp == "" {
		stored, err := s.box.file(name, unique, filed)
		if err != nil {
			return refuse("%s: file the mail in .Sent: %v; nothing was sent", tool, err), nil
		}
		return s.answer(tool, d, stored)
	}
	return s.handOver(ctx, tool, d, name, id, filed)
}

// handOver really sends, then files. The handover file stands from before the
// first byte until the outcome is known; one that is found means that an
// earlier attempt with this key has no known outcome, in this process or in
// one that died.
func (s *server) handOver(ctx context.Context, tool string, d draft, name, id string, filed []byte) (*mcp.CallToolResult, error) {
	handover := s.box.handover(name)
	err := writeDurably(handover, filed)
	if errors.Is(err, fs.ErrExist) {
		return nil, undecided("%s: an earlier attempt at this mail was handed to %s and its outcome is not known; look for Message-ID <%s> at the recipient or in that server's log (the attempt's copy is %s: once you know that it did not arrive, remove that file, and it can be sent); not sent again", tool, s.smtp, id, handover)
	}
	if err != nil {
		return refuse("%s: note the attempt in .Sent/tmp: %v; nothing was sent", tool, err), nil
	}
	outgoing, err := d.render(id, s.now(), false)
	if err == nil {
		err = sendSMTP(ctx, s.smtp, d, outgoing)
	}
	if unknown := (*unknownOutcome)(nil); errors.As(err, &unknown) {
		return nil, undecided("%s: %v; whether Message-ID <%s> arrived is not known, and it is not sent again", tool, err, id)
	}
	if err != nil {
		if rmErr := os.Remove(handover); rmErr != nil {
			s.log.Warn("a refused mail's note could not be removed", "file", handover, "error", rmErr)
		}
		return refuse("%s: %v; nothing was sent", tool, err), nil
	}
	stored, err := s.box.publish(handover, name, filed)
	if err != nil {
		// It is out: that is the answer, whatever became of our copy.
		s.log.Error("a sent mail could not be filed", "message_id", id, "error", err)
		return s.answer(tool, d, filed)
	}
	if err := os.Remove(handover); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("a sent mail's note could not be removed", "file", handover, "error", err)
	}
	return s.answer(tool, d, stored)
}

// answer describes the stored message, so that a repeated key gets the first
// answer again. Another mail under a used key is refused: saying "sent" would
// be true of different words.
func (s *server) answer(tool string, d draft, stored []byte) (*mcp.CallToolResult, error) {
	m, err := ReadMessage(stored)
	if err != nil {
		return nil, undecided("%s: read back the filed mail: %v", tool, err)
	}
	if got := headerOf(stored, "X-Mecha-Content"); got != d.digest() {
		return refuse("%s: this idempotency key already sent another mail (Message-ID <%s>, to %s, %q); nothing was sent now", tool, m.MessageID, show(m.To), m.Subject), nil
	}
	var b strings.Builder
	if s.smtp == "" {
		b.WriteString("Sent (demo: filed in .Sent/new, nothing left this machine).\n")
	} else {
		fmt.Fprintf(&b, "Sent through %s.\n", s.smtp)
	}
	fmt.Fprintf(&b, "To: %s\n", show(m.To))
	if len(m.Cc) > 0 {
		fmt.Fprintf(&b, "Cc: %s\n", show(m.Cc))
	}
	if len(m.Bcc) > 0 {
		fmt.Fprintf(&b, "Bcc: %s\n", show(m.Bcc))
	}
	fmt.Fprintf(&b, "Subject: %s\nMessage-ID: <%s>\n", m.Subject, m.MessageID)
	return text(b.String()), nil
}

// undecided is a protocol error: neither a result nor a failure. Its code is
// one that says nothing about how far the call got.
func undecided(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf(format, args...)}
}

const maxKeyBytes = 1024

func keyOf(req *mcp.CallToolRequest) (string, error) {
	v, ok := req.Params.Meta[idempotencyKey]
	if !ok {
		return "", nil
	}
	key, ok := v.(string)
	if !ok || key == "" || len(key) > maxKeyBytes {
		return "", fmt.Errorf("_meta[%q] must be a string of 1 to %d bytes", idempotencyKey, maxKeyBytes)
	}
	return key, nil
}

func domain(a *mail.Address) string {
	return a.Address[strings.LastIndexByte(a.Address, '@')+1:]
}
