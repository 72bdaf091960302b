package demomail

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// idempotencyKey is the entry of a call's _meta that names the delivery.
const idempotencyKey = "mecha-slack/idempotency-key"

const (
	defaultListed  = 20
	maxListed      = 100
	snippetLength  = 240
	maxShownBytes  = 60_000 // of one message's text in mail_get_thread
	maxThreadBytes = 150_000
)

// Schemas are written out: they are the contract that the harness validates
// against, pins by hash and builds its edit form from.
const (
	listSchema = `{"type":"object","additionalProperties":false,"properties":{
		"query":{"type":"string","description":"Words that must all occur in sender, recipients, subject or text; from:, to:, subject: and body: look in one place, in:sent in what was sent. Empty lists the newest mail."},
		"limit":{"type":"integer","minimum":1,"maximum":100,"description":"How many mails to list, newest first; 20 when left out."}}}`
	threadSchema = `{"type":"object","additionalProperties":false,"required":["thread_id"],"properties":{
		"thread_id":{"type":"string","description":"A thread_id as mail_list prints it."}}}`
	sendSchema = `{"type":"object","additionalProperties":false,"required":["to","subject","body"],"properties":{
		"to":{"type":"array","minItems":1,"items":{"type":"string"},"description":"Recipients, one address each: name@example.org or Name <name@example.org>."},
		"cc":{"type":"array","items":{"type":"string"},"description":"Recipients of a copy."},
		"bcc":{"type":"array","items":{"type":"string"},"description":"Recipients whom the others don't see."},
		"subject":{"type":"string","description":"One line."},
		"body":{"type":"string","description":"The plain text, sent exactly as it is given."},
		"attachments":{"type":"array","items":{"type":"string"},"description":"Files to attach, by path relative to the workspace."}}}`
	replySchema = `{"type":"object","additionalProperties":false,"required":["thread_id","body"],"properties":{
		"thread_id":{"type":"string","description":"The thread to answer, as mail_list or mail_get_thread prints it. The answer goes to the sender of the message that this id stands for."},
		"body":{"type":"string","description":"The plain text, sent exactly as it is given. The original is not quoted."},
		"reply_all":{"type":"boolean","description":"Also to everyone else who got the message. False when left out."}}}`
)

func (s *server) mcpServer() *mcp.Server {
	srv := mcp.NewServer(
		&mcp.Implementation{Name: "demo-mail", Title: "Demo mail over a Maildir", Version: "1.0.0"},
		&mcp.ServerOptions{Logger: s.log},
	)
	closed, open, harmless := false, true, false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed, DestructiveHint: &harmless}
	writes := &mcp.ToolAnnotations{ReadOnlyHint: false, IdempotentHint: false, OpenWorldHint: &open, DestructiveHint: &harmless}
	add := func(name, what, schema string, hints *mcp.ToolAnnotations, h mcp.ToolHandler) {
		srv.AddTool(&mcp.Tool{Name: name, Description: what, InputSchema: json.RawMessage(schema), Annotations: hints}, h)
	}
	add("mail_list", "List mails in the owner's mailbox, newest first: thread_id, sender, date, subject and the beginning of the text. Use mail_get_thread to read one whole.", listSchema, reads, s.list)
	add("mail_get_thread", "Read a whole mail thread, oldest message first, with decoded text.", threadSchema, reads, s.getThread)
	add("mail_send", "Send a new mail from the owner. Use mail_reply to answer one.", sendSchema, writes, s.send)
	add("mail_reply", "Answer a mail in its thread, from the owner. The recipients and the subject follow from the thread.", replySchema, writes, s.reply)
	return srv
}

