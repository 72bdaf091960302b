package outbox

import (
	"context"
	"strings"
	"testing"
	"time"
)

// busyFloor is a conversation in which a call runs that does not end.
type busyFloor struct{ asked int }

func (f *busyFloor) Alone(ctx context.Context, _ string) (func(), error) {
	f.asked++
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A release waits for the calls of its conversation, but not for ever: the
// person who approved it learns what is in the way. Nothing was handed over.
func TestAReleaseDoesNotWaitForEver(t *testing.T) {
	b := newBench(t, Config{})
	b.write("a.txt", "x")
	f := &busyFloor{}
	b.Floor, b.FloorWait = f, time.Millisecond
	d := b.approve(b.stage(`{"to":["dean@example.edu"],"body":"x","attachments":["a.txt"]}`))
	d = b.dispatch(d)
	want(t, d, Pending)
	if b.mail.count() != 0 || len(d.Attempts) != 0 || len(d.Approvals) != 0 {
		t.Errorf("%d sent, attempts %+v, approvals %+v", b.mail.count(), d.Attempts, d.Approvals)
	}
	if !strings.Contains(d.LastError, "still running") || !strings.Contains(d.LastError, "stop that run") {
		t.Errorf("it says %q", d.LastError)
	}

	// A process that is stopped meanwhile leaves the approval as it is.
	b.FloorWait = time.Hour
	d = b.approve(d)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Dispatch(stopped, d.ID); err == nil {
		t.Error("a stopped dispatch reports nothing")
	}
	want(t, b.get(d.ID), Approved)
	if f.asked == 0 {
		t.Error("the floor was never asked for")
	}
}

// What can name no file waits for nobody: a mail need not wait for a build.
func TestWhatWaitsForItsConversation(t *testing.T) {
	for raw, waits := range map[string]bool{
		`{"to":["dean@example.edu"],"subject":"Budget","body":"hello. It is 41,200 €."}`:                          false,
		`{"to":["dean@example.edu","Bob <bob@example.edu>"],"body":"first\nsecond: see a.txt\n","thread_id":"7"}`: false,
		`{"to":["dean@example.edu"],"body":"https://example.edu/a.txt"}`:                                          false,
		`{"to":["dean@example.edu"],"body":"x","attachments":["there.txt"]}`:                                      true,
		`{"to":["dean@example.edu"],"body":"x","attachments":[]}`:                                                 false,
		`{"to":["dean@example.edu"],"subject":"not-yet.pdf","body":"x"}`:                                          true, // it could come to exist
		`{"to":["dean@example.edu"],"subject":"out/report","body":"x"}`:                                           true,
	} {
		b := newBench(t, Config{})
		b.write("there.txt", "x")
		d := b.stage(raw)
		if got := b.mayNameFiles(d); got != waits {
			t.Errorf("%s (files %+v, destinations %+v): waits %v, want %v", raw, d.Files, d.Destinations, got, waits)
		}
	}
	b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", Files: []string{"thread_id"}}}})
	b.write("plan", "x")
	if d := b.stage(`{"body":"x","thread_id":"plan"}`); !b.mayNameFiles(d) {
		t.Error("an argument that the policy names waits for nobody")
	}
	b = newBench(t, Config{PublishTools: []string{"mail__mail_send"}})
	if d := b.stage(`{"body":"site"}`); !b.mayNameFiles(d) {
		t.Error("a publication waits for nobody")
	}
}

// While a release waits for its conversation it may be taken back, and then does
// not go out; and it takes no seat of other releases.
func TestTakenBackWhileItWaits(t *testing.T) {
	b := newBench(t, Config{})
	b.write("a.txt", "x")
	f := gate{asked: make(chan struct{}), open: make(chan struct{})}
	b.Floor = f
	b.seats = make(chan struct{}, 1)
	d := b.approve(b.stage(`{"to":["dean@example.edu"],"body":"x","attachments":["a.txt"]}`))
	ended := make(chan error, 1)
	go func() { _, err := b.Dispatch(ctx, d.ID); ended <- err }()
	<-f.asked
	other := b.approve(b.stage(`{"to":["dean@example.edu"],"subject":"another matter","body":"x"}`))
	want(t, b.dispatch(other), Released)
	if _, err := b.Cancel(ctx, d.ID, "U1", "slack"); err != nil {
		t.Fatal(err)
	}
	close(f.open)
	if err := <-ended; err == nil {
		t.Error("it went on")
	}
	want(t, b.get(d.ID), Pending)
	if n := b.mail.count(); n != 1 {
		t.Errorf("%d went out", n)
	}
}

// gate is a floor that tells that it was asked, and lets in when it is opened.
type gate struct{ asked, open chan struct{} }

func (g gate) Alone(ctx context.Context, _ string) (func(), error) {
	close(g.asked)
	select {
	case <-g.open:
		return func() {}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
