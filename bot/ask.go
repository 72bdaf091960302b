package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// Ways into a session besides a message: the shortcut on somebody's message, the
// global shortcut, and /mecha new. Each begins a thread of its own in the
// owner's DM; what was chosen comes along as its author's words, never as the
// owner's.
const (
	shortcutAsk = "mecha_ask_message"
	shortcutNew = "mecha_new_session"
	formAsk     = "ask"
	kindAsk     = "ask"
)

// chosen is the message that a person pointed at.
type chosen struct {
	Channel string           `json:"channel"`
	User    string           `json:"user,omitempty"` // "" of an app
	Name    string           `json:"name"`
	Text    string           `json:"text"`
	Files   []threads.InFile `json:"files,omitempty"`
}

// readChosen reads a message as a shortcut's payload holds it.
func readChosen(raw json.RawMessage, channel string) (chosen, error) {
	var m struct {
		User     string `json:"user"`
		Username string `json:"username"`
		Profile  struct {
			Name string `json:"name"`
		} `json:"bot_profile"`
		Text        string            `json:"text"`
		Blocks      json.RawMessage   `json:"blocks"`
		Attachments []slackAttachment `json:"attachments"`
		Files       []slackFile       `json:"files"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return chosen{}, fmt.Errorf("cannot read the message that was chosen: %w", err)
	}
	c := chosen{Channel: channel, User: m.User, Name: or(or(m.Username, m.Profile.Name), or(m.User, "an app"))}
	parts := []string{plain(m.Text, "nobody")}
	if parts[0] == "" {
		parts[0] = blocksText(m.Blocks)
	}
	for _, a := range m.Attachments {
		parts = append(parts, html.UnescapeString(strings.TrimSpace(strings.Join([]string{a.Pretext, a.Title, a.Text}, "\n"))))
	}
	c.Text = strings.TrimSpace(strings.Join(parts, "\n"))
	for _, f := range m.Files {
		c.Files = append(c.Files, threads.InFile{ID: f.ID, Name: f.Name, Size: f.Size, MIME: f.MIME, URL: or(f.URL, f.URLPrivate)})
	}
	return c, nil
}

// blocksText is what a message of blocks alone says: every text, in order.
func blocksText(blocks json.RawMessage) string {
	var doc any
	if json.Unmarshal(blocks, &doc) != nil {
		return ""
	}
	var lines []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"text", "fields", "elements"} {
				if s, ok := v[key].(string); ok {
					lines = append(lines, html.UnescapeString(s))
				} else {
					walk(v[key])
				}
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc)
	return strings.Join(lines, "\n")
}

// shortcut answers a shortcut with the form that asks what is to be done.
func (d desk) shortcut(ctx context.Context, press Press) {
	role, err := d.slack.role(ctx, press.Team, press.User)
	p := presser{Press: press, role: role}
	switch {
	case err != nil:
		d.failed(ctx, p, err)
		return
	case role != Owner:
		d.refuse(ctx, p, "shortcut", press.Callback, "ask", "no owner", "This is not yours to use: only an owner begins a session.")
		return
	}
	switch press.Callback {
	case shortcutNew:
		d.askForm(ctx, p, nil)
	case shortcutAsk:
		c, err := readChosen(press.Message, press.Channel)
		if err != nil {
			d.failed(ctx, p, err)
			return
		}
		d.askForm(ctx, p, &c)
	default:
		d.refuse(ctx, p, "shortcut", press.Callback, "ask", "no such shortcut", "I don't know this shortcut. Nothing has happened.")
	}
}

// askForm opens the form. What was chosen is kept with its token: only that and
// the words typed are taken from the submission.
func (d desk) askForm(ctx context.Context, p presser, c *chosen) {
	title := "New session"
	if c != nil {
		title = "Ask about this"
	}
	o, ok := d.open(ctx, p, threads.Token{Kind: kindAsk, Ref: "new"}, title)
	if !ok {
		return
	}
	if c != nil {
		if c.User != "" && d.name != nil {
			c.Name = or(d.name(ctx, c.User), c.Name)
		}
		kept, err := encodeJSON(c)
		if err != nil {
			d.fillError(ctx, o, title, err)
			return
		}
		o.token.Choices = append(o.token.Choices, "chosen="+string(kept))
	}
	d.fill(ctx, p, o, askView(title, c, o.token))
}

// maxAsk is what a text field of Slack's takes.
const maxAsk = 3000

func askView(title string, c *chosen, k threads.Token) json.RawMessage {
	m := blockkit.ModalView{Title: title, Submit: "Begin", Close: "Cancel", CallbackID: formAsk, PrivateMetadata: k.Token}
	hint, say := "A thread of its own begins in our DM.", "What shall I do?"
	if c != nil {
		hint = "A thread of its own begins in our DM. The message comes along as a third party's words: they are read, never obeyed, and what this session may send elsewhere is bounded from the start."
		m.Head = append(m.Head, small("a message of %s, in their words:", chosenBy(*c)))
		shown, _ := blockkit.Visible(c.Text, padding)
		shown = blockkit.DefuseMarks(strings.TrimSpace(shown))
		if width(shown) > 1500 {
			shown = strings.TrimSpace(blockkit.SplitVerbatim(shown, 1499)[0]) + "…"
		}
		m.Head = append(m.Head, blockkit.Quote(orWord(shown, blockkit.Empty)))
		for _, f := range c.Files {
			m.Head = append(m.Head, smallPlain("with the file "+blockkit.OneLine(f.Name, 200)))
		}
	}
	m.Body = []blockkit.Block{blockkit.Input("ask", "What shall I do?", hint, false, blockkit.TextInput("ask", "", say, true))}
	v, _ := m.JSON()
	return v
}

func chosenBy(c chosen) string {
	if c.User != "" {
		return who(c.User)
	}
	return quoted(c.Name, 80)
}

// asked begins the session that a form asked for. It answers after the message
// is on the record; sent again, the same form finds its thread.
func (d desk) asked(ctx context.Context, p presser, k threads.Token, in values) json.RawMessage {
	if p.role != Owner {
		return notYours("only an owner begins a session.")
	}
	text := in.said("ask")
	switch {
	case text == "":
		return ackErrors(map[string]string{"ask": "Say what I shall do."})
	case width(text) > maxAsk:
		return ackErrors(map[string]string{"ask": fmt.Sprintf("At most %d characters, please.", maxAsk)})
	}
	var c *chosen
	if kept := choice(k, "chosen"); kept != "" {
		c = &chosen{}
		if err := json.Unmarshal([]byte(kept), c); err != nil {
			return d.sorry(err)
		}
	}
	at, key, err := d.begin(ctx, p.Press, "ask:"+k.Token, text, c)
	if err != nil {
		d.log.Error("cannot begin a session", "user", p.User, "error", err)
		return ackErrors(map[string]string{"ask": "Slack did not let me open its thread: " + err.Error() + ". Nothing has begun; try again."})
	}
	d.act(ctx, p, "new", "thread", key, "done")
	return ackUpdate(closingView("It has begun", para("▸ I am on it, in a thread of its own in %s.", at)))
}

// begin opens a thread in the owner's DM, under a root message of ours, and
// queues their words in it. The same ref begins one thread, however often.
func (b *Bot) begin(ctx context.Context, p Press, ref, text string, c *chosen) (where, key string, err error) {
	dm, err := b.dm(ctx, p.User)
	if err != nil {
		return "", "", err
	}
	at, err := b.root(ctx, "root:"+ref, threads.Place{Team: b.me.Team, Channel: dm}, rootText(text, c))
	if err != nil {
		return "", "", err
	}
	in := threads.Incoming{App: b.me.App, Team: p.Team, Channel: at.Channel, TS: at.ThreadTS, User: p.User, Text: text}
	if c != nil {
		from := c.Name
		if c.User != "" && c.User != c.Name {
			from += " (" + c.User + ")"
		}
		in.Quotes, in.Files = []threads.Quote{{From: from, Text: c.Text}}, c.Files
	}
	rec, err := b.Threads.Receive(ctx, in)
	if err != nil {
		return "", "", err
	}
	b.putOff(ctx, func() { b.received(context.WithoutCancel(ctx), event{}, rec.Thread) })
	return linked(b.me.URL, at, "our DM"), rec.Thread, nil
}

// rootText is the message under which a session begins that no message of its
// owner opened.
func rootText(text string, c *chosen) string {
	said := "*You:* " + quoted(text, 1500)
	if c == nil {
		return said
	}
	return fmt.Sprintf("%s\nabout a message of %s in <#%s>: _%s_", said, chosenBy(*c), quoted(c.Channel, 40), strings.ReplaceAll(quoted(c.Text, 300), "_", "＿"))
}

// linked is words that lead to a message, where the workspace has an address.
func linked(workspace string, at threads.Place, words string) string {
	if !strings.HasPrefix(workspace, "https://") || at.ThreadTS == "" {
		return words
	}
	return fmt.Sprintf("<%s/archives/%s/p%s|%s>", strings.TrimSuffix(workspace, "/"), at.Channel, strings.ReplaceAll(at.ThreadTS, ".", ""), words)
}

// personName is how a person is called, "" where Slack does not say.
func (b *Bot) personName(ctx context.Context, user string) string {
	var a struct {
		User struct {
			Name    string `json:"name"`
			Profile struct {
				Display string `json:"display_name"`
				Real    string `json:"real_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	if err := b.budget.wait(ctx, "users.info", ""); err != nil {
		return ""
	}
	if err := b.fetchJSON(ctx, "users.info", url.Values{"user": {user}}, &a); err != nil {
		return ""
	}
	return or(a.User.Profile.Display, or(a.User.Profile.Real, a.User.Name))
}

