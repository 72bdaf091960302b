package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

type answerFunc = func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error)

func answers(out tools.Output, err error) answerFunc {
	return func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) { return out, err }
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name   string
		policy Policy
		call   answerFunc
		state  State
		kind   string
	}{
		{"delivered", Policy{}, answers(tools.OK("Sent."), nil), Released, "delivered"},
		{"an error of the tool", Policy{}, answers(tools.Fail("no such user"), nil), Pending, "failed"},
		{"an error that may mean anything", Policy{OnError: "unknown"}, answers(tools.Fail("oops"), nil), Uncertain, "unknown"},
		{"a lost answer", Policy{}, answers(tools.Output{Content: "closed pipe", IsError: true, Unknown: true}, nil), Uncertain, "unknown"},
		{"a broken transport", Policy{}, answers(tools.Output{}, errors.New("EOF")), Uncertain, "unknown"},
		{"a panic", Policy{}, func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) { panic("boom") }, Uncertain, "unknown"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.policy.Tool = "mail__mail_send"
			b := newBench(t, Config{Policies: []Policy{tc.policy}})
			b.mail.call = tc.call
			d := b.dispatch(b.approve(b.stage(args("hello"))))
			want(t, d, tc.state)
			if len(d.Attempts) != 1 || d.Attempts[0].Outcome != tc.kind || d.Attempts[0].Ended == nil {
				t.Fatalf("attempts %+v", d.Attempts)
			}
			if b.mail.count() != 1 {
				t.Fatalf("%d deliveries", b.mail.count())
			}
			if tc.state != Pending {
				return
			}
			// Once more only by a press that has seen the failure.
			if d.LastError != "no such user" || len(d.Approvals) != 0 || !d.SecondLook() {
				t.Fatalf("%+v", d)
			}
			first := second(d, "U1")
			first.Second = false
			if _, err := b.Approve(t.Context(), first); !errors.Is(err, ErrSecondLook) {
				t.Fatalf("approved again with one press: %v", err)
			}
		})
	}
}

// A press of the card that was drawn before the failed attempt is no approval of
// another one, not even its second press.
func TestADoublePressIsOneAttempt(t *testing.T) {
	b := newBench(t, Config{})
	b.mail.call = answers(tools.Fail("no such user"), nil)
	shown := b.stage(args("hello"))
	want(t, b.dispatch(b.approve(shown)), Pending)
	var changed *ChangedError
	if _, err := b.Approve(t.Context(), second(shown, "U1")); !errors.As(err, &changed) {
		t.Fatalf("got %v", err)
	}
	if _, err := b.Approve(t.Context(), second(b.get(shown.ID), "U1")); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasApprovedIsWhatIsSent(t *testing.T) {
	tests := []struct {
		name   string
		change func(b *bench)
		says   string
	}{
		{"a changed file", func(b *bench) { b.write("a.txt", "other") }, "a.txt has changed"},
		{"a lost file", func(b *bench) { remove(b, "a.txt") }, "a.txt, which this draft sends, is gone"},
		{"a file that came to exist", func(b *bench) { b.write("b.txt", "new") }, "b.txt has come to exist"},
		{"a changed tool", func(b *bench) { b.mail.pin = "p2" }, "definition"},
		{"a tool that is gone", func(b *bench) { delete(b.Surface.(surface), b.mail.name) }, "server is off"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			b.write("a.txt", "here")
			d := b.approve(b.stage(`{"to":["dean@example.edu"],"body":"x","attachments":["a.txt","b.txt"]}`))
			tc.change(b)
			d = b.dispatch(d)
			want(t, d, Pending)
			if b.mail.count() != 0 || len(d.Attempts) != 0 || len(d.Approvals) != 0 || !strings.Contains(d.LastError, tc.says) {
				t.Fatalf("%d deliveries, approvals %v: %s", b.mail.count(), d.Approvals, d.LastError)
			}
			// What is there now can be read, approved and sent.
			if b.Surface.Find(b.mail.name) == nil {
				return
			}
			if d.Revision != 2 || d.Edited {
				t.Fatalf("revision %d, edited %v", d.Revision, d.Edited)
			}
			want(t, b.dispatch(b.approve(d)), Released)
		})
	}
}

