package tools

import (
	"context"
	"fmt"
)

// DraftState answers how a draft of a conversation stands ("pending",
// "released", …), "" where the conversation has no such draft.
type DraftState func(ctx context.Context, thread, id string) (string, error)

// draftReleased is the one state of a draft that meets a step's check: approved,
// uncertain and rejected do not.
const draftReleased = "released"

// checked judges a new list's checks: a step that has one keeps it, and it names
// a draft of this conversation. It answers why the list cannot be, or "".
func (t *todo) checked(ctx context.Context, thread string, items []TodoItem) (string, error) {
	frozen := map[string]string{}
	for _, old := range t.state.Todos(thread) {
		if old.Check != "" {
			frozen[old.Content] = old.Check
		}
	}
	for i, item := range items {
		if was := frozen[item.Content]; was != "" && item.Check != was {
			return fmt.Sprintf("`items[%d]` has the check %s and keeps it; the list is unchanged", i, was), nil
		}
		if item.Check == "" {
			continue
		}
		state, err := t.draft(ctx, thread, item.Check)
		if err != nil {
			return "", err
		}
		if state == "" {
			return fmt.Sprintf("`items[%d].check`: this conversation has no draft %s; the list is unchanged", i, item.Check), nil
		}
	}
	return "", nil
}

func (t *todo) draft(ctx context.Context, thread, id string) (string, error) {
	if t.drafts == nil {
		return "", nil
	}
	return t.drafts(ctx, thread, id)
}

// met tells whether a step that says done is: one with a check is done when its
// draft is released, and not before. why says how the draft stands.
func (t *todo) met(ctx context.Context, thread string, item TodoItem) (ok bool, why string) {
	if item.Check == "" {
		return true, ""
	}
	state, err := t.draft(ctx, thread, item.Check)
	switch {
	case err != nil:
		return false, "its draft " + item.Check + " cannot be read: " + err.Error()
	case state == "":
		return false, "its draft " + item.Check + " does not exist any more"
	case state != draftReleased:
		return false, "draft " + item.Check + " is " + state + "; only its release meets this step"
	}
	return true, ""
}
