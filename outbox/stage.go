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
	Already    bool   // an identical draft of the same conversation is there
	Supersedes string // the agent's own earlier draft that this one replaces, or stays beside
	Text       string // what the model is told
}

// Stage commits a draft inside the caller's transaction, with its card and the
// call's result. The same call again is the same draft, and so is an identical
// call while a draft of it waits. Its error means that nothing was staged; the
// loop tells the model so and never falls through to execution.
func (o *Outbox) Stage(tx *record.Tx, s Staging) (Staged, error) {
	name, keyArg := s.Tool.Name(), o.keyArg(s.Tool)
	known, err := record.Collect(tx, scanID, qDraftByCall, s.Call)
	if err != nil {
		return Staged{}, fmt.Errorf("cannot look for the draft of this call: %w", err)
	}
	if len(known) > 0 {
		return Staged{ID: known[0], Already: true, Text: stagedText(known[0], "", false)}, nil
	}
	open, err := record.Collect(tx, scanDraft, qDraftsOpen, s.Thread, name)
	if err != nil {
		return Staged{}, fmt.Errorf("cannot look for an earlier draft: %w", err)
	}
	if d := identical(open, s.Args, keyArg); d != nil {
		return Staged{ID: d.ID, Already: true, Text: alreadyText(d.Draft)}, nil
	}
	old := redrafted(open, s.Args, keyArg)
	if old != nil {
		if err := o.fill(tx, old); err != nil {
			return Staged{}, fmt.Errorf("cannot read the draft that this one replaces: %w", err)
		}
	}
	id := o.NewID(tx.Now())
	args, err := withKey(s.Args, keyArg, keyOf(id))
	if err != nil {
		return Staged{}, fmt.Errorf("cannot pin the idempotency key: %w", err)
	}
	if err := insert(tx, s, id, args, o.kind(name), old, o.step); err != nil {
		return Staged{}, err
	}
	if old == nil {
		return Staged{ID: id, Text: stagedText(id, "", false)}, nil
	}
	replaces := replaceable(old, tx.Now())
	if replaces {
		_, err = tx.Exec(qDraftSupersede, id, tx.NowMS(), old.ID)
	} else {
		_, err = tx.Exec(qDraftLink, id, old.ID)
	}
	if err != nil {
		return Staged{}, fmt.Errorf("cannot link the draft that this one replaces: %w", err)
	}
	o.step("stage: linked")
	return Staged{ID: id, Supersedes: old.ID, Text: stagedText(id, old.ID, replaces)}, nil
}

func insert(tx *record.Tx, s Staging, id string, args json.RawMessage, kind Kind, old *row, step func(string)) error {
	name, files, dests := s.Tool.Name(), s.Prepared.Files, s.Destinations
	if files == nil {
		files = []File{}
	}
	if dests == nil {
		dests = []tools.Destination{}
	}
	var supersedes any
	if old != nil {
		supersedes = old.ID
	}
	pin := pinOf(s.Tool)
	digest := digestOf(name, pin, s.Workspace, args, files)
	_, err := tx.Exec(qDraftInsert, id, kind, name, pin, string(args), text(append([]string{}, s.Filled...)), digest, text(files), summary(args), s.Workspace, s.Team, s.Thread, s.Run, s.Call, s.Requester,
		s.Taint.Private, s.Taint.Untrusted, tools.Red(dests), text(append([]tools.Mark{}, s.Taint.Marks...)), text(dests), keyOf(id), supersedes, tx.NowMS())
	if err != nil {
		return fmt.Errorf("cannot write the draft: %w", err)
	}
	step("stage: draft written")
	if _, err := tx.Exec(qRevisionInsert, id, 1, string(args), digest, text(files), "agent", tx.NowMS()); err != nil {
		return fmt.Errorf("cannot write the draft's first revision: %w", err)
	}
	step("stage: revision written")
	return nil
}

func pinOf(t tools.Tool) string {
	if p, ok := t.(tools.Pinned); ok {
		return p.Pin()
	}
	return ""
}

// stagedText is the seed's, word for word but for the command's name.
func stagedText(id, old string, replaces bool) string {
	s := "Drafted, not sent: this call is staged in the outbox as `" + id + "`.\n" +
		"The user will review it with `mecha-slack outbox` and release or reject it.\n" +
		"Report it to the user as a draft awaiting their release — never as done —\n" +
		"and do not retry the call."
	switch {
	case old == "":
	case replaces:
		s += "\nIt replaces your earlier draft `" + old + "`."
	default:
		s += "\nYour earlier draft `" + old + "` stays as it is: a person has edited, approved or opened it, or it may have gone out. Tell the user that there are two."
	}
	return s
}

// alreadyText answers an identical call, by what its draft is doing.
func alreadyText(d Draft) string {
	switch d.State {
	case Approved:
		return "Drafted, not sent: an identical call is already staged as `" + d.ID + "`; the user has approved it, and it goes out when it is due.\n" +
			"Report it to the user as that draft — never as done — and do not retry the call."
	case Releasing, Uncertain:
		return "Not staged again: an identical call is already staged as `" + d.ID + "`; it was handed over, and it is not known yet whether it arrived.\n" +
			"Report that to the user, who settles it in the outbox, and do not retry the call."
	}
	return "Drafted, not sent: an identical call is already staged as `" + d.ID + "`, awaiting the user's release.\n" +
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

func ms(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMilli()
}