func TestHoldScheduleAndCancel(t *testing.T) {
	b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", Hold: Duration(time.Minute)}}})
	d := b.approve(b.stage(args("hello")))
	want(t, d, Approved)
	if d.HoldUntil == nil || !d.HoldUntil.Equal(b.clock.now().Add(time.Minute)) {
		t.Fatalf("held until %v", d.HoldUntil)
	}
	var state *StateError
	if _, err := b.Dispatch(t.Context(), d.ID); !errors.As(err, &state) {
		t.Fatalf("sent within the hold: %v", err)
	}
	d, err := b.Cancel(t.Context(), d.ID, "U1", "slack")
	if err != nil {
		t.Fatal(err)
	}
	want(t, d, Pending)
	if d.HoldUntil != nil || len(d.Approvals) != 0 || d.ResolvedBy != "" {
		t.Fatalf("%+v", d)
	}
	at := b.clock.now().Add(time.Hour)
	c := second(d, "U1")
	c.At = &at
	if d, err = b.Approve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.clock.move(30 * time.Minute)
	if _, err := b.Dispatch(t.Context(), d.ID); !errors.As(err, &state) {
		t.Fatalf("sent before its time: %v", err)
	}
	b.clock.move(31 * time.Minute)
	want(t, b.dispatch(d), Released)
	if _, err := b.Cancel(t.Context(), d.ID, "U1", "slack"); !errors.As(err, &state) {
		t.Fatalf("cancelled what was sent: %v", err)
	}
}

func TestPausedReleasesNothing(t *testing.T) {
	b := newBench(t, Config{})
	paused := true
	b.Paused = func(context.Context) (bool, error) { return paused, nil }
	d := b.approve(b.stage(args("hello")))
	if _, err := b.Dispatch(t.Context(), d.ID); !errors.Is(err, ErrPaused) || b.mail.count() != 0 {
		t.Fatalf("paused: %v, %d deliveries", err, b.mail.count())
	}
	paused = false
	want(t, b.dispatch(d), Released)
}

// The tool accepts, and its answer never comes: one delivery, and nobody claims
// to know.
func TestAnAnswerThatIsDropped(t *testing.T) {
	b := newBench(t, Config{})
	b.ReleaseTimeout = 20 * time.Millisecond
	stop := make(chan bool)
	t.Cleanup(func() { close(stop) })
	b.mail.call = func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
		<-stop
		return tools.Fail("late"), nil
	}
	d := b.dispatch(b.approve(b.stage(args("hello"))))
	want(t, d, Uncertain)
	for range 5 {
		var state *StateError
		if _, err := b.Dispatch(t.Context(), d.ID); !errors.As(err, &state) {
			t.Fatalf("dispatched again: %v", err)
		}
		if _, err := b.Approve(t.Context(), second(b.get(d.ID), "U1")); !errors.As(err, &state) {
			t.Fatalf("approved again: %v", err)
		}
	}
	if b.mail.count() != 1 {
		t.Fatalf("%d deliveries", b.mail.count())
	}
}

// A tool that ignores its context answers after all: what it delivered is
// released, unless a person has settled it by then.
func TestALateAnswer(t *testing.T) {
	tests := []struct {
		name      string
		late      tools.Output
		reconcile string
		state     State
		says      string
	}{
		{"delivered", tools.OK("Sent."), "", Released, ""},
		{"an error", tools.Fail("cancelled"), "", Uncertain, ""},
		{"delivered, as was established", tools.OK("Sent."), "delivered", Released, ""},
		{"delivered, against what was established", tools.OK("Sent."), "not-delivered", Pending, "answered late"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			b.ReleaseTimeout = 10 * time.Millisecond
			answer := make(chan tools.Output)
			b.mail.call = func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) { return <-answer, nil }
			d := b.dispatch(b.approve(b.stage(args("hello"))))
			want(t, d, Uncertain)
			if tc.reconcile != "" {
				if _, err := b.Reconcile(t.Context(), d.ID, tc.reconcile, "the Sent folder", "U1", "slack"); err != nil {
					t.Fatal(err)
				}
			}
			answer <- tc.late
			b.late.Wait()
			d = b.get(d.ID)
			want(t, d, tc.state)
			if !strings.Contains(d.LastError, tc.says) {
				t.Errorf("its card says %q", d.LastError)
			}
		})
	}
}

