package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

func TestWhoMayApprove(t *testing.T) {
	no := false
	apart := Policy{RequesterMayApprove: &no}
	tests := []struct {
		name   string
		policy Policy
		by     []string // the draft is U1's
		states []any    // a State, or a part of the refusal
		owners []string // nil: unknown
	}{
		{"one press", Policy{}, []string{"U1"}, []any{Approved}, nil},
		{"the terminal", Policy{}, []string{"local:1000"}, []any{Approved}, nil},
		{"named approvers", Policy{Approvers: []string{"U2", "local:1000"}}, []string{"U1", "local:1000"}, []any{"approved by U2, local:1000", Approved}, nil},
		{"the terminal is an owner under any policy", Policy{Approvers: []string{"U2"}}, []string{"local:1000"}, []any{Approved}, nil},
		{"the terminal is one of two, whoever sits there", Policy{MinApprovals: 2}, []string{"local:1000", "local:0", "U2"}, []any{Pending, "you have approved this already", Approved}, []string{"U1"}},
		{"two people", Policy{MinApprovals: 2}, []string{"U1", "U1", "U2"}, []any{Pending, "you have approved this already", Approved}, nil},
		{"two of the named", Policy{MinApprovals: 2, Approvers: []string{"U2", "U3"}}, []string{"U2", "U1", "U3"}, []any{Pending, "approved by", Approved}, nil},
		{"not who asked", Policy{RequesterMayApprove: &no}, []string{"U1", "U2"}, []any{"somebody else", Approved}, nil},
		// Nobody can tell which owner sits at a terminal: it is no second person beside
		// an owner who asked, nor beside one who has approved.
		{"the terminal of the only owner, who asked", apart, []string{"local:1000", "U1", "U2"}, []any{"nobody can tell which owner", "somebody else", Approved}, []string{"U1"}},
		{"a terminal of two owners, one of whom asked", apart, []string{"local:1000", "U2"}, []any{"approve it in Slack", Approved}, []string{"U1", "U2"}},
		{"the terminal, for an approver who asked", apart, []string{"local:1000"}, []any{Approved}, []string{"U9"}},
		{"the only owner twice", Policy{MinApprovals: 2}, []string{"U1", "local:1000", "U2"}, []any{Pending, "nobody can tell which owner", Approved}, []string{"U1"}},
		{"the only owner twice, the terminal first", Policy{MinApprovals: 2}, []string{"local:1000", "U1", "U2"}, []any{Pending, Pending, Approved}, []string{"U1"}},
		{"the terminal beside one of two owners", Policy{MinApprovals: 2}, []string{"U1", "local:1000", "U2"}, []any{Pending, "nobody can tell which owner", Approved}, []string{"U1", "U2"}},
		{"the terminal first, then both owners", Policy{MinApprovals: 2}, []string{"local:1000", "U1", "U1", "U2"}, []any{Pending, Pending, "you have approved this already", Approved}, []string{"U1", "U2"}},
		{"the terminal is the third of three, beside approvers", Policy{MinApprovals: 3}, []string{"U8", "local:1000", "U9"}, []any{Pending, Pending, Approved}, []string{"U1", "U2"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.policy.Tool = "mail__mail_send"
			b := newBench(t, Config{Policies: []Policy{tc.policy}})
			if tc.owners != nil {
				b.Owners = func(context.Context) ([]string, error) { return tc.owners, nil }
			}
			d := b.stage(args("hello"))
			for i, by := range tc.by {
				got, err := b.Approve(t.Context(), second(d, by))
				var yours *NotYoursError
				switch w := tc.states[i].(type) {
				case State:
					if err != nil {
						t.Fatalf("%s: %v", by, err)
					}
					want(t, got, w)
				case string:
					if !errors.As(err, &yours) || !strings.Contains(err.Error(), w) {
						t.Fatalf("%s: %v, want a refusal with %q", by, err, w)
					}
				}
			}
		})
	}
}

