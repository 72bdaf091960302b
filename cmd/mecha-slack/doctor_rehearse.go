package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/demomail"
	"github.com/mecha-slack/mecha-slack/internal/localslack"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

const (
	// stepTime is how long a rehearsal waits for one answer: a slow model is
	// slow, not broken.
	stepTime = 3 * time.Minute
	// serverState bounds what a server keeps in its home that a rehearsal copies.
	serverState = 64 << 20
)

// rehearsal plays the product through, once, with the owner's configuration: a
// conversation, an approval, a release and a reconciliation, on a workspace of
// its own, in a home that is thrown away.
type rehearsal struct {
	f     *findings
	s     *serving
	alice alice
	stand *rehearsed
	demo  string
	work  string
}

// rehearse adds what a rehearsal finds. The owner's home is only read.
func (c *cli) rehearse(ctx context.Context, f *findings, mf modelFlags) {
	if err := c.stage(ctx, f, mf); err != nil {
		f.fail("rehearse", "it could not begin: "+err.Error(), "correct that, then rehearse again")
	}
}

func (c *cli) stage(ctx context.Context, f *findings, mf modelFlags) (err error) {
	real, err := c.openHome(false)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mecha-rehearsal-")
	if err != nil {
		return fmt.Errorf("cannot make a home to throw away: %w", err)
	}
	defer os.RemoveAll(dir)
	h := *real
	h.dir = dir
	if c.logLevel == "warn" { // unasked for: the findings say what went wrong
		h.log = slog.New(slog.DiscardHandler)
	}
	h.config.Record.Path, h.config.Tools.Workspace = "", ""
	h.config.Skills.Dir = firstOf(h.config.Skills.Dir, real.path("skills"))
	h.config.Outbox.Policies, h.config.Slack.Approvers = nil, nil // they name people who are not here
	h.config.Digest.Channel = ""
	if n := len(h.config.Hook); n > 0 {
		h.config.Hook = nil
		f.ok("rehearse", "%s left out: what a hook does, it does for real", plural(n, "hook is", "hooks are"))
	}
	if err := copyServerHomes(real, &h); err != nil {
		return err
	}
	r := &rehearsal{f: f, stand: &rehearsed{stands: map[string]bool{}}}
	if err := c.addRehearsalMail(&h, r); err != nil {
		return err
	}
	model, err := c.chooseModel(ctx, &h, mf, true)
	if err != nil {
		return err
	}
	defer model.close()
	own, err := h.holdHome(ctx)
	if err != nil {
		return err
	}
	ws, err := localslack.Start(ctx, localslack.Config{Addr: "127.0.0.1:0", Log: h.log})
	if err != nil {
		return errors.Join(err, own.release())
	}
	defer ws.Close()
	at := ws.Ready()
	owner := bot.Person{Team: at.TeamID, Role: bot.Owner, Name: "alice", Zone: localZone(c), DM: at.DMs["alice"]}
	for _, u := range at.Users {
		if u.Name == "alice" {
			owner.User = u.ID
		}
	}
	answering := make(chan struct{})
	r.s, err = c.serve(ctx, &h, own, slackAt{apiURL: at.APIURL, botToken: at.BotToken, appToken: at.AppToken, owners: []bot.Person{owner}}, model, runFlags{replace: r.stand.replace}, func() { close(answering) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.s.stop()) }()
	select {
	case <-answering:
	case <-r.s.done:
		return errors.New("the bot did not connect to the rehearsal's workspace")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.alice, r.work = alice{at}, h.work()
	f.ok("rehearse", "the model is %s", model.line)
	r.play(ctx)
	return nil
}

// addRehearsalMail wires the demo mail server, to which releases go, beside the
// owner's own servers.
func (c *cli) addRehearsalMail(h *home, r *rehearsal) error {
	r.demo = demoServer
	for slices.ContainsFunc(h.config.MCP, func(m mcp.Config) bool { return m.Name == r.demo }) {
		r.demo = "rehearsal_" + r.demo
	}
	r.stand.demo = r.demo
	maildir := h.path("maildir")
	if err := demomail.Seed(maildir); err != nil {
		return fmt.Errorf("cannot make the demo mailbox: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find our own binary, which is the demo mail server too: %w", err)
	}
	routes := outbox.New(nil, h.config.Outbox, outbox.Deps{Now: time.Now, Log: h.log})
	r.stand.routed = routes.Routed
	h.config.MCP = append(slices.Clone(h.config.MCP), mcp.Config{Name: r.demo, Command: self, Args: []string{"demo-mail", "--maildir", maildir}})
	h.config.Outbox.Tools = append(slices.Clone(h.config.Outbox.Tools), r.tool("mail_send"), r.tool("mail_reply"))
	return nil
}

func (r *rehearsal) tool(name string) string { return r.demo + "__" + name }

// copyServerHomes gives each server a copy of what it keeps in its home: a
// sign-in, a cache. What it changes there is thrown away.
func copyServerHomes(from, to *home) error {
	total := int64(0)
	err := filepath.WalkDir(from.path("servers"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if i, err := d.Info(); err == nil {
			total += i.Size()
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && total > serverState:
		return nil
	case err != nil:
		return fmt.Errorf("cannot read what the servers keep: %w", err)
	}
	if err := os.CopyFS(to.path("servers"), os.DirFS(from.path("servers"))); err != nil {
		return fmt.Errorf("cannot copy what the servers keep: %w", err)
	}
	return nil
}

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
	if thread, err = r.alice.say(ctx, text); err != nil {
		return
	}
	key := threads.Key(r.alice.at.TeamID, r.alice.at.DMs["alice"], thread, "")
	pressed := map[string]bool{}
	err = poll(ctx, func() error {
		list, err := r.alice.reads(ctx, thread)
		if err != nil {
			return err
		}
		for _, m := range list {
			if first == 0 && strings.TrimSpace(m.words()) != "" {
				first = time.Since(began)
			}
			if b, ok := m.button("Approve"); ok && !pressed[m.TS] {
				pressed[m.TS] = true
				if err := r.alice.press(ctx, m, b); err != nil {
					return err
				}
			}
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
		if _, err := r.alice.reads(ctx, thread); err != nil {
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
	state, pressed := outbox.Pending, false
	err = poll(ctx, func() error {
		list, err := r.s.app.outbox.List(ctx, outbox.Filter{All: true})
		if err != nil {
			return err
		}
		key := threads.Key(r.alice.at.TeamID, r.alice.at.DMs["alice"], thread, "")
		for _, d := range list {
			if d.Thread == key {
				state = d.State
			}
		}
		if state == want {
			return nil
		}
		said, err := r.alice.reads(ctx, thread)
		if err != nil {
			return err
		}
		for _, m := range said {
			if b, ok := m.button("Approve"); ok && !pressed {
				pressed = true
				return errors.Join(r.alice.press(ctx, m, b), errors.New("Approve was pressed"))
			}
		}
		return fmt.Errorf("the draft is %s, not %s", state, want)
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

func (r *rehearsal) reconcile(ctx context.Context, thread string) error {
	err := poll(ctx, func() error {
		said, err := r.alice.reads(ctx, thread)
		if err != nil {
			return err
		}
		for _, m := range said {
			if b, ok := m.button("It arrived…"); ok {
				return r.alice.press(ctx, m, b)
			}
		}
		return errors.New("the card of an unknown outcome does not ask what became of it")
	})
	if err != nil {
		return err
	}
	if err := r.alice.submit(ctx, "It lies in the demo server's Sent folder."); err != nil {
		return fmt.Errorf("cannot settle the unknown outcome: %w", err)
	}
	return poll(ctx, func() error {
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