// Stopping the process lets a release that is under way come to its answer.
func TestStoppingWaitsForAnAnswer(t *testing.T) {
	b := newBench(t, Config{})
	ctx, stop := context.WithCancel(t.Context())
	b.mail.call = func(ctx context.Context, _ json.RawMessage, _ *tools.Env) (tools.Output, error) {
		stop()
		if ctx.Err() != nil {
			return tools.Fail("cancelled"), nil
		}
		return tools.OK("Sent."), nil
	}
	d := b.approve(b.stage(args("hello")))
	d, err := b.Dispatch(ctx, d.ID)
	if err != nil {
		t.Fatal(err)
	}
	want(t, d, Released)
}

// Stopped before anything was handed over, an approved draft stays approved.
func TestStoppedBeforeDispatch(t *testing.T) {
	b := newBench(t, Config{})
	d := b.approve(b.stage(args("hello")))
	ctx, stop := context.WithCancel(t.Context())
	b.Surface = stopping{b.Surface, stop}
	if _, err := b.Dispatch(ctx, d.ID); err == nil {
		t.Fatal("no error")
	}
	want(t, b.get(d.ID), Approved)
}

type stopping struct {
	Surface
	stop func()
}

func (s stopping) Open(ctx context.Context, d Draft) (tools.Tool, *tools.Env, func(), error) {
	s.stop()
	return nil, nil, nil, ctx.Err()
}

func TestLimits(t *testing.T) {
	to := func(who, body string) string { return `{"to":["` + who + `"],"subject":"` + body + `","body":"x"}` }
	t.Run("a day", func(t *testing.T) {
		b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", PerDay: 2}}})
		held := []Draft{}
		for _, s := range []string{"1", "2", "3"} {
			held = append(held, b.approve(b.stage(to(s+"@x.org", s))))
		}
		want(t, b.dispatch(held[0]), Released)
		want(t, b.dispatch(held[1]), Released)
		// All three were approved within the limit; two may go.
		d := b.dispatch(held[2])
		want(t, d, Pending)
		if b.mail.count() != 2 || !strings.Contains(d.LastError, "2 a day") {
			t.Fatalf("%d deliveries: %s", b.mail.count(), d.LastError)
		}
		var limit *LimitError
		if _, err := b.Approve(t.Context(), second(d, "U1")); !errors.As(err, &limit) {
			t.Fatalf("got %v", err)
		}
		b.clock.move(25 * time.Hour)
		want(t, b.dispatch(b.approve(b.get(d.ID))), Released)
	})
	t.Run("a recipient", func(t *testing.T) {
		b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", PerRecipientDay: 1}}})
		want(t, b.dispatch(b.approve(b.stage(to("Dean <Dean@x.org>", "1")))), Released)
		var limit *LimitError
		if _, err := b.Approve(t.Context(), second(b.stage(to("dean@x.org", "2")), "U1")); !errors.As(err, &limit) {
			t.Fatalf("got %v", err)
		}
		want(t, b.dispatch(b.approve(b.stage(to("bob@x.org", "3")))), Released)
	})
	t.Run("failed and not delivered do not count", func(t *testing.T) {
		b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", PerDay: 1}}})
		b.mail.call = answers(tools.Fail("no"), nil)
		d := b.dispatch(b.approve(b.stage(args("hello"))))
		b.mail.call = answers(tools.Output{}, errors.New("EOF"))
		d = b.dispatch(b.approve(d))
		want(t, d, Uncertain)
		var limit *LimitError
		if _, err := b.Approve(t.Context(), second(b.stage(to("bob@x.org", "3")), "U1")); !errors.As(err, &limit) {
			t.Fatalf("what may have arrived counts: %v", err)
		}
		d, err := b.Reconcile(t.Context(), d.ID, "not-delivered", "the log", "U1", "slack")
		if err != nil {
			t.Fatal(err)
		}
		b.mail.call = nil
		want(t, b.dispatch(b.approve(d)), Released)
	})
}

