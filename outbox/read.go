package outbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Filter narrows a list. Its zero value is what waits.
type Filter struct {
	All    bool   // decided ones too
	Kind   Kind   // "" = any
	Via    string // the tool's name contains it
	Thread string
	Team   string // "" = any
}

// List answers drafts: uncertain ones first, then what waits by kind and age,
// then (with All) the decided ones, newest last.
func (o *Outbox) List(ctx context.Context, f Filter) ([]Draft, error) {
	var list []Draft
	err := o.db.Read(ctx, func(tx *record.Tx) error {
		list = []Draft{}
		q, args := qDraftsWaiting, []any{}
		switch {
		case f.Thread != "":
			q, args = qDraftsOf, []any{f.Thread}
		case f.All:
			q = qDraftsAll
		}
		rows, err := record.Collect(tx, scanDraft, q, args...)
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(d row) bool {
			return !f.All && !d.Waiting() || f.Kind != "" && d.Kind != f.Kind || f.Via != "" && !strings.Contains(d.Tool, f.Via) || f.Team != "" && d.Team != f.Team
		})
		history, err := histories(tx, rows)
		if err != nil {
			return err
		}
		for _, d := range rows {
			for _, e := range history[d.ID] {
				d.add(e)
			}
			o.judge(tx, &d)
			list = append(list, d.Draft)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Draft) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(a.Kind, b.Kind), a.Created.Compare(b.Created))
	})
	return list, nil
}

// histories reads what hangs on several drafts in one look. Whatever happens to
// a draft raises its version: one that nobody has touched has none.
func histories(tx *record.Tx, rows []row) (map[string][]event, error) {
	var ids []string
	for _, d := range rows {
		if d.Version > 1 {
			ids = append(ids, d.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	events, err := record.Collect(tx, scanEvent, qHistoryOfAll, text(ids))
	if err != nil {
		return nil, fmt.Errorf("cannot read the histories of the drafts: %w", err)
	}
	history := map[string][]event{}
	for _, e := range events {
		history[e.draft] = append(history[e.draft], e)
	}
	return history, nil
}

func rank(s State) int {
	switch s {
	case Uncertain:
		return 0
	case Releasing:
		return 1
	case Approved:
		return 2
	case Pending:
		return 3
	}
	return 4
}

// Get answers a draft by its whole id.
func (o *Outbox) Get(ctx context.Context, id string) (d Draft, err error) {
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		r, err := o.get(tx, id)
		d = r.Draft
		return err
	})
	return d, err
}

// Find answers a draft by any unambiguous prefix of its id.
func (o *Outbox) Find(ctx context.Context, prefix string) (d Draft, err error) {
	if prefix == "" {
		return d, ErrNotFound
	}
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		ids, err := record.Collect(tx, scanID, qDraftIDs, prefix, prefix+"\U0010ffff")
		switch {
		case err != nil:
			return err
		case len(ids) == 0:
			return ErrNotFound
		case len(ids) > 1 && ids[0] != prefix:
			return &AmbiguousError{Prefix: prefix, IDs: ids}
		}
		r, err := o.get(tx, ids[0])
		d = r.Draft
		return err
	})
	return d, err
}