// order answers the words of /mecha that stand in no thread: new, why, outbox,
// approvals. It answers false where the text is none of them.
func (b *Bot) order(ctx context.Context, press Press, r Role) bool {
	return b.desk().order(ctx, press, r)
}

func (d desk) order(ctx context.Context, press Press, r Role) bool {
	p := presser{Press: press, role: r}
	text := strings.TrimSpace(press.Text)
	word, rest := text, ""
	if i := strings.IndexFunc(text, unicode.IsSpace); i > 0 {
		word, rest = text[:i], plain(text[i:], d.me)
	}
	switch strings.ToLower(word) {
	case "new":
		d.orderNew(ctx, p, rest)
	case "why":
		d.why(ctx, p)
	case "goal":
		d.orderGoal(ctx, p, rest)
	case "plan":
		d.orderPlan(ctx, p)
	case "outbox":
		d.look(ctx, p, verbOutbox)
	case "approvals":
		d.look(ctx, p, verbApprovals)
	default:
		return false
	}
	return true
}

func (d desk) orderNew(ctx context.Context, p presser, text string) {
	switch {
	case p.role != Owner:
		d.refuse(ctx, p, "thread", "new", "new", "no owner", "This is not yours to use: only an owner begins a session.")
		return
	case text == "":
		d.askForm(ctx, p, nil)
		return
	}
	at, key, err := d.begin(ctx, p.Press, "new:"+or(p.ID, d.mint()), text, nil)
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.act(ctx, p, "new", "thread", key, "done")
	d.slack.tell(ctx, p.Press, "▸ I am on it, in a thread of its own in "+at+".")
}

