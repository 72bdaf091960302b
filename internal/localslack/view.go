package localslack

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// view is a modal, or a user's Home tab.
type view struct {
	ID            string          `json:"id"`
	User          string          `json:"user"`          // who sees it
	App           string          `json:"app,omitempty"` // whose it is; "" is the first
	Type          string          `json:"type"`
	CallbackID    string          `json:"callback_id,omitempty"`
	ExternalID    string          `json:"external_id,omitempty"`
	Metadata      string          `json:"private_metadata,omitempty"`
	Title         json.RawMessage `json:"title,omitempty"`
	Submit        json.RawMessage `json:"submit,omitempty"`
	Close         json.RawMessage `json:"close,omitempty"`
	Blocks        json.RawMessage `json:"blocks"`
	ClearOnClose  bool            `json:"clear_on_close,omitempty"`
	NotifyOnClose bool            `json:"notify_on_close,omitempty"`
	SubmitOff     bool            `json:"submit_disabled,omitempty"`
	Hash          string          `json:"hash"`
	RootID        string          `json:"root_view_id"`
	PreviousID    string          `json:"previous_view_id,omitempty"`

	values values // what the person has entered so far
}

// values are the states of a view's or message's inputs: by block, by action.
type values map[string]map[string]json.RawMessage

func (v values) set(block, action string, state json.RawMessage) {
	if v[block] == nil {
		v[block] = map[string]json.RawMessage{}
	}
	v[block][action] = state
}

// readView reads a view argument and judges it.
func readView(c *call) (*view, error) {
	raw, ok := c.args.json("view")
	if !ok || raw == nil {
		return nil, fail("invalid_arguments", "[ERROR] view is not a JSON object")
	}
	return parseView(raw)
}

func parseView(raw json.RawMessage) (*view, error) {
	if errs := blockkit.ValidateView(raw); len(errs) > 0 {
		return nil, refusal(errs, "invalid_arguments")
	}
	var in struct {
		Type            string          `json:"type"`
		CallbackID      string          `json:"callback_id"`
		ExternalID      string          `json:"external_id"`
		PrivateMetadata string          `json:"private_metadata"`
		Title           json.RawMessage `json:"title"`
		Submit          json.RawMessage `json:"submit"`
		Close           json.RawMessage `json:"close"`
		Blocks          json.RawMessage `json:"blocks"`
		ClearOnClose    bool            `json:"clear_on_close"`
		NotifyOnClose   bool            `json:"notify_on_close"`
		SubmitDisabled  bool            `json:"submit_disabled"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fail("invalid_arguments", "[ERROR] the view can't be read: "+err.Error())
	}
	v := &view{Type: in.Type, CallbackID: in.CallbackID, ExternalID: in.ExternalID, Metadata: in.PrivateMetadata,
		Title: withEmoji(in.Title), Submit: withEmoji(in.Submit), Close: withEmoji(in.Close), Blocks: withIDs(in.Blocks),
		ClearOnClose: in.ClearOnClose, NotifyOnClose: in.NotifyOnClose, SubmitOff: in.SubmitDisabled}
	v.values = initialValues(v.Blocks)
	return v, nil
}

// withEmoji says of a plain_text object what it left to the default.
func withEmoji(text json.RawMessage) json.RawMessage {
	var t struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Emoji *bool  `json:"emoji"`
	}
	if text == nil || json.Unmarshal(text, &t) != nil || t.Emoji != nil {
		return text
	}
	return encode(map[string]any{"type": t.Type, "text": t.Text, "emoji": true})
}

func newHash(now time.Time) string {
	return strconv.FormatInt(now.Unix(), 10) + "." + newSecret(4)
}

// wire is the view object as the app sees it.
func (w *Workspace) wireView(v *view) map[string]any {
	appID, botID := v.App, ""
	if a := w.appByID(v.App); a != nil {
		appID, botID = a.id, a.bot.BotID
	}
	out := map[string]any{"id": v.ID, "team_id": w.store.TeamID, "type": v.Type, "blocks": v.Blocks, "private_metadata": v.Metadata,
		"callback_id": v.CallbackID, "state": map[string]any{"values": v.stateValues()}, "hash": v.Hash,
		"title": orNull(v.Title), "submit": orNull(v.Submit), "close": orNull(v.Close),
		"clear_on_close": v.ClearOnClose, "notify_on_close": v.NotifyOnClose,
		"root_view_id": v.RootID, "previous_view_id": nil, "app_id": appID, "external_id": v.ExternalID,
		"app_installed_team_id": w.store.TeamID, "bot_id": botID}
	if v.Type == "home" {
		out["title"] = map[string]any{"type": "plain_text", "text": "View Title", "emoji": true}
	}
	if v.PreviousID != "" {
		out["previous_view_id"] = v.PreviousID
	}
	if v.SubmitOff {
		out["submit_disabled"] = true
	}
	return out
}

// localView is the view as the page sees it: without private_metadata.
func (w *Workspace) localView(v *view) map[string]any {
	out := w.wireView(v)
	delete(out, "private_metadata")
	return out
}

func orNull(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return raw
}

// stateValues are the values of those inputs that are still in the view.
func (v *view) stateValues() values {
	out := values{}
	for _, e := range interactive(v.Blocks) {
		if state, ok := v.values[e.BlockID][e.ActionID]; ok {
			out.set(e.BlockID, e.ActionID, state)
		}
	}
	return out
}

// replaceWith takes over what views.update may change; the person's values of
// blocks that stay are kept.
func (v *view) replaceWith(next *view) {
	old := v.values
	v.CallbackID, v.ExternalID, v.Metadata, v.Title, v.Submit, v.Close = next.CallbackID, next.ExternalID, next.Metadata, next.Title, next.Submit, next.Close
	v.Blocks, v.ClearOnClose, v.NotifyOnClose, v.SubmitOff = next.Blocks, next.ClearOnClose, next.NotifyOnClose, next.SubmitOff
	v.values = next.values
	for block, actions := range old {
		for action, state := range actions {
			if _, still := next.values[block][action]; still {
				v.values.set(block, action, state)
			}
		}
	}
}

// newTriggerID has the form that Slack's have.
func newTriggerID() string {
	return strings.Join([]string{newDigits(14), newDigits(13), newSecret(16)}, ".")
}