func (s *server) list(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if err := decodeArguments(req.Params.Arguments, &args, "query", "limit"); err != nil {
		return refuse("mail_list: %v", err), nil
	}
	if args.Limit <= 0 {
		args.Limit = defaultListed
	}
	args.Limit = min(args.Limit, maxListed)
	messages, unreadable, err := s.box.messages()
	if err != nil {
		return refuse("mail_list: %v", err), nil
	}
	q := parseQuery(args.Query)
	var open []*Message
	if q.byKey() {
		if open, err = s.box.handedOver(); err != nil {
			return refuse("mail_list: %v", err), nil
		}
		open = slices.DeleteFunc(open, func(m *Message) bool { return !q.matches(m) })
	}
	found := slices.DeleteFunc(slices.Clone(messages), func(m *Message) bool { return !q.matches(m) })
	slices.Reverse(found)

	var b strings.Builder
	switch {
	case len(found) == 0 && args.Query == "":
		b.WriteString("The mailbox is empty.\n")
	case len(found) == 0 && len(open) > 0:
		fmt.Fprintf(&b, "No mail is known to have gone out that matches %q.\n", args.Query)
	case len(found) == 0:
		fmt.Fprintf(&b, "No mail matches %q. Fewer words find more; an empty query lists the newest.\n", args.Query)
	case args.Query == "":
		fmt.Fprintf(&b, "%s, newest first.\n", count(len(found), "mail"))
	default:
		fmt.Fprintf(&b, "%s matching %q, newest first.\n", count(len(found), "mail"), args.Query)
	}
	for _, m := range found[:min(len(found), args.Limit)] {
		fmt.Fprintf(&b, "\nthread_id: %s\nFrom: %s\nTo: %s\nDate: %s\nSubject: %s\n", m.ID, show(m.From), show(m.To), dateText(m), m.Subject)
		if n := len(m.Attachments); n > 0 {
			fmt.Fprintf(&b, "Attachments: %d\n", n)
		}
		if q.byKey() {
			fmt.Fprintf(&b, "Message-ID: <%s>\nKey: %s\n", m.MessageID, m.Key)
		}
		fmt.Fprintf(&b, "Begins: %s\n", snippet(m.Body))
	}
	// Neither key nor Message-ID: those are the marks of a delivery, and this is none.
	for _, m := range open {
		fmt.Fprintf(&b, "\nHanded to a mail server, and the answer was lost: whether it arrived is not known.\nTo: %s\nDate: %s\nSubject: %s\nLook at the recipient, or in that server's log.\n", show(m.To), dateText(m), m.Subject)
	}
	if more := len(found) - args.Limit; more > 0 {
		fmt.Fprintf(&b, "\n%d older ones are not listed; raise limit (at most %d) or add words.\n", more, maxListed)
	}
	if unreadable > 0 {
		fmt.Fprintf(&b, "\n%s in the mailbox could not be read as mail.\n", count(unreadable, "file"))
	}
	return text(b.String()), nil
}

func (s *server) getThread(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		ThreadID string `json:"thread_id"`
	}
	if err := decodeArguments(req.Params.Arguments, &args, "thread_id"); err != nil {
		return refuse("mail_get_thread: %v", err), nil
	}
	messages, _, err := s.box.messages()
	if err != nil {
		return refuse("mail_get_thread: %v", err), nil
	}
	t, _ := findThread(messages, args.ThreadID)
	if t == nil {
		return refuse("mail_get_thread: no thread %q in this mailbox; mail_list prints the ids", args.ThreadID), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Thread of %s, oldest first.\n", count(len(t), "message"))
	left := maxThreadBytes
	for _, m := range t {
		fmt.Fprintf(&b, "\n--------\nthread_id: %s\nFrom: %s\n", m.ID, show(m.From))
		if len(m.ReplyTo) > 0 && !slices.Equal(bare(m.ReplyTo), bare(m.From)) {
			fmt.Fprintf(&b, "Reply-To: %s (an answer goes there, not to the sender)\n", show(m.ReplyTo))
		}
		fmt.Fprintf(&b, "To: %s\n", show(m.To))
		if len(m.Cc) > 0 {
			fmt.Fprintf(&b, "Cc: %s\n", show(m.Cc))
		}
		fmt.Fprintf(&b, "Date: %s\nSubject: %s\n", dateText(m), m.Subject)
		for _, a := range m.Attachments {
			fmt.Fprintf(&b, "Attachment: %s (%s, %d bytes)\n", a.Name, a.Type, a.Bytes)
		}
		body := strings.ReplaceAll(m.Body, "\r\n", "\n")
		shown := cutText(body, min(maxShownBytes, left))
		left -= len(shown)
		b.WriteString("\n" + strings.TrimRight(shown, "\n") + "\n")
		if len(shown) < len(body) {
			fmt.Fprintf(&b, "[cut: the first %d of %d bytes of this message are shown]\n", len(shown), len(body))
		}
	}
	return text(b.String()), nil
}