// maxWhy is in how many of their newest threads an owner's last refusal is
// looked for.
const maxWhy = 20

// why tells an owner what was refused last in their newest threads, in the
// words that the model was told: they name the cause and what works.
func (d desk) why(ctx context.Context, p presser) {
	if p.role != Owner {
		d.refuse(ctx, p, "thread", "why", "why", "no owner", "This is not yours to use: only an owner's threads are explained, to them.")
		return
	}
	list, err := d.threads.List(ctx, 200)
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	n := 0
	for _, th := range list {
		if th.Team != p.Team || th.Owner != p.User {
			continue
		}
		if n++; n > maxWhy {
			break
		}
		said, err := d.refusal(ctx, th)
		if err != nil {
			d.failed(ctx, p, err)
			return
		}
		if said != "" {
			d.slack.tell(ctx, p.Press, said)
			return
		}
	}
	d.slack.tell(ctx, p.Press, "Nothing was refused in your newest threads.")
}

// refusal tells of the last call of a thread that was refused; "" where none was.
func (d desk) refusal(ctx context.Context, th threads.Thread) (string, error) {
	runs, err := d.threads.Runs(ctx, th.Key)
	if err != nil {
		return "", err
	}
	var last *threads.CallLine
	for i := len(runs) - 1; i >= 0 && last == nil; i-- {
		calls, err := d.threads.Calls(ctx, runs[i].ID)
		if err != nil {
			return "", err
		}
		for j := len(calls) - 1; j >= 0 && last == nil; j-- {
			if o := calls[j].Outcome; o == agent.CallBlocked || o == agent.CallDenied {
				last = &calls[j]
			}
		}
	}
	if last == nil {
		return "", nil
	}
	said := "the reason is not kept any more."
	entries, err := d.threads.Transcript(ctx, th.Key)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.CallID == last.ID {
			said = e.Text
		}
	}
	input := ""
	if args := callArgs(last.Tool, json.RawMessage(last.Args)); len(args) > 0 {
		input = " " + quoted(args[0].Text, 120)
	}
	return fmt.Sprintf("✕ The last refusal, in “%s”: %s%s\n%s", quoted(orWord(th.Title, "a thread"), 80), inCode(last.Tool), input, quoted(said, 2500)), nil
}