func TestWhoeverEditedARevisionAskedForIt(t *testing.T) {
	no := false
	b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", RequesterMayApprove: &no}}})
	d := b.stage(args("hello"))
	d, err := b.Edit(t.Context(), d.ID, 1, []byte(args("mine")), "U2", "slack")
	if err != nil {
		t.Fatal(err)
	}
	var yours *NotYoursError
	if _, err := b.Approve(t.Context(), second(d, "U2")); !errors.As(err, &yours) {
		t.Fatalf("who edited it approved it: %v", err)
	}
	// An owner edits at the terminal, and approves in Slack: one person, twice.
	b.Owners = func(context.Context) ([]string, error) { return []string{"U1"}, nil }
	if d, err = b.Edit(t.Context(), d.ID, 2, []byte(args("at the terminal")), "local:1000", "terminal"); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"local:1000", "local:0", "U1"} {
		if _, err := b.Approve(t.Context(), second(d, by)); !errors.As(err, &yours) {
			t.Fatalf("%s approved what the terminal edited: %v", by, err)
		}
	}
	if _, err := b.Approve(t.Context(), second(d, "U2")); err != nil {
		t.Fatal(err)
	}
}

func TestEveryPressIsOnTheRecord(t *testing.T) {
	b := newBench(t, Config{})
	d := b.stage(args("hello"))
	c := second(d, "U9")
	c.Digest = "another"
	var changed *ChangedError
	if _, err := b.Approve(t.Context(), c); !errors.As(err, &changed) {
		t.Fatal(err)
	}
	c = second(d, "U8")
	c.Team = "T-other"
	var yours *NotYoursError
	if _, err := b.Approve(t.Context(), c); !errors.As(err, &yours) {
		t.Fatal(err)
	}
	want(t, b.dispatch(b.approve(d)), Released)
	type action struct{ User, Surface, Verb, Digest, Outcome string }
	var got []action
	err := b.db.Read(t.Context(), func(tx *record.Tx) (err error) {
		got, err = record.Collect(tx, func(r record.Scanner) (a action, err error) {
			return a, r.Scan(&a.User, &a.Surface, &a.Verb, &a.Digest, &a.Outcome)
		}, `SELECT user, surface, verb, digest, outcome FROM actions WHERE kind = 'draft' AND ref = ? AND revision = 1 ORDER BY id`, d.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantRows := []action{
		{"U9", "slack", "approve", d.Digest, "refused: draft " + d.ID + " has changed since it was shown (it is at revision 1 now); read it again"},
		{"U8", "slack", "approve", d.Digest, "refused: this draft belongs to another workspace; it is decided there"},
		{"U1", "slack", "approve", d.Digest, "done"},
		{"mecha-slack", "release", "release", d.Digest, "delivered"},
	}
	if diff := cmp.Diff(wantRows, got); diff != "" {
		t.Error(diff)
	}
}

func TestApproversPutAReleaseOffAndNeverForward(t *testing.T) {
	b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", MinApprovals: 2}}})
	d := b.stage(args("hello"))
	late, early := b.clock.now().Add(2*time.Hour), b.clock.now().Add(time.Hour)
	c := second(d, "U1")
	c.At = &late
	if _, err := b.Approve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c = second(d, "U2")
	c.At = &early
	got, err := b.Approve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got.NotBefore == nil || !got.NotBefore.Equal(late) {
		t.Fatalf("not before %v, want %v", got.NotBefore, late)
	}
}

func TestFindAndList(t *testing.T) {
	b := newBench(t, Config{Tools: []string{"mail__mail_send"}, PublishTools: []string{"site__publish"}})
	ids := []string{"20261130-aa11", "20261130-ab22", "20261130-ab", "20261201-cc"}
	n := 0
	b.NewID = func(time.Time) string { n++; return ids[(n-1)%len(ids)] }
	publish := newSender()
	publish.name, publish.schema = "site__publish", `{"type":"object"}`
	for i := range ids {
		s := b.staging(fmt.Sprintf(`{"body":"%d"}`, i))
		if i == 3 {
			s.Tool = publish
		}
		n = i
		s.Prepared = Prepared{}
		err := b.db.Write(t.Context(), func(tx *record.Tx) error { _, err := b.Stage(tx, s); return err })
		if err != nil {
			t.Fatal(err)
		}
		b.clock.move(time.Second)
	}
	for prefix, id := range map[string]string{"20261130-aa": ids[0], "20261130-ab": ids[2], "20261130-ab2": ids[1], "202612": ids[3]} {
		if d, err := b.Find(t.Context(), prefix); err != nil || d.ID != id {
			t.Errorf("%s: %s, %v", prefix, d.ID, err)
		}
	}
	var many *AmbiguousError
	if _, err := b.Find(t.Context(), "2026"); !errors.As(err, &many) || len(many.IDs) != 4 {
		t.Errorf("an ambiguous prefix: %v", err)
	}
	for _, prefix := range []string{"", "x", "20261130-aa11x"} {
		if _, err := b.Find(t.Context(), prefix); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	b.mail.call = answers(tools.Output{}, errors.New("EOF"))
	b.dispatch(b.approve(b.get(ids[1])))
	if _, err := b.Reject(t.Context(), ids[0], "U1", "slack", ""); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		f    Filter
		want []string
	}{
		{Filter{}, []string{ids[1], ids[2], ids[3]}},
		{Filter{All: true}, []string{ids[1], ids[2], ids[3], ids[0]}},
		{Filter{Kind: Publish}, []string{ids[3]}},
		{Filter{Via: "mail"}, []string{ids[1], ids[2]}},
		{Filter{Thread: "T1", All: true, Kind: Message}, []string{ids[1], ids[2], ids[0]}},
		{Filter{Team: "T-other"}, []string{}},
	} {
		list, err := b.List(t.Context(), tc.f)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, d := range list {
			got = append(got, d.ID)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%+v: %s", tc.f, diff)
		}
	}
}

func TestAnUnreadableDraftIsAnErrorNeverAnEmptyOne(t *testing.T) {
	b := newBench(t, Config{})
	d := b.stage(args("hello"))
	err := b.db.Write(t.Context(), func(tx *record.Tx) error {
		_, err := tx.Exec(`UPDATE drafts SET destinations = '{"not": "a list"}' WHERE id = ?`, d.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), d.ID); err == nil || got.ID != "" && len(got.Args) == 0 {
		t.Errorf("get: %+v, %v", got, err)
	}
	if list, err := b.List(t.Context(), Filter{}); err == nil {
		t.Errorf("list: %+v", list)
	}
	if _, err := b.Approve(t.Context(), second(d, "U1")); err == nil {
		t.Error("it was approved")
	}
}

func TestConfig(t *testing.T) {
	ok := Config{Capabilities: []string{"chosen", "destructive"}, Policies: []Policy{{Tool: "a", MinApprovals: 2, Approvers: []string{"U1", "U2"}}}}
	if err := ok.Validate(); err != nil {
		t.Error(err)
	}
	for says, c := range map[string]Config{
		"capabilities":  {Capabilities: []string{"blind"}},
		"names no tool": {Policies: []Policy{{}}},
		"two":           {Policies: []Policy{{Tool: "a"}, {Tool: "a"}}},
		"only 1":        {Policies: []Policy{{Tool: "a", MinApprovals: 2, Approvers: []string{"U1", "U1"}}}},
		"negative":      {Policies: []Policy{{Tool: "a", MinApprovals: -1}}},
		"on_error":      {Policies: []Policy{{Tool: "a", OnError: "retry"}}},
		"reconcile":     {Reconcile: map[string]Reconcile{"a": {}}},
		"{{nothing}}":   {Reconcile: map[string]Reconcile{"a": {Tool: "b", Args: map[string]string{"q": "{{nothing}}"}}}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
