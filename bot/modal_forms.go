package bot

import (
	"encoding/json"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// Callback ids of our forms. A submission counts only with the token in its
// metadata; the callback tells which form it was.
const (
	formReject    = "reject"
	formReconcile = "reconcile"
	formAnswer    = "answer"
	formEdit      = "edit"
)

// maxReason of a rejection, in characters.
const maxReason = 500

// loadingView stands until what is asked for has been read: Slack's three
// seconds are for opening it.
func loadingView(title string) json.RawMessage {
	v, _ := blockkit.ModalView{Title: title, Close: "Close", CallbackID: "loading", Body: []blockkit.Block{small("▸ one moment…")}}.JSON()
	return v
}

// closingView is what a modal says at its end. It offers nothing.
func closingView(title string, blocks ...blockkit.Block) json.RawMessage {
	v, _ := blockkit.ModalView{Title: title, Close: "Close", CallbackID: "done", Body: blocks}.JSON()
	return v
}

// rejectView asks for the reason, which reaches the model.
func rejectView(what string, k threads.Token) json.RawMessage {
	v, _ := blockkit.ModalView{
		Title: "Reject", Submit: "Reject", Close: "Back", CallbackID: formReject, PrivateMetadata: k.Token,
		Head: []blockkit.Block{smallPlain(blockkit.OneLine(what, 300))},
		Body: []blockkit.Block{blockkit.Input("reason", "Why?", "I read it, and so does whoever looks at the record later. At most 500 characters.", true,
			blockkit.TextInput("reason", "", "wrong recipient", true))},
	}.JSON()
	return v
}

// reconcileView asks what a person saw of an unknown outcome.
func reconcileView(d draftView, delivered bool, k threads.Token) json.RawMessage {
	title, label, say, hint := "It did not arrive", "Where did you look?", "the Sent folder ends at 09:10", "It comes back for a fresh review. I send nothing by myself."
	if delivered {
		title, label, say, hint = "It arrived", "What did you see?", "in my Sent folder, 09:15", "It is then done, as if I had heard the answer."
	}
	proposed := ""
	if p := d.Proposal; p != nil && (p.Outcome == "delivered") == delivered {
		proposed = p.Evidence
	}
	v, _ := blockkit.ModalView{
		Title: title, Submit: "Settle", Close: "Back", CallbackID: formReconcile, PrivateMetadata: k.Token,
		Head: append([]blockkit.Block{smallPlain(d.ID + "  " + blockkit.OneLine(draftTitle(d.Draft), 200))}, uncertainBlocks(d)...),
		Body: []blockkit.Block{blockkit.Input("evidence", label, hint, false, blockkit.TextInput("evidence", proposed, say, true))},
	}.JSON()
	return v
}

// answerView asks a question of ask_user: one of its options, or free words.
func answerView(q threads.Question, left int, k threads.Token) json.RawMessage {
	m := blockkit.ModalView{Title: "Answer", Submit: "Answer", Close: "Later", CallbackID: formAnswer, PrivateMetadata: k.Token}
	m.Head = questionBody(q)
	if left > 0 {
		m.Head = append(m.Head, small("%s after this one", plural(left, "question")))
	}
	optional := false
	if n := len(q.Options); n > 0 && n <= blockkit.MaxRadioButtons {
		options := make([]blockkit.Option, n)
		for i, o := range q.Options {
			options[i] = blockkit.Option{Text: blockkit.OneLine(o, blockkit.MaxOptionText), Value: optionValue(i)}
		}
		m.Body = append(m.Body, blockkit.Input("choice", "Choose", "", true, blockkit.Radio("choice", options, "")))
		optional = true
	}
	m.Body = append(m.Body, blockkit.Input("answer", map[bool]string{true: "or in your own words", false: "Your answer"}[optional], "", optional, blockkit.TextInput("answer", "", "", true)))
	v, _ := m.JSON()
	return v
}

// values are what a submitted view holds, by block and action.
type values map[string]map[string]value

type value struct {
	Type     string  `json:"type"`
	Value    *string `json:"value"`
	Selected *struct {
		Value string `json:"value"`
	} `json:"selected_option"`
}

func readValues(state json.RawMessage) (v values, err error) {
	if len(state) == 0 {
		return values{}, nil
	}
	err = json.Unmarshal(state, &v)
	return v, err
}

// text of an input whose block and action have one id; ok is false where the
// form has no such input.
func (v values) text(id string) (s string, ok bool) {
	in, ok := v[id][id]
	switch {
	case !ok:
		return "", false
	case in.Selected != nil:
		return in.Selected.Value, true
	case in.Value != nil:
		return *in.Value, true
	}
	return "", true
}

// said is a text input's words without the space around them.
func (v values) said(id string) string {
	s, _ := v.text(id)
	return strings.TrimSpace(s)
}

// Answers to a submission.
var ackClose = json.RawMessage(`{}`)

// ackErrors keeps the form open and shows each error at its field.
func ackErrors(errs map[string]string) json.RawMessage {
	for k, e := range errs {
		errs[k] = blockkit.OneLine(e, 1000)
	}
	b, err := encodeJSON(map[string]any{"response_action": "errors", "errors": errs})
	if err != nil {
		return ackClose
	}
	return b
}

// ackUpdate puts another view in the form's place.
func ackUpdate(view json.RawMessage) json.RawMessage {
	b, err := encodeJSON(map[string]any{"response_action": "update", "view": view})
	if err != nil {
		return ackClose
	}
	return b
}