func TestReconcile(t *testing.T) {
	lost := answers(tools.Output{}, errors.New("EOF"))
	b := newBench(t, Config{})
	b.mail.call = lost
	d := b.dispatch(b.approve(b.stage(args("hello"))))
	want(t, d, Uncertain)
	var field *FieldError
	if _, err := b.Reconcile(t.Context(), d.ID, "delivered", "  ", "U1", "slack"); !errors.As(err, &field) || field.Arg != "evidence" {
		t.Fatalf("no evidence: %v", err)
	}
	if _, err := b.Reconcile(t.Context(), d.ID, "maybe", "x", "U1", "slack"); !errors.As(err, &field) || field.Arg != "outcome" {
		t.Fatalf("no outcome: %v", err)
	}
	var state *StateError
	if _, err := b.Reject(t.Context(), d.ID, "U1", "slack", ""); !errors.As(err, &state) {
		t.Fatalf("rejected what may have arrived: %v", err)
	}
	d, err := b.Reconcile(t.Context(), d.ID, "not-delivered", "the log", "U2", "slack")
	if err != nil {
		t.Fatal(err)
	}
	want(t, d, Pending)
	if len(d.Approvals) != 0 || !d.SecondLook() || !strings.Contains(d.LastError, "the log") {
		t.Fatalf("%+v", d)
	}
	d = b.dispatch(b.approve(d))
	want(t, d, Uncertain)
	if d, err = b.Reconcile(t.Context(), d.ID, "delivered", "m-123", "U2", "slack"); err != nil {
		t.Fatal(err)
	}
	want(t, d, Released)
	if d.ResolvedBy != "U2" || len(d.Reconciliations) != 2 || b.mail.count() != 2 {
		t.Fatalf("%+v, %d deliveries", d, b.mail.count())
	}
	if b.mail.keys[0] != b.mail.keys[1] || b.mail.keys[0] == "" {
		t.Fatalf("keys %v", b.mail.keys)
	}
}

func TestTheConversationHears(t *testing.T) {
	b := newBench(t, Config{ExpireAfter: Duration(time.Hour)})
	d := b.stage(args("hello"))
	if notes := b.tell(); len(notes) != 0 {
		t.Fatalf("nothing has happened: %q", notes)
	}
	b.mail.call = answers(tools.Fail("SECRET OF THE SERVER"), nil)
	d = b.dispatch(b.approve(d))
	heard := func(word string) {
		t.Helper()
		notes := b.tell()
		if len(notes) != 1 || !strings.Contains(notes[0], word) || strings.Contains(notes[0], "SECRET") {
			t.Fatalf("it hears %q, want one note with %q", notes, word)
		}
		if again := b.tell(); len(again) != 0 {
			t.Fatalf("it hears it twice: %q", again)
		}
	}
	heard("could not be sent")
	b.mail.call = answers(tools.Output{}, errors.New("EOF"))
	d = b.dispatch(b.approve(d))
	heard("nobody knows")
	d, err := b.Reconcile(t.Context(), d.ID, "not-delivered", "the log", "U1", "slack")
	if err != nil {
		t.Fatal(err)
	}
	heard("did not arrive")
	if d, err = b.Edit(t.Context(), d.ID, d.Revision, json.RawMessage(args("mine")), "U1", "slack"); err != nil {
		t.Fatal(err)
	}
	b.mail.call = nil
	want(t, b.dispatch(b.approve(d)), Released)
	heard(`What was sent: ` + args("mine"))
	r := b.stage(`{"body":"two"}`)
	if _, err := b.Reject(t.Context(), r.ID, "U1", "slack", "wrong recipient"); err != nil {
		t.Fatal(err)
	}
	heard("wrong recipient")
	b.stage(`{"body":"three"}`)
	b.clock.move(2 * time.Hour)
	if n, err := b.Expire(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d expired, %v", n, err)
	}
	heard("expired")
}

