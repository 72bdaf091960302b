package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/localslack/person"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

// play goes through the steps. A step that cannot go on says so; the next ones
// need only the bot.
func (r *rehearsal) play(ctx context.Context) {
	reg, err := r.s.app.surface(threads.Thread{}, nil)
	if err != nil {
		r.f.fail("rehearse", err.Error(), "rename or disable one of them")
		return
	}
	if !r.conversation(ctx) {
		return // without a model that answers there is nothing to rehearse
	}
	if reg.Get("fs_list") != nil {
		r.calls(ctx, "tools", "what files are here?", "fs_list")
	}
	if reg.Get("fs_write") != nil {
		r.approval(ctx)
	}
	r.servers(ctx, reg)
	if r.release(ctx, "the rehearsal", false) {
		r.release(ctx, "the lost answer", true)
	}
	if names := r.stand.replaced(); len(names) > 0 {
		r.f.ok("rehearse", "stood in for, and never called: %s", strings.Join(names, ", "))
	}
}

// ask types text, presses Approve on whatever card comes, and waits for the
// run's end.
func (r *rehearsal) ask(ctx context.Context, text string) (thread string, run threads.RunInfo, took, first time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	began := time.Now()
	if thread, err = r.alice.Say(ctx, "", text); err != nil {
		return
	}
	key := threads.Key(r.alice.At.TeamID, r.alice.DM(), thread, "")
	pressed := map[string]bool{}
	err = person.Poll(ctx, lookEvery, func() error {
		if err := r.approve(ctx, r.alice, thread, pressed); err != nil {
			return err
		}
		list, err := r.alice.Reads(ctx, thread)
		if err != nil {
			return err
		}
		if first == 0 && slices.ContainsFunc(list, func(m person.Message) bool { return strings.TrimSpace(m.Words()) != "" }) {
			first = time.Since(began)
		}
		runs, err := r.s.app.threads.Runs(ctx, key)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			return errors.New("the message has not begun a run")
		}
		if run = runs[len(runs)-1]; run.Ended.IsZero() {
			return fmt.Errorf("the run is %s after %s", run.State, time.Since(began).Round(time.Second))
		}
		return nil
	})
	return thread, run, time.Since(began), first, err
}

const otherModel = "try another model or provider (mecha-slack models), or its profile (docs/configuration.md)"

func (r *rehearsal) conversation(ctx context.Context) bool {
	thread, run, took, first, err := r.ask(ctx, "hello")
	switch {
	case err != nil:
		r.f.fail("conversation", "no answer came: "+err.Error(), "see that the provider answers (mecha-slack models)")
	case run.Cause != agent.Completed:
		r.f.fail("conversation", fmt.Sprintf("the answer ended by %s: %s", run.Cause, firstOf(run.Error, "see the log with --log-level info")), "correct the provider ([providers.NAME]: base_url, model, api_key_env)")
	default:
		if _, err := r.alice.Reads(ctx, thread); err != nil {
			r.f.fail("conversation", err.Error(), "report this")
			return false
		}
		r.f.ok("conversation", "the model answers; the first words came after %s, the last after %s, %d tokens", first.Round(time.Millisecond), took.Round(time.Millisecond), run.Usage.In+run.Usage.Out)
		return true
	}
	return false
}

// calls asks for something that takes a call of this tool, and looks whether it
// was made and went well.
func (r *rehearsal) calls(ctx context.Context, check, text, tool string) bool {
	_, run, took, _, err := r.ask(ctx, text)
	if err != nil {
		r.f.fail(check, fmt.Sprintf("%q came to no end: %v", text, err), otherModel)
		return false
	}
	list, err := r.s.app.threads.Calls(ctx, run.ID)
	if err != nil {
		r.f.fail(check, err.Error(), "report this")
		return false
	}
	for _, call := range list {
		switch {
		case call.Tool != tool:
		case call.Outcome != agent.CallOK:
			r.f.fail(check, fmt.Sprintf("`%s` came to %s: %s", tool, firstOf(string(call.Outcome), string(call.State)), r.result(ctx, run.Thread, call.ID)), "look at the tool's own words; see its [[mcp]] table, [[rule]] and [tools]")
			return false
		default:
			r.f.ok(check, "`%s` was called and answered (%s)", tool, took.Round(time.Millisecond))
			return true
		}
	}
	r.f.fail(check, fmt.Sprintf("the model did not call `%s` when asked %q (%s)", tool, text, firstOf(string(run.Cause), run.State)), "choose a model that can call tools; "+otherModel)
	return false
}

// result is what the harness or the tool answered a call, in a line.
func (r *rehearsal) result(ctx context.Context, key, call string) string {
	list, err := r.s.app.threads.Transcript(ctx, key)
	if err != nil {
		return err.Error()
	}
	for _, e := range list {
		if e.CallID == call {
			return plain(e.Text, 300)
		}
	}
	return "nothing"
}

