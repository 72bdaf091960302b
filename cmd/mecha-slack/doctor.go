package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// finding is one thing that doctor looked at, with what to do about it.
type finding struct {
	Check  string `json:"check"`
	Level  string `json:"level"` // ok, warning, error
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// findings collects them in the order of the checks.
type findings struct{ list []finding }

func (f *findings) ok(check, format string, a ...any) {
	f.list = append(f.list, finding{check, "ok", fmt.Sprintf(format, a...), ""})
}
func (f *findings) warn(check, what, remedy string) {
	f.list = append(f.list, finding{check, "warning", what, remedy})
}
func (f *findings) fail(check, what, remedy string) {
	f.list = append(f.list, finding{check, "error", what, remedy})
}

func (c *cli) doctorCmd() *cobra.Command {
	var asJSON, rehearse bool
	var apiURL string
	var model modelFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What is wrong, and what to do about each thing",
		Long: `Looks at the home, the configuration, the record, the sandbox, the providers, the MCP
servers, the outbox's routes, the clock and the Slack credentials. Each finding has a
remedy. It changes nothing, and exits 1 if any finding is an error.

--rehearse plays the product through, once, with your provider and your MCP servers: a
conversation, an approval, a release, and a send whose answer is lost, on a workspace of
its own in a home that is thrown away. Of your servers only tools that read and reach
nobody are called; the others are stood in for. Your rules, policies and pre_tool hooks
hold; hooks that act afterwards are left out. What your provider is told, and what it
costs, is real: a few thousand tokens.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if apiURL != "" {
				if err := checkAPIURL(apiURL); err != nil {
					return err
				}
			}
			if !rehearse && model != (modelFlags{}) {
				return usagef("--model and --model-url go with --rehearse: they say who answers in it")
			}
			list, err := c.examine(cmd.Context(), apiURL)
			if err != nil {
				return err
			}
			if rehearse {
				f := findings{list}
				c.rehearse(cmd.Context(), &f, model)
				list = f.list
			}
			for i := range list {
				list[i].What, list[i].Remedy = c.redact(oneLine(list[i].What)), c.redact(oneLine(list[i].Remedy))
			}
			errorsFound := 0
			for _, f := range list {
				if f.Level == "error" {
					errorsFound++
				}
			}
			if asJSON {
				if err := c.printJSON(map[string]any{"findings": list}); err != nil {
					return err
				}
			} else {
				c.printFindings(list)
			}
			if errorsFound > 0 {
				return exitCode{code: 1, silent: true, err: fmt.Errorf("%d errors were found", errorsFound)}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&rehearse, "rehearse", false, "play a conversation, an approval, a release and a lost answer through, in a home that is thrown away")
	addModelFlags(cmd, &model)
	cmd.Flags().StringVar(&apiURL, "api-url", "", "another workspace than Slack's, as given to connect")
	return cmd
}

func (c *cli) printFindings(list []finding) {
	for _, f := range list {
		mark := map[string]string{"ok": "✓", "warning": "⚠", "error": "✕"}[f.Level]
		fmt.Fprintf(c.Stdout, "%s %-10s %s\n", mark, f.Check, plain(f.What, 600))
		if f.Remedy != "" {
			fmt.Fprintf(c.Stdout, "  %-10s → %s\n", "", f.Remedy)
		}
	}
}

// examine makes every check. What an earlier one found broken, later ones do
// without. Only a wrong call is an error.
func (c *cli) examine(ctx context.Context, apiURL string) ([]finding, error) {
	var f findings
	h, err := c.openHome(false)
	var usage exitCode
	if errors.As(err, &usage) {
		return nil, err
	}
	if err != nil {
		f.fail("config", err.Error(), "correct the file, then run `mecha-slack config check`")
		return f.list, nil
	}
	c.checkHomeDir(&f, h)
	path := h.config.Path()
	if _, err := os.Stat(path); err == nil {
		f.ok("config", "%s is in order", c.short(path))
	} else {
		f.ok("config", "there is no %s: the defaults are in force", c.short(path))
	}
	if err := c.withDemo(h); err != nil {
		f.fail("mcp", err.Error(), "look at the home's maildir, or remove it")
	}
	db, err := record.Open(ctx, h.recordPath(), record.Options{})
	switch {
	case errors.Is(err, record.ErrMissing):
		f.warn("record", "there is no record yet at "+c.short(h.recordPath()), "start `mecha-slack local` or `mecha-slack connect` once, which makes it")
	case errors.Is(err, record.ErrOlder):
		f.warn("record", err.Error(), "start `mecha-slack local` or `connect` of this version once; it keeps a copy")
	case err != nil:
		f.fail("record", err.Error(), "see what the error says; a copy from before the last upgrade stands beside the record")
	default:
		defer db.Close()
		checkRecord(ctx, &f, db)
	}
	a := c.rooms(h, db, runFlags{})
	defer a.stop()
	if db != nil {
		a.checkWaiting(ctx, &f)
		a.checkTriggers(ctx, &f)
		if zone, err := h.zone(ctx, bot.People{DB: db}); err == nil {
			a.inZone(zone)
		}
		a.checkLimits(ctx, &f)
		a.checkRuns(ctx, &f)
	}
	if err := a.look(ctx, c); err != nil {
		f.fail("tools", err.Error(), "correct the configuration; until then no bot starts")
	} else {
		a.checkSandbox(&f)
		a.checkServers(ctx, &f)
	}
	c.checkProviders(ctx, &f, h)
	c.checkClock(ctx, &f, h, db)
	c.checkSlack(ctx, &f, h, db, apiURL)
	return f.list, nil
}

// doctorLines is what the word "doctor" answers in Slack: what is wrong, of what
// a running bot can tell without starting anything.
func (c *cli) doctorLines(ctx context.Context, a *app) []string {
	var f findings
	checkRecord(ctx, &f, a.db)
	a.checkWaiting(ctx, &f)
	a.checkTriggers(ctx, &f)
	a.checkLimits(ctx, &f)
	a.checkRuns(ctx, &f)
	a.checkSandbox(&f)
	a.checkServers(ctx, &f)
	c.checkProviders(ctx, &f, a.home)
	c.checkClock(ctx, &f, a.home, a.db)
	lines := []string{}
	for _, x := range f.list {
		if x.Level == "ok" {
			continue
		}
		lines = append(lines, c.redact(fmt.Sprintf("%s %s: %s → %s", map[string]string{"warning": "⚠", "error": "✕"}[x.Level], x.Check, plain(x.What, 400), x.Remedy)))
	}
	if len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("✓ All %d checks are in order.", len(f.list)))
	}
	return lines
}

func (c *cli) checkHomeDir(f *findings, h *home) {
	st, err := os.Stat(h.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.warn("home", c.short(h.dir)+" does not exist yet", "`mecha-slack local` or `connect` makes it")
		return
	case err != nil:
		f.fail("home", err.Error(), "choose another home with --home or MECHA_HOME")
		return
	case st.Mode().Perm()&0o077 != 0:
		f.fail("home", fmt.Sprintf("%s can be read by others (mode %o)", c.short(h.dir), st.Mode().Perm()), "chmod 700 "+h.dir)
	case unix.Access(h.dir, unix.W_OK) != nil:
		f.fail("home", c.short(h.dir)+" cannot be written to", "give it to the user that runs the bot, or choose another with --home")
	default:
		f.ok("home", "%s, for you alone", c.short(h.dir))
	}
	if err := jail.CheckWorkspace(h.work(), h.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.fail("home", err.Error(), "move the workspace out of the way of the home")
	}
	var fs unix.Statfs_t
	if unix.Statfs(h.dir, &fs) == nil {
		if free := int64(fs.Bavail) * fs.Bsize; free < 100<<20 {
			f.warn("home", fmt.Sprintf("only %s are free on its disk; a full disk stops every draft and decision", size(free)), "make room")
		}
	}
}

func checkRecord(ctx context.Context, f *findings, db *record.DB) {
	complaint, err := db.Check(ctx)
	switch {
	case err != nil:
		f.fail("record", err.Error(), "look at the disk; a copy from before the last upgrade stands beside the record")
	case complaint != "":
		f.fail("record", "it is damaged: "+complaint, "stop the bot, keep a copy of the file, and restore the newest intact copy beside it (*.v*)")
	default:
		f.ok("record", "intact, schema %d", record.Version())
	}
	// Inside the home nobody gets at it; elsewhere its own mode matters.
	dir, err := os.Stat(filepath.Dir(db.Path()))
	file, err2 := os.Stat(db.Path())
	if err == nil && err2 == nil && dir.Mode().Perm()&0o077 != 0 && file.Mode().Perm()&0o077 != 0 {
		f.warn("record", fmt.Sprintf("%s can be read by others (mode %o)", db.Path(), file.Mode().Perm()), "chmod 600 "+db.Path())
	}
}

// checkWaiting says what only a person can settle.
func (a *app) checkWaiting(ctx context.Context, f *findings) {
	list, err := a.outbox.List(ctx, outbox.Filter{})
	if err != nil {
		f.fail("outbox", err.Error(), "an unreadable draft is never skipped: restore the record, or report this")
		return
	}
	uncertain, stale := 0, 0
	for _, d := range list {
		if d.State == outbox.Uncertain {
			uncertain++
		}
		if d.Stale {
			stale++
		}
	}
	if uncertain > 0 {
		f.warn("outbox", plural(uncertain, "draft has", "drafts have")+" an unknown outcome", "look where they would have arrived, then mecha-slack outbox reconcile")
	}
	if stale > 0 {
		f.warn("outbox", plural(stale, "draft has", "drafts have")+" waited for long", "mecha-slack outbox review")
	}
	if paused, err := a.threads.Paused(ctx); err == nil && paused {
		f.warn("paused", "everything is paused: nothing runs and nothing is released", "mecha-slack resume")
	}
}

// checkTriggers judges each trigger by its own ledger.
func (a *app) checkTriggers(ctx context.Context, f *findings) {
	list, err := triggers.New(a.db, triggers.Config{}, triggers.Deps{Log: a.log}).Findings(ctx)
	if err != nil {
		f.fail("triggers", err.Error(), "see the record")
		return
	}
	for _, x := range list {
		f.list = append(f.list, finding{x.Check, x.Level, x.What, x.Remedy})
	}
}

func (a *app) checkSandbox(f *findings) {
	switch {
	case a.sandbox == nil:
		f.warn("sandbox", "shell is withheld: "+a.noShell, "install bubblewrap, or allow user namespaces; or write [sandbox] kind = \"none\" to run commands unconfined")
	case a.sandbox.Name() == "none":
		f.warn("sandbox", "shell runs unconfined, as you: it can reach the record and your files", "install bubblewrap and remove [sandbox] kind = \"none\"")
	default:
		f.ok("sandbox", "%s", a.sandbox.Describe())
	}
}

func (a *app) checkServers(ctx context.Context, f *findings) {
	unlabelled := 0
	if a.servers != nil {
		for _, s := range a.servers.Status() {
			unlabelled += len(s.Unlabelled)
			switch s.State {
			case mcp.Ready:
				f.ok("mcp", "server %s offers %s", s.Name, plural(len(s.Tools), "tool", "tools"))
			case mcp.Disabled:
			default:
				f.fail("mcp", fmt.Sprintf("server %s is %s: %s", s.Name, s.State, s.LastError), "run its command by hand; correct [[mcp]] "+s.Name+", or set disabled = true")
			}
			for _, q := range s.Quarantined {
				remedy := "see the documentation of MCP servers"
				if q.Accept {
					remedy = "read the change: mecha-slack mcp accept " + q.Name
				}
				f.warn("mcp", q.Name+" is withheld: "+q.Why, remedy)
			}
			for _, w := range s.Warnings {
				f.warn("mcp", w, "see [[mcp]] "+s.Name)
			}
		}
	}
	if unlabelled > 0 {
		f.warn("mcp", fmt.Sprintf("%s unlabelled: nobody says whether they reach the open world", plural(unlabelled, "tool is", "tools are")), "label them under [[mcp]] capabilities (they are taken for closed unless [tools] unannotated_mcp = \"open\")")
	}
	reg, err := tools.NewRegistry(a.all(ctx)...)
	if err != nil {
		f.fail("tools", err.Error(), "rename or disable one of them")
		return
	}
	routes := a.outbox.Unmatched(reg, nil)
	for _, w := range routes {
		f.warn("routes", w, "correct the name; `mecha-slack tools` lists what there is")
	}
	routed := 0
	var open []string
	for _, t := range reg.All() {
		if a.outbox.Routed(t) {
			routed++
			continue
		}
		s, ok := t.(tools.Sourced)
		if ok && s.Source() != "" && !t.ReadOnly() && t.Capabilities().Egress == tools.Chosen {
			open = append(open, t.Name())
		}
	}
	if len(open) > 0 {
		f.warn("routes", "these tools send to where the model says, and are not routed to the outbox: "+strings.Join(open, ", "), "name them under [outbox] tools; otherwise the approver and the interlock alone stand before them")
	}
	if len(routes) == 0 {
		f.ok("routes", "%s to the outbox", plural(routed, "tool is routed", "tools are routed"))
	}
}

func (c *cli) checkProviders(ctx context.Context, f *findings, h *home) {
	if len(h.config.Providers) == 0 {
		f.warn("provider", "no provider is configured: local answers by rules, connect needs --model-url or --model auto", "write a [providers.NAME] table (docs/configuration.md)")
		return
	}
	if h.config.DefaultProvider == "" && len(h.config.Providers) > 1 {
		f.warn("provider", "several providers are configured, and none is the default", "set default_provider")
	}
	names := make([]string, 0, len(h.config.Providers))
	for name := range h.config.Providers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		v := c.askProvider(ctx, h, name)
		where := v.BaseURL
		if u, err := url.Parse(v.BaseURL); err == nil && u.Host != "" {
			where = u.Host
		}
		switch {
		case v.Error != "":
			f.fail("provider", fmt.Sprintf("%s does not answer: %s", name, v.Error), "start it, or correct [providers."+name+"] (base_url, api_key_env)")
		case len(v.Serves) > 0 && !v.serves(v.Model):
			f.warn("provider", fmt.Sprintf("%s answers at %s, but does not list the model %s", name, firstOf(where, "its own address"), v.Model), "`mecha-slack models "+name+"` shows what it serves")
		default:
			f.ok("provider", "%s answers at %s, model %s", name, firstOf(where, "its own address"), v.Model)
		}
	}
}

func (c *cli) checkClock(ctx context.Context, f *findings, h *home, db *record.DB) {
	now := time.Now()
	if now.Year() < 2025 {
		f.fail("clock", "this machine's clock says "+now.Format("2006-01-02 15:04")+": schedules and tokens go wrong", "set the clock (timedatectl set-ntp true)")
		return
	}
	if db == nil {
		f.ok("clock", "%s", now.Format("2006-01-02 15:04 MST"))
		return
	}
	zone, err := h.zone(ctx, bot.People{DB: db})
	switch {
	case err != nil:
		f.fail("clock", err.Error(), "see the record")
	case zone == "":
		f.warn("clock", "the owner's time zone is not known, so there is no digest by the clock", "set [agent] timezone, or link an owner")
	default:
		loc, err := time.LoadLocation(zone)
		if err != nil {
			f.fail("clock", "there is no time zone "+zone, "set [agent] timezone")
			return
		}
		f.ok("clock", "%s in the owner's zone, %s", now.In(loc).Format("2006-01-02 15:04"), zone)
	}
}

func (c *cli) checkSlack(ctx context.Context, f *findings, h *home, db *record.DB, apiURL string) {
	if db != nil {
		if owners, err := (bot.People{DB: db}).Owners(ctx, ""); err == nil && len(owners) == 0 {
			f.warn("owner", "nobody owns this bot", "mecha-slack link, then send the bot the code")
		} else if err == nil {
			f.ok("owner", "%s", plural(len(owners), "owner is", "owners are")+" bound")
		}
	}
	cred, err := c.credentials(h)
	if err != nil {
		if _, statErr := os.Stat(h.path("workspace")); statErr == nil && cred.BotToken == "" && cred.AppToken == "" {
			f.ok("slack", "no credentials: this home works with the local workspace")
			return
		}
		level := f.warn
		if cred.BotToken != "" || cred.AppToken != "" {
			level = f.fail
		}
		level("slack", err.Error(), "mecha-slack auth proves and stores both tokens; `local` needs none")
		return
	}
	for _, prefix := range []struct{ token, want, name string }{{cred.BotToken, "xoxb-", "bot token"}, {cred.AppToken, "xapp-", "app-level token"}} {
		if !strings.HasPrefix(prefix.token, prefix.want) {
			f.fail("slack", fmt.Sprintf("the %s does not look like one: it begins with %s", prefix.name, prefix.want), "mecha-slack auth")
			return
		}
	}
	proof, err := c.prove(ctx, cred, apiURL)
	if err != nil {
		f.fail("slack", err.Error(), "mecha-slack auth with fresh tokens; see docs/slack.md")
		return
	}
	f.ok("slack", "both tokens work: %s in %s", proof.User, proof.TeamName)
	if len(proof.Scopes) > 0 {
		if missing := missingScopes(proof.Scopes); len(missing) > 0 {
			f.fail("slack", "the app lacks the scopes "+strings.Join(missing, ", "), "paste `mecha-slack manifest` into the app's settings and install it again")
		}
	}
}
