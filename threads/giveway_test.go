package threads

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/tools"
)

// wondering is a tool whose server asks a person in the middle of its call.
type wondering struct {
	poke
	r *room
}

func (wondering) ReadOnly() bool                   { return true }
func (wondering) Capabilities() tools.Capabilities { return tools.Capabilities{} }
func (w wondering) Call(ctx context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
	action, _, err := w.r.Elicit(ctx, mcp.Question{Server: "shop", Thread: env.Thread, Message: "Which size?", Schema: json.RawMessage(`{"type":"object"}`)})
	return tools.OK(action), err
}

// A run that waits for the answer to a server's question waits for a person: it
// says so, its place goes to others, and it takes one again to go on.
func TestAServersQuestionGivesThePlaceBack(t *testing.T) {
	r, _ := openWith(t, t.TempDir(), func(r *room, c *Config, d *Deps) {
		c.MaxConcurrent = 1
		d.Surface = func(Thread, []string) (*tools.Registry, error) {
			return tools.NewRegistry(wondering{poke{"wonder", &r.pokes}, r})
		}
	}, calls("wonder", `{}`), says("another"), says("a size it is"))
	r.say(t, "100.000001", "buy shoes")
	id := r.asks(t)
	r.until(t, "awaiting", func() bool { return r.state(t) == Awaiting })
	forms, err := r.OpenForms(t.Context())
	if err != nil || len(forms) != 1 || forms[0].ID != id || forms[0].Message != "Which size?" || forms[0].Place.Channel != "D1" {
		t.Fatalf("open: %+v, %v", forms, err)
	}
	const other = "T1/D1/200.000001"
	if _, err := r.Receive(t.Context(), Incoming{App: "A1", Team: "T1", Channel: "D1", TS: "200.000001", Event: "E200", User: "U1", Text: "hi"}); err != nil {
		t.Fatal(err)
	}
	r.until(t, "the other one answered", func() bool { th, err := r.Thread(t.Context(), other); return err == nil && th.State == Done })
	if r.state(t) != Awaiting {
		t.Errorf("meanwhile it is %s", r.state(t))
	}
	if _, fresh, err := r.AnswerForm(t.Context(), Who{Team: "T1", User: "U1"}, id, json.RawMessage(`{"n":42}`)); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	r.until(t, "finished", func() bool { return r.state(t) == Done })
	if forms, err := r.OpenForms(t.Context()); err != nil || len(forms) != 0 {
		t.Errorf("still open: %+v, %v", forms, err)
	}
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	if r.queue.running > 1 || len(r.queue.waiting) != 0 {
		t.Errorf("%d run, %d wait", r.queue.running, len(r.queue.waiting))
	}
}

// Two servers that ask at the same time: the run goes on when both have heard.
func TestTwoServersAskAtOnce(t *testing.T) {
	two := func(agent.Request) agent.Turn {
		return agent.Turn{Calls: []agent.Call{{WireID: "w1", Tool: "wonder", Args: json.RawMessage(`{}`)}, {WireID: "w2", Tool: "wonder", Args: json.RawMessage(`{"to":"b"}`)}}, Stop: agent.StopCalls}
	}
	r, _ := openWith(t, t.TempDir(), func(r *room, _ *Config, d *Deps) {
		d.Surface = func(Thread, []string) (*tools.Registry, error) {
			return tools.NewRegistry(wondering{poke{"wonder", &r.pokes}, r})
		}
	}, two, says("both"))
	r.say(t, "100.000001", "buy shoes and a hat")
	var forms []Form
	r.until(t, "both asked", func() bool { forms, _ = r.OpenForms(t.Context()); return len(forms) == 2 })
	r.until(t, "awaiting", func() bool { return r.state(t) == Awaiting })
	for i, f := range forms {
		if _, fresh, err := r.AnswerForm(t.Context(), Who{Team: "T1", User: "U1"}, f.ID, nil); err != nil || !fresh {
			t.Fatal(fresh, err)
		}
		if s := r.state(t); i == 0 && s != Awaiting {
			t.Errorf("one is still waited for, and the thread is %s", s)
		}
	}
	r.until(t, "finished", func() bool { return r.state(t) == Done })
}

// What a process that died has asked is over: nobody lists it as open.
func TestQuestionsOfADeadProcessAreOver(t *testing.T) {
	dir := t.TempDir()
	r, stop := open(t, dir, says("hello"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	// As a process leaves it that is killed: the post is there, and no end.
	f := Form{ID: "q7", Thread: key, Server: "shop", Message: "Which size?"}
	body, err := encode(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.AddPost(t.Context(), Post{Thread: key, Kind: PostForm, Ref: f.ID, Place: Place{Team: "T1", Channel: "D1"}, Body: json.RawMessage(body)}); err != nil {
		t.Fatal(err)
	}
	if list, err := r.OpenForms(t.Context()); err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	stop()
	r, _ = open(t, dir)
	r.until(t, "over", func() bool { list, err := r.OpenForms(t.Context()); return err == nil && len(list) == 0 })
	if f, err := r.Form(t.Context(), f.ID); err != nil || f.State != FormGone {
		t.Errorf("%+v, %v", f, err)
	}
}
