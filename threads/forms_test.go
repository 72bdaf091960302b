package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/mcp"
)

// asks waits for the card of a server's question and answers its id.
func (r *room) asks(t *testing.T) string {
	t.Helper()
	changed, cancel := r.db.Subscribe()
	defer cancel()
	for {
		posts, err := r.DuePosts(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range posts {
			if p.Kind == PostForm && r.forms.isOpen(p.Ref) {
				return p.Ref
			}
		}
		select {
		case <-changed:
		case <-time.After(30 * time.Second):
			t.Fatal("no question was shown")
		}
	}
}

type elicited struct {
	action  string
	content map[string]any
	err     error
}

func (r *room) elicit(ctx context.Context) <-chan elicited {
	c := make(chan elicited, 1)
	go func() { // ends with ctx, or the answer
		a, content, err := r.Elicit(ctx, mcp.Question{Server: "shop", Thread: key, Message: "Which size?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
		c <- elicited{a, content, err}
	}()
	return c
}

// A server's question reaches the thread's owner, and is settled once.
func TestServersQuestionIsAnsweredOnce(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("hello"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	who := Who{Team: "T1", User: "U1", Surface: "slack"}
	got := r.elicit(t.Context())
	id := r.asks(t)
	f, err := r.Form(t.Context(), id)
	if err != nil || f.State != FormOpen || f.Server != "shop" || f.Message != "Which size?" {
		t.Fatalf("%+v, %v", f, err)
	}
	f, fresh, err := r.AnswerForm(t.Context(), who, id, json.RawMessage(`{"n":9007199254740993}`))
	if err != nil || !fresh || f.State != FormAccepted || f.By != "U1" || string(f.Sent) != `{"n":9007199254740993}` {
		t.Errorf("%+v, %v, %v", f, fresh, err)
	}
	if e := <-got; e.err != nil || e.action != "accept" || fmt.Sprint(e.content["n"]) != "9007199254740993" {
		t.Errorf("the server was answered %+v", e)
	}
	if f, fresh, err = r.AnswerForm(t.Context(), who, id, nil); err != nil || fresh || f.State != FormAccepted {
		t.Errorf("a second press: %+v, %v, %v", f, fresh, err)
	}

	got = r.elicit(t.Context())
	if f, fresh, err = r.AnswerForm(t.Context(), who, r.asks(t), nil); err != nil || !fresh || f.State != FormDeclined || f.Sent != nil {
		t.Errorf("%+v, %v, %v", f, fresh, err)
	}
	if e := <-got; e.action != "decline" || e.content != nil {
		t.Errorf("the server was answered %+v", e)
	}
}

// A question whose call ends is withdrawn; where the owner is away it is not
// even asked.
func TestServersQuestionWithoutAnswer(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("hello"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	ctx, cancel := context.WithCancel(t.Context())
	got := r.elicit(ctx)
	id := r.asks(t)
	cancel()
	if e := <-got; e.action != "cancel" || e.err != nil {
		t.Errorf("the server was answered %+v", e)
	}
	if f, err := r.Form(t.Context(), id); err != nil || f.State != FormGone {
		t.Errorf("%+v, %v", f, err)
	}
	if f, fresh, err := r.AnswerForm(t.Context(), Who{Team: "T1", User: "U1"}, id, json.RawMessage(`{}`)); err != nil || fresh || f.State != FormGone {
		t.Errorf("a late answer: %+v, %v, %v", f, fresh, err)
	}
	if err := r.db.Write(t.Context(), func(tx *record.Tx) error {
		_, err := tx.Exec(qThreadLatch, true, key)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if e := <-r.elicit(t.Context()); e.action != "decline" {
		t.Errorf("while the owner is away: %+v", e)
	}
}

// A change is accepted as it was read, or not at all, and its card follows.
func TestPinIsAcceptedAsRead(t *testing.T) {
	r, _ := open(t, t.TempDir())
	who := Who{Team: "T1", User: "U1", Surface: "slack"}
	check := func(hash string, want mcp.PinState) {
		t.Helper()
		if got, err := r.Check(t.Context(), "s", "s__a", hash, json.RawMessage(`{"description":"`+hash+`"}`)); err != nil || got != want {
			t.Fatalf("%s: %s, %v", hash, got, err)
		}
	}
	check("h1", mcp.PinNew)
	check("h2", mcp.PinChanged)
	id, err := r.AddPost(t.Context(), Post{Kind: PostPin, Ref: PinRef("s__a", "h2"), Place: Place{Team: "T1", Channel: "D1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := func() int64 {
		t.Helper()
		p, err := r.Post(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return p.Want
	}
	before := want()
	check("h2", mcp.PinChanged)
	if want() != before {
		t.Error("a card is drawn again though nothing changed")
	}
	check("h3", mcp.PinChanged)
	if want() != before+1 {
		t.Error("the card of an earlier change is not drawn again")
	}
	if err := r.AcceptPinAs(t.Context(), who, "s__a", "h2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a change that is not the one that was read: %v", err)
	}
	if list, err := r.ChangedPins(t.Context()); err != nil || len(list) != 1 || list[0].NextHash != "h3" || list[0].Server != "s" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := r.AcceptPinAs(t.Context(), who, "s__a", "h3"); err != nil {
		t.Error(err)
	}
	check("h3", mcp.PinSame)
	if p, err := r.PinOf(t.Context(), "s__a"); err != nil || p.By != "U1" || p.NextHash != "" || string(p.Was) != `{"description":"h3"}` {
		t.Errorf("%+v, %v", p, err)
	}
	if want() != before+2 {
		t.Error("the card does not follow the decision")
	}
}

// The card of a question whose process died is drawn again by the next one, and
// offers nothing.
func TestServersQuestionOfADeadProcess(t *testing.T) {
	dir := t.TempDir()
	r, stop := open(t, dir, says("hello"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	// What a process leaves that is killed while its card stands.
	id, err := r.AddPost(t.Context(), Post{Thread: key, Kind: PostForm, Ref: "q1", Place: Place{Team: "T1", Channel: "D1"}, Body: json.RawMessage(`{"id":"q1","thread":"` + key + `","server":"shop"}`)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Post(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	p.State, p.TS, p.Shown = PostPosted, "5.5", p.Want
	if err := r.SetPost(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	stop()
	r, _ = open(t, dir)
	r.until(t, "the card is due again", func() bool {
		now, err := r.Post(t.Context(), id)
		return err == nil && now.Want > now.Shown
	})
	if f, err := r.Form(t.Context(), "q1"); err != nil || f.State != FormGone {
		t.Errorf("%+v, %v", f, err)
	}
}
