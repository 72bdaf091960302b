package bot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

// kindForm is the kind of the tokens of a question that an MCP server asks;
// formServer the callback of its modal.
const (
	kindForm   = "form"
	formServer = "server-form"
)

// maxServerWords of a server's message are shown; what is longer is no question.
const maxServerWords = 6000

// serverCard is a question that an MCP server asks in the middle of a call. Its
// words stand in a quote, under our own line that says whose they are.
func serverCard(f threads.Form, token string) Rendering {
	card := blockkit.Card{Text: "◌ A question of the MCP server " + blockkit.OneLine(f.Server, 60)}
	row := &buttons{kind: kindForm, token: token}
	switch f.State {
	case threads.FormAccepted:
		card.Head = []blockkit.Block{para("✓ *Answered* by %s, %s: sent to the MCP server %s", who(f.By), clock(f.At), inCode(f.Server))}
		card.Foot = sentBlocks(f.Sent)
	case threads.FormDeclined:
		card.Head = []blockkit.Block{para("✕ *Declined* by %s, %s: the MCP server %s was told no", who(f.By), clock(f.At), inCode(f.Server))}
	case threads.FormGone:
		card.Head = []blockkit.Block{para("✕ *Unanswered*: the MCP server %s waits no more", inCode(f.Server))}
	default:
		card.Head = []blockkit.Block{para("◌ *The MCP server %s asks you*, in the middle of a call. These are its words, not mine:", inCode(f.Server))}
		row.add("Answer", verbAnswer, blockkit.Neutral).add("Decline", verbDecline, blockkit.Neutral)
		card.Foot = append(askedBlocks(f.Schema), row.block(),
			small("What you answer goes to that server. Never give it a password. No answer is a no."))
	}
	card.Body = serverWords(f)
	r := Rendering{Text: card.Text, Final: f.State != threads.FormOpen}
	r.Blocks, _ = card.Blocks()
	if len(row.verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindForm, Ref: f.ID, Choices: row.verbs}}
	}
	return r
}

func serverWords(f threads.Form) []blockkit.Block {
	shown, _ := blockkit.Visible(f.Message, padding)
	shown, _ = blockkit.Fit(blockkit.DefuseMarks(shown), maxServerWords)
	var blocks []blockkit.Block
	for _, part := range blockkit.SplitVerbatim(orWord(shown, "(it says nothing)"), blockkit.MaxText) {
		blocks = append(blocks, blockkit.Quote(part))
	}
	return blocks
}

// askedBlocks name the fields, so that nobody opens a form to see what it wants.
func askedBlocks(schema json.RawMessage) []blockkit.Block {
	f, err := serverForm(schema)
	if err != nil || len(f.fields) == 0 {
		return nil
	}
	var names []string
	for _, fl := range f.fields {
		name := blockkit.OneLine(fl.key, 60)
		if fl.required {
			name += " (needed)"
		}
		names = append(names, name)
	}
	return []blockkit.Block{smallPlain(blockkit.OneLine("It asks for: "+strings.Join(names, ", "), 1000))}
}

func sentBlocks(sent json.RawMessage) []blockkit.Block {
	args, err := arguments(sent)
	if err != nil || len(args) == 0 {
		return nil
	}
	var list []shownArg
	for _, a := range args {
		list = append(list, showArg(a))
	}
	return fieldBlocks(list)
}

// serverFormView is the modal over the server's fields.
func serverFormView(q threads.Form, f form, k threads.Token) (json.RawMessage, bool) {
	v, cut := blockkit.ModalView{
		Title: "Answer the server", Submit: "Send", Close: "Back", CallbackID: formServer, PrivateMetadata: k.Token,
		Head: append([]blockkit.Block{para("The MCP server %s asks; the words and the fields are its own. What you send goes to it.", inCode(q.Server))}, serverWords(q)...),
		Body: f.blocks(),
	}.JSON()
	return v, !cut
}

// serverForm is the form over what a server asks for: its defaults are filled in.
func serverForm(schema json.RawMessage) (form, error) {
	simple, defaults := simpleSchema(schema)
	return newForm(simple, defaults)
}

// simpleSchema writes the ways in which a server may list choices (enum, oneOf of
// consts, an array of either) as the ones that a form reads, and collects the
// defaults.
func simpleSchema(schema json.RawMessage) (simple, defaults json.RawMessage) {
	var root struct {
		Properties map[string]map[string]any `json:"properties"`
		Required   []string                  `json:"required"`
	}
	simple, defaults = json.RawMessage(`{}`), json.RawMessage(`{}`)
	if json.Unmarshal(schema, &root) != nil {
		return simple, defaults
	}
	values := map[string]any{}
	for name, p := range root.Properties {
		if d, ok := p["default"]; ok {
			values[name] = d
		}
		if list := consts(p["oneOf"]); list != nil {
			p["enum"], p["type"] = list, "string"
		}
		if items, ok := p["items"].(map[string]any); ok {
			list := consts(items["anyOf"])
			if e, ok := items["enum"].([]any); ok {
				list = e
			}
			if list != nil {
				p["items"] = map[string]any{"type": "string"}
				p["description"] = strings.TrimSpace(fmt.Sprintf("Any of: %s. %s", listed(list), text(p["description"])))
			}
		}
		if title := text(p["title"]); title != "" {
			p["description"] = strings.TrimSpace(title + ". " + text(p["description"]))
		}
	}
	s, err1 := encodeJSON(map[string]any{"type": "object", "properties": root.Properties, "required": root.Required})
	d, err2 := encodeJSON(values)
	if err1 != nil || err2 != nil {
		return simple, defaults
	}
	return s, d
}

// consts are the values of a list of {"const": …}, or nil where it is none.
func consts(v any) (list []any) {
	options, _ := v.([]any)
	for _, o := range options {
		c, ok := o.(map[string]any)
		if !ok || c["const"] == nil {
			return nil
		}
		list = append(list, c["const"])
	}
	return list
}

func listed(values []any) string {
	var names []string
	for _, v := range values {
		names = append(names, fmt.Sprint(v))
	}
	return strings.Join(names, ", ")
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// checked judges an answer by the server's own schema; errs are by block.
func (f form) checked(schema, answer json.RawMessage) (content json.RawMessage, errs map[string]string) {
	content, _, err := tools.Compile(schema).Parse(answer)
	if err == nil {
		return content, nil
	}
	why := err.Error()
	if bad, ok := err.(*tools.ArgsError); ok {
		why = bad.Problems[0]
	}
	arg := ""
	if parts := strings.SplitN(why, "`", 3); len(parts) == 3 {
		arg = parts[1]
	}
	if i := slices.IndexFunc(f.fields, func(fl field) bool { return fl.block() != "" }); i < 0 {
		return content, nil // no field where an error could stand
	}
	return nil, map[string]string{f.blockOf(arg): why}
}
