package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/demomail"
	"github.com/mecha-slack/mecha-slack/internal/localslack"
	"github.com/mecha-slack/mecha-slack/internal/localslack/person"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
)

const (
	// stepTime is how long a rehearsal waits for one answer: a slow model is
	// slow, not broken.
	stepTime = 3 * time.Minute
	// serverState bounds what a server keeps in its home that a rehearsal copies.
	serverState = 64 << 20
	lookEvery   = 30 * time.Millisecond
)

// rehearsal plays the product through, once, with the owner's configuration: a
// conversation, an approval, a release and a reconciliation, on a workspace of
// its own, in a home that is thrown away.
type rehearsal struct {
	f     *findings
	s     *serving
	alice person.Person // the owner
	bob   person.Person // whom policies and approvers name, beside her
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
	h.config.Digest.Channel = ""
	h.config.Hook = decidingHooks(f, h.config.Hook)
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
	self, err := localslack.ParseManifest(manifest)
	if err != nil {
		return errors.Join(err, own.release())
	}
	ws, err := localslack.Start(ctx, localslack.Config{Addr: "127.0.0.1:0", Log: h.log, Manifests: []localslack.Manifest{self}})
	if err != nil {
		return errors.Join(err, own.release())
	}
	defer ws.Close()
	at := ws.Ready()
	r.alice, r.bob = person.Person{At: at, Name: "alice"}, person.Person{At: at, Name: "bob"}
	standIns(f, &h, r.alice.ID(), r.bob.ID())
	owner := bot.Person{Team: at.TeamID, User: r.alice.ID(), Role: bot.Owner, Name: "alice", Zone: localZone(c), DM: r.alice.DM()}
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
	r.work = h.work()
	f.ok("rehearse", "the model is %s", model.line)
	r.play(ctx)
	return nil
}

// decidingHooks are those that say whether a call may be made: a rehearsal asks
// them as any run does. What other hooks do, they do for real.
func decidingHooks(f *findings, all []agent.HookConfig) (deciding []agent.HookConfig) {
	for _, h := range all {
		if h.Event == agent.HookPreTool {
			deciding = append(deciding, h)
		}
	}
	if n := len(all) - len(deciding); n > 0 {
		f.ok("rehearse", "%s left out: what such a hook does, it does for real", plural(n, "post_tool or session_end hook is", "post_tool and session_end hooks are"))
	}
	return deciding
}

// standIns keep the policies and the approvers in force, with people of the
// rehearsal in the place of those whom they name. What a policy puts off for a
// longer time, or counts over a day, has no place in it.
func standIns(f *findings, h *home, owner, approver string) {
	h.config.Outbox.Policies = slices.Clone(h.config.Outbox.Policies)
	for i := range h.config.Outbox.Policies {
		p := &h.config.Outbox.Policies[i]
		if len(p.Approvers) > 0 {
			p.Approvers = []string{owner, approver}
		}
		p.MinApprovals = min(p.MinApprovals, 2)
		p.Hold = min(p.Hold, outbox.Duration(time.Second))
		p.PerDay, p.PerRecipientDay = 0, 0
	}
	var decides []string
	for _, list := range h.config.Slack.Approvers {
		decides = append(decides, list...)
	}
	h.config.Slack.Approvers = nil
	if len(decides) > 0 {
		slices.Sort(decides)
		h.config.Slack.Approvers = map[string][]string{approver: slices.Compact(decides)}
		f.ok("rehearse", "bob stands for whom [slack.approvers] names")
	}
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
