package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// Staging is a routed call as it becomes a draft.
type Staging struct {
	Tool         tools.Tool
	Args         json.RawMessage // the gated bytes, schema defaults pinned
	Filled       []string        // the pinned keys
	Prepared     Prepared
	Taint        tools.Taint
	Destinations []tools.Destination
	Workspace    string // where the tool would have run
	Team         string
	Thread       string
	Run          string
	Call         string
	Requester    string
}

// Staged is what a staging came to.
type Staged struct {
	ID         string
	Already    bool   // an identical draft of the same conversation waits
	Supersedes string // the agent's own earlier draft that this one replaces
	Text       string // what the model is told
}

// Stage commits a draft inside the caller's transaction, with its card and the
// call's result. Its error means that nothing was staged; the loop tells the
// model so and never falls through to execution.
func (o *Outbox) Stage(tx *record.Tx, s Staging) (Staged, error) {
	name := s.Tool.Name()
	same, err := record.Collect(tx, scanID, qDraftSame, s.Thread, name, string(s.Args))
	if err != nil {
		return Staged{}, fmt.Errorf("cannot look for an identical draft: %w", err)
	}
	if len(same) > 0 {
		return Staged{ID: same[0], Already: true, Text: alreadyText(same[0])}, nil
	}
	old, err := o.replaces(tx, s)
	if err != nil {
		return Staged{}, err
	}
	id := o.NewID(tx.Now())
	pin := ""
	if p, ok := s.Tool.(tools.Pinned); ok {
		pin = p.Pin()
	}
	files := s.Prepared.Files
	if files == nil {
		files = []File{}
	}
	digest := digestOf(name, pin, s.Workspace, s.Args, files)
	dests := s.Destinations
	if dests == nil {
		dests = []tools.Destination{}
	}
	_, err = tx.Exec(qDraftInsert, id, o.kind(name), name, pin, string(s.Args), text(append([]string{}, s.Filled...)), digest, text(files), summary(s.Args), s.Workspace, s.Team, s.Thread, s.Run, s.Call, s.Requester,
		s.Taint.Private, s.Taint.Untrusted, tools.Red(dests), text(append([]tools.Mark{}, s.Taint.Marks...)), text(dests), "mecha-"+id, null(old.ID), tx.NowMS())
	if err != nil {
		return Staged{}, fmt.Errorf("cannot write the draft: %w", err)
	}
	if _, err := tx.Exec(qRevisionInsert, id, 1, string(s.Args), digest, text(files), "agent", tx.NowMS()); err != nil {
		return Staged{}, fmt.Errorf("cannot write the draft's first revision: %w", err)
	}
	if old.ID != "" {
		if mayReplace(old) {
			_, err = tx.Exec(qDraftSupersede, id, tx.NowMS(), old.ID)
		} else {
			_, err = tx.Exec(qDraftLink, id, old.ID)
		}
		if err != nil {
			return Staged{}, fmt.Errorf("cannot link the draft that this one replaces: %w", err)
		}
	}
	return Staged{ID: id, Supersedes: old.ID, Text: stagedText(id, old)}, nil
}

// replaces finds the draft that this one is a new version of: same
// conversation, same tool, same recipients, not decided yet.
func (o *Outbox) replaces(tx *record.Tx, s Staging) (row, error) {
	list, err := record.Collect(tx, scanDraft, qDraftsOf, s.Thread)
	if err != nil {
		return row{}, fmt.Errorf("cannot look for an earlier draft: %w", err)
	}
	for i := len(list) - 1; i >= 0; i-- {
		d := list[i]
		if d.Tool == s.Tool.Name() && d.Waiting() && d.SupersededBy == "" && sameTarget(d.Args, s.Args) {
			return d, o.fill(tx, &d)
		}
	}
	return row{}, nil
}

// mayReplace: the agent may take back its own draft, never one that a person
// edited, approved or has open, nor one that may have gone out: then both stay.
func mayReplace(d row) bool {
	return d.State == Pending && !d.Edited && d.opened == 0 && len(d.Approvals) == 0 && len(d.Attempts) == 0
}

// targets are the arguments that say whom or what a message is for.
var targets = []string{"to", "cc", "bcc", "recipient", "recipients", "channel", "thread_id", "thread", "event_id", "url", "chat_id"}

func sameTarget(a, b json.RawMessage) bool {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	some := false
	for _, k := range targets {
		if !bytes.Equal(x[k], y[k]) {
			return false
		}
		some = some || len(x[k]) > 0
	}
	return some
}

// stagedText is the seed's, word for word but for the command's name.
func stagedText(id string, old row) string {
	s := "Drafted, not sent: this call is staged in the outbox as `" + id + "`.\n" +
		"The user will review it with `mecha-slack outbox` and release or reject it.\n" +
		"Report it to the user as a draft awaiting their release — never as done —\n" +
		"and do not retry the call."
	switch {
	case old.ID == "":
	case mayReplace(old):
		s += "\nIt replaces your earlier draft `" + old.ID + "`."
	default:
		s += "\nYour earlier draft `" + old.ID + "` stays as it is: a person has edited, approved or opened it, or it may have gone out. Tell the user that there are two."
	}
	return s
}

func alreadyText(id string) string {
	return "Drafted, not sent: an identical call is already staged as `" + id + "`, awaiting the user's release.\n" +
		"Report it to the user as that draft — never as done — and do not retry the call."
}

// summary is the line of a list: recipients and subject, else the arguments.
func summary(args json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil {
		return clip(string(args))
	}
	var parts []string
	for _, k := range []string{"to", "recipient", "recipients", "channel", "thread_id", "subject", "title", "name"} {
		if v, ok := m[k]; ok {
			parts = append(parts, fmt.Sprintf("%q:%s", k, v))
		}
	}
	if len(parts) == 0 {
		return clip(string(args))
	}
	return clip("{" + strings.Join(parts, ",") + "}")
}

func clip(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return string(r)
}

func scanID(r record.Scanner) (id string, err error) {
	err = r.Scan(&id)
	return id, err
}

// text is v as JSON for a column; what is stored there always encodes.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("a draft's own fields do not encode: " + err.Error())
	}
	return strings.TrimRight(b.String(), "\n")
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func ms(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMilli()
}

// Tell answers one sentence for the model per outcome that the drafting
// conversation has not heard yet, and marks them told.
func (o *Outbox) Tell(tx *record.Tx, thread string) ([]string, error) {
	ids, err := record.Collect(tx, scanID, qDraftsUntold, thread)
	if err != nil {
		return nil, fmt.Errorf("cannot read what became of the drafts: %w", err)
	}
	var notes []string
	for _, id := range ids {
		d, err := o.get(tx, id)
		if err != nil {
			return nil, err
		}
		notes = append(notes, outcomeNote(d))
		if _, err := tx.Exec(qDraftTold, id); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

func outcomeNote(d row) string {
	s := fmt.Sprintf("[outbox] Your draft %s (%s) ", d.ID, d.Summary)
	switch d.State {
	case Released:
		s += "was released by the user"
		if d.Edited {
			s += ", who had edited it. What was sent: " + string(d.Args)
		}
	case Rejected:
		s += "was rejected by the user and not sent."
		if d.Reason != "" {
			s += " Reason: " + d.Reason
		}
	default:
		s += "is " + string(d.State)
	}
	return s
}

// Waiting counts the drafts of a conversation that somebody has still to decide.
func (o *Outbox) Waiting(tx *record.Tx, thread string) (n int, err error) {
	err = tx.Row(qDraftsPendingOf, []any{thread}, &n)
	return n, err
}