func TestStaleAndExpired(t *testing.T) {
	b := newBench(t, Config{StaleAfter: Duration(time.Hour), ExpireAfter: Duration(3 * time.Hour)})
	old, edited, open := b.stage(`{"body":"1"}`), b.stage(`{"body":"2"}`), b.stage(`{"body":"3"}`)
	step := func(stale, expired int) {
		t.Helper()
		n, err := b.Stale(t.Context())
		if err != nil || n != stale {
			t.Fatalf("%d became stale, %v; want %d", n, err, stale)
		}
		if n, err = b.Expire(t.Context()); err != nil || n != expired {
			t.Fatalf("%d expired, %v; want %d", n, err, expired)
		}
	}
	step(0, 0)
	b.clock.move(time.Hour + time.Second)
	version := b.get(old.ID).Version
	step(3, 0)
	step(0, 0)
	if d := b.get(old.ID); !d.Stale || d.Version == version {
		t.Fatalf("its card is not drawn again: %+v", d)
	}
	if _, err := b.Edit(t.Context(), edited.ID, 1, json.RawMessage(`{"body":"mine"}`), "U1", "slack"); err != nil {
		t.Fatal(err)
	}
	if err := b.Opened(t.Context(), open.ID, true); err != nil {
		t.Fatal(err)
	}
	b.clock.move(2 * time.Hour)
	step(0, 1)
	want(t, b.get(old.ID), Expired)
	want(t, b.get(edited.ID), Pending)
	want(t, b.get(open.ID), Pending)
	b.clock.move(2 * time.Hour)
	step(0, 1)
	want(t, b.get(edited.ID), Expired)
	b.clock.move(24 * time.Hour) // an editor that nobody closed
	step(0, 1)
	want(t, b.get(open.ID), Expired)
}