func (r *rehearsal) approval(ctx context.Context) {
	if !r.calls(ctx, "approval", "write rehearsal.txt with hello", "fs_write") {
		return
	}
	files, err := filepath.Glob(filepath.Join(r.work, "slack", "*", "rehearsal.txt"))
	if err != nil || len(files) != 1 {
		r.f.fail("approval", "the call was approved, and its file is not there", "report this")
	}
}

// servers has the model call one tool of each of the owner's servers that reads,
// reaches nobody and needs no arguments.
func (r *rehearsal) servers(ctx context.Context, reg *tools.Registry) {
	seen := map[string]bool{}
	for _, t := range reg.All() {
		s, ok := t.(tools.Sourced)
		if !ok || s.Source() == "" || s.Source() == r.demo || seen[s.Source()] {
			continue
		}
		if _, stood := t.(recorder); stood || requires(t) {
			continue
		}
		seen[s.Source()] = true
		r.calls(ctx, "server", "call "+t.Name()+" {}", t.Name())
	}
	if r.s.app.servers == nil {
		return
	}
	for _, st := range r.s.app.servers.Status() {
		if st.Name != r.demo && st.State == mcp.Ready && !seen[st.Name] {
			r.f.ok("server", "%s has no tool that only reads, reaches nobody and needs no arguments: none was called", st.Name)
		}
	}
}

// release drafts a mail, approves it and sees it arrive at the demo server; with
// lost, its answer goes lost, and a person reconciles it.
func (r *rehearsal) release(ctx context.Context, topic string, lost bool) bool {
	check := "release"
	if lost {
		check = "reconcile"
	}
	r.stand.loseNext(lost)
	defer r.stand.loseNext(false)
	thread, run, _, _, err := r.ask(ctx, fmt.Sprintf("call %s {\"to\": [\"rehearsal@example.com\"], \"subject\": %q, \"body\": \"This is a rehearsal.\"}", r.tool("mail_send"), topic))
	if err != nil {
		r.f.fail(check, "the draft came to no end: "+err.Error(), otherModel)
		return false
	}
	if run.Staged == 0 {
		r.f.fail(check, "the model drafted nothing when asked to call "+r.tool("mail_send"), "choose a model that can call tools; "+otherModel)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	want := outbox.Released
	if lost {
		want = outbox.Uncertain
	}
	state := outbox.Pending
	key := threads.Key(r.alice.At.TeamID, r.alice.DM(), thread, "")
	pressed := map[string]bool{}
	err = person.Poll(ctx, lookEvery, func() error {
		list, err := r.s.app.outbox.List(ctx, outbox.Filter{All: true})
		if err != nil {
			return err
		}
		for _, d := range list {
			if d.Thread == key {
				state = d.State
			}
		}
		if state == want {
			return nil
		}
		err = errors.Join(r.approve(ctx, r.alice, thread, pressed), r.approve(ctx, r.bob, "", pressed))
		return errors.Join(fmt.Errorf("the draft is %s, not %s", state, want), err)
	})
	if err != nil {
		r.f.fail(check, err.Error(), "report this, with `mecha-slack doctor --rehearse --log-level debug`")
		return false
	}
	if !lost {
		r.f.ok(check, "a draft was shown, approved and sent, to the demo server")
		return true
	}
	if err := r.reconcile(ctx, thread); err != nil {
		r.f.fail(check, err.Error(), "report this, with `mecha-slack doctor --rehearse --log-level debug`")
		return false
	}
	r.f.ok(check, "a send whose answer was lost became uncertain, and a person settled it")
	return true
}

// approve presses every Approve that is shown to a person, once.
func (r *rehearsal) approve(ctx context.Context, p person.Person, thread string, pressed map[string]bool) error {
	list, err := p.Reads(ctx, thread)
	for _, m := range list {
		if b, ok := m.Button("Approve"); ok && !pressed[m.TS] {
			pressed[m.TS] = true
			err = errors.Join(err, p.Press(ctx, b))
		}
	}
	return err
}

func (r *rehearsal) reconcile(ctx context.Context, thread string) error {
	err := person.Poll(ctx, lookEvery, func() error {
		said, err := r.alice.Reads(ctx, thread)
		if err != nil {
			return err
		}
		for _, m := range said {
			if b, ok := m.Button("It arrived…"); ok {
				return r.alice.Press(ctx, b)
			}
		}
		return errors.New("the card of an unknown outcome does not ask what became of it")
	})
	if err != nil {
		return err
	}
	if err := r.alice.Submit(ctx, "It lies in the demo server's Sent folder."); err != nil {
		return fmt.Errorf("cannot settle the unknown outcome: %w", err)
	}
	return person.Poll(ctx, lookEvery, func() error {
		list, err := r.s.app.outbox.List(ctx, outbox.Filter{All: true})
		if err != nil {
			return err
		}
		for _, d := range list {
			if d.State == outbox.Uncertain {
				return errors.New("the draft is uncertain still, though a person has settled it")
			}
		}
		return nil
	})
}

// requires tells whether a tool cannot be called without arguments.
func requires(t tools.Tool) bool {
	var s struct {
		Required []string `json:"required"`
	}
	return json.Unmarshal(t.InputSchema(), &s) != nil || len(s.Required) > 0
}