func (s *server) send(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		To          []string `json:"to"`
		Cc          []string `json:"cc"`
		Bcc         []string `json:"bcc"`
		Subject     string   `json:"subject"`
		Body        string   `json:"body"`
		Attachments []string `json:"attachments"`
	}
	if err := decodeArguments(req.Params.Arguments, &args, "to", "cc", "bcc", "subject", "body", "attachments"); err != nil {
		return refuse("mail_send: %v", err), nil
	}
	d := draft{from: s.owner, subject: args.Subject, body: args.Body}
	var err error
	for _, list := range []struct {
		field string
		raw   []string
		into  *addressList
	}{{"to", args.To, &d.to}, {"cc", args.Cc, &d.cc}, {"bcc", args.Bcc, &d.bcc}} {
		if *list.into, err = parseAddresses(list.raw); err != nil {
			return refuse("mail_send: %s: %v; nothing was sent", list.field, err), nil
		}
	}
	if len(d.to) == 0 {
		return refuse("mail_send: to names nobody; nothing was sent"), nil
	}
	if d.attachments, err = readAttachments(s.workspace, args.Attachments); err != nil {
		return refuse("mail_send: %v; nothing was sent", err), nil
	}
	return s.deliver(ctx, "mail_send", d, req)
}

func (s *server) reply(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		ThreadID string `json:"thread_id"`
		Body     string `json:"body"`
		ReplyAll bool   `json:"reply_all"`
	}
	if err := decodeArguments(req.Params.Arguments, &args, "thread_id", "body", "reply_all"); err != nil {
		return refuse("mail_reply: %v", err), nil
	}
	messages, _, err := s.box.messages()
	if err != nil {
		return refuse("mail_reply: %v", err), nil
	}
	t, answered := findThread(messages, args.ThreadID)
	if t == nil {
		return refuse("mail_reply: no thread %q in this mailbox; mail_list prints the ids; nothing was sent", args.ThreadID), nil
	}
	d, err := replyTo(s.owner, t, answered, args.ReplyAll)
	if err != nil {
		return refuse("mail_reply: %v; nothing was sent", err), nil
	}
	d.body = args.Body
	return s.deliver(ctx, "mail_reply", d, req)
}

// decodeArguments reads a call's arguments and refuses what the schema
// doesn't name: a misspelt "bccc" must not be dropped in silence.
func decodeArguments(raw json.RawMessage, into any, names ...string) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no argument %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("an argument has the wrong type: %w", err)
	}
	return nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// refuse is a known failure: the mail did not go, and this is why.
func refuse(format string, args ...any) *mcp.CallToolResult {
	r := text(fmt.Sprintf(format, args...))
	r.IsError = true
	return r
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func dateText(m *Message) string {
	if m.Date.IsZero() {
		return "unknown"
	}
	return m.Date.Format("Mon, 2 Jan 2006 15:04 MST")
}

func snippet(body string) string {
	flat := strings.Join(strings.Fields(body), " ")
	if short := cutText(flat, snippetLength); len(short) < len(flat) {
		return short + " …"
	}
	return flat
}

// cutText cuts at a character, never inside one.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