// Run releases what is due, what becomes due, and what another process approves.
func TestRun(t *testing.T) {
	b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", Hold: Duration(time.Minute)}}})
	down := true
	b.reconciler(t, "mail__mail_list", func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
		if down { // as the server that lost the answer may be
			down = false
			return tools.Output{}, errors.New("connection refused")
		}
		return tools.OK("nothing"), nil
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.Run(ctx) }() // ends below
	changed, cancel := b.db.Subscribe()
	defer cancel()
	until := func(id string, ok func(Draft) bool) Draft {
		t.Helper()
		for {
			if d := b.get(id); ok(d) {
				return d
			}
			select {
			case <-changed:
			case <-t.Context().Done():
				t.Fatalf("it never came: %+v", b.get(id))
			}
		}
	}
	d := b.approve(b.stage(args("hello")))
	b.clock.move(2 * time.Minute)
	b.wake()
	until(d.ID, func(d Draft) bool { return d.State == Released })
	b.mail.call = answers(tools.Output{}, errors.New("EOF"))
	d = b.approve(b.stage(args("again")))
	b.clock.move(2 * time.Minute)
	b.wake()
	d = until(d.ID, func(d Draft) bool { return d.State == Uncertain })
	d = until(d.ID, func(d Draft) bool {
		if d.Proposal == nil {
			b.clock.move(time.Second) // until it is asked again
			b.wake()
		}
		return d.Proposal != nil
	})
	if d.Proposal.Outcome != "not-delivered" {
		t.Fatalf("%+v", d.Proposal)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// reconciler configures a reconciler for the mail tool.
func (b *bench) reconciler(t testing.TB, name string, call answerFunc) *sender {
	t.Helper()
	look := newSender()
	look.name, look.read, look.call, look.schema = name, true, call, `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`
	b.Surface.(surface)[name] = look
	b.cfg.Reconcile = map[string]Reconcile{b.mail.name: {Tool: name, Args: map[string]string{"query": "{{key}}", "limit": "5"}}}
	return look
}

// wake commits something, as any other change would.
func (b *bench) wake() {
	b.t.Helper()
	err := b.db.Write(b.t.Context(), func(tx *record.Tx) error {
		_, err := tx.Exec(`INSERT INTO settings (key, value, updated) VALUES ('test', '', 1) ON CONFLICT (key) DO UPDATE SET updated = updated + 1`)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestReconcilers(t *testing.T) {
	echo := func(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
		var a struct{ Query string }
		if err := json.Unmarshal(in, &a); err != nil {
			return tools.Output{}, err
		}
		return tools.OK("No message matches " + a.Query + "."), nil
	}
	lost := tools.Output{Content: "look for Message-ID <m-1@example.org> in the log", IsError: true, Unknown: true}
	tests := []struct {
		name    string
		args    map[string]string
		call    func(key string) answerFunc
		outcome string
		err     string
	}{
		{"found", map[string]string{"query": "{{key}}"}, func(key string) answerFunc {
			return func(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
				if strings.Contains(string(in), key) {
					return tools.OK("1 message: X-Key: " + key), nil
				}
				return tools.OK("0 messages"), nil
			}
		}, "delivered", ""},
		{"found by Message-ID", map[string]string{"query": "{{message_id}}"}, func(string) answerFunc {
			return func(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
				if strings.Contains(string(in), "m-1@example.org") {
					return tools.OK("Message-ID: <m-1@example.org>"), nil
				}
				return tools.OK("0 messages"), nil
			}
		}, "delivered", ""},
		{"not found", map[string]string{"query": "{{args.subject}}"}, func(string) answerFunc { return answers(tools.OK("0 messages"), nil) }, "not-delivered", ""},
		{"found by another name than its own", map[string]string{"query": "{{args.subject}}"}, func(string) answerFunc {
			return func(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
				if strings.Contains(string(in), "Budget") {
					return tools.OK("1 message: Subject: Budget, 09:15:03"), nil
				}
				return tools.OK("0 messages"), nil
			}
		}, "unclear", ""},
		{"found by its key, which it does not tell", map[string]string{"query": "{{key}}"}, func(key string) answerFunc {
			return func(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
				if strings.Contains(string(in), key) {
					return tools.OK("1 message for " + key + ": Subject: Budget"), nil
				}
				return echo(context.Background(), in, nil)
			}
		}, "unclear", ""},
		{"it tells the time", map[string]string{"query": "{{key}}"}, func(string) answerFunc {
			n := 0
			return func(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
				n++
				out, err := echo(context.Background(), in, nil)
				out.Content += fmt.Sprintf(" (took %d ms)", n)
				return out, err
			}
		}, "unclear", ""},
		{"only repeated", map[string]string{"query": "{{key}}"}, func(string) answerFunc { return echo }, "not-delivered", ""},
		{"an error", map[string]string{"query": "{{key}}"}, func(string) answerFunc { return answers(tools.Fail("closed"), nil) }, "", "closed"},
		{"only repeated, whatever it is written in", map[string]string{"query": "{{args.body}} {{key}}"}, func(string) answerFunc { return echo }, "not-delivered", ""},
		{"nothing to fill in", map[string]string{"query": "{{args.none}}"}, func(string) answerFunc { return echo }, "", "stands for nothing"},
		{"wrong arguments", map[string]string{"q": "{{key}}"}, func(string) answerFunc { return echo }, "", "query"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			b.mail.call = answers(lost, nil)
			d := b.dispatch(b.approve(b.stage(args("明日 ë"))))
			look := b.reconciler(t, "mail__mail_list", tc.call(d.IdempotencyKey))
			b.cfg.Reconcile[b.mail.name] = Reconcile{Tool: "mail__mail_list", Args: tc.args}
			p, err := b.Propose(t.Context(), d)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want(t, p, Uncertain)
			if p.Proposal == nil || p.Proposal.Outcome != tc.outcome {
				t.Fatalf("proposed %+v", p.Proposal)
			}
			if b.mail.count() != 1 {
				t.Fatalf("%d deliveries", b.mail.count())
			}
			// Only a person settles it, and then the proposal is no more.
			if p, err = b.Reconcile(t.Context(), d.ID, "not-delivered", "looked", "U1", "slack"); err != nil || p.Proposal != nil {
				t.Fatalf("%+v, %v", p.Proposal, err)
			}
			b.mail.call = answers(lost, nil)
			if d = b.dispatch(b.approve(p)); d.Proposal != nil {
				t.Fatalf("what was found about the first attempt is said of the second: %+v", d.Proposal)
			}
			look.read = false
			if _, err := b.Propose(t.Context(), d); err == nil || !strings.Contains(err.Error(), "read-only") {
				t.Fatalf("a tool that writes looked: %v", err)
			}
		})
	}
}

// Nothing there now does not mean nothing there for ever: it is looked for again,
// the card changes when what is found does, and what was found is not asked about
// any more.
func TestAReconcilerLooksAgain(t *testing.T) {
	b := newBench(t, Config{})
	b.mail.call = answers(tools.Output{}, errors.New("EOF"))
	d := b.dispatch(b.approve(b.stage(args("hello"))))
	arrived := false
	look := b.reconciler(t, "mail__mail_list", func(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
		if arrived && strings.Contains(string(in), d.IdempotencyKey) {
			return tools.OK("1 mail\n\nDate: Mon, 30 Nov 2026 09:15:03\nMessage-ID: <m-7@example.org>\nKey: " + d.IdempotencyKey + "\n"), nil
		}
		return tools.OK("0 mails"), nil
	})
	dis := &dispatcher{Outbox: b.Outbox, out: map[string]bool{}, searches: map[string]search{}}
	pass := func() Draft {
		t.Helper()
		b.clock.move(2 * lookAgain)
		if err := dis.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		dis.wg.Wait()
		return b.get(d.ID)
	}
	first := pass()
	if p := first.Proposal; p == nil || p.Outcome != ProposeNotArrived {
		t.Fatalf("%+v", p)
	}
	if again := pass(); again.Version != first.Version {
		t.Error("the card is drawn again though nothing changed")
	}
	arrived = true
	found := pass()
	if p := found.Proposal; p == nil || p.Outcome != ProposeArrived || !strings.HasPrefix(p.Evidence, "found it: ") || !strings.Contains(p.Evidence, "09:15:03") || found.MessageID() != "m-7@example.org" {
		t.Fatalf("%+v, Message-ID %q", p, found.MessageID())
	}
	n := look.count()
	if pass(); look.count() != n {
		t.Error("what was found is looked for again")
	}
	want(t, b.get(d.ID), Uncertain)
	page := Page{Now: b.clock.now(), Visible: func(s string) (string, int) { return s, 0 }}
	if text := page.Warnings(found); !strings.Contains(text, "Check your Sent folder for Message-ID <m-7@example.org>") || !strings.Contains(text, "I looked there: found it: ") || !strings.Contains(text, "(proposed: it arrived)") {
		t.Error(text)
	}
}

func TestMessageIDIsFoundInAnAnswer(t *testing.T) {
	for answer, want := range map[string]string{
		`sent, Message-ID: <a1@b.example>`:        "a1@b.example",
		`{"message_id":"<a1@b.example>"}`:         "a1@b.example",
		`Message-Id is <a1@b.example>, sent`:      "a1@b.example",
		`message id <short`:                       "",
		`the id of the message is a1@b.example`:   "",
		"{\"messageId\": \"<a1@b.example>\"}":     "a1@b.example",
		`In-Reply-To: <other@b.example>, nothing`: "",
	} {
		d := Draft{Attempts: []Attempt{{Answer: answer}}}
		if got := d.MessageID(); got != want {
			t.Errorf("%q names %q, want %q", answer, got, want)
		}
	}
}

// While the record cannot be written, a known outcome is kept and tried again.
func TestAnOutcomeIsWrittenOnceItCanBe(t *testing.T) {
	b := newBench(t, Config{})
	pages := func(more int) {
		t.Helper()
		err := b.db.Write(context.Background(), func(tx *record.Tx) error {
			var n int
			if err := tx.Row(`PRAGMA page_count`, nil, &n); err != nil {
				return err
			}
			_, err := tx.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, n+more))
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	d := b.approve(b.stage(args("hello")))
	b.mail.call = func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
		pages(0)
		return tools.OK(strings.Repeat("Sent. ", 5000)), nil
	}
	complaints := 0
	b.Log = slog.New(onError(func() {
		if complaints++; complaints == 2 {
			pages(1000)
		}
	}))
	want(t, b.dispatch(d), Released)
	if complaints != 2 || b.mail.count() != 1 {
		t.Fatalf("%d failed writes, %d deliveries", complaints, b.mail.count())
	}
}

// onError is a log that does something with each line.
type onError func()

func (onError) Enabled(context.Context, slog.Level) bool    { return true }
func (f onError) Handle(context.Context, slog.Record) error { f(); return nil }
func (f onError) WithAttrs([]slog.Attr) slog.Handler        { return f }
func (f onError) WithGroup(string) slog.Handler             { return f }

func remove(b *bench, name string) {
	b.t.Helper()
	if err := os.Remove(filepath.Join(b.work, name)); err != nil {
		b.t.Fatal(err)
	}
}
