package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// gated is one call on its way through the gate (DESIGN.md §5).
type gated struct {
	Call
	tool   tools.Tool
	caps   tools.Capabilities
	filled []string // defaults that the schema pinned
	what   string   // headline
	values map[string]any
	path   string // of the workspace, where the arguments name one
	state  CallState
	routed bool

	result *Result // set: this call is decided and does not run
	kept   bool    // the result is in the record and in the conversation

	env     *tools.Env    // in which it runs
	words   []tools.Words // of the conversation when it began, for a helper
	elapsed time.Duration // of the run then
	ended   chan struct{} // closed when its execution is over
}

// answer takes a turn's calls to their results. It is the one path from a model
// to a tool: nothing else calls Tool.Call, but for the outbox's release of a
// draft. Calls are judged one after the other, since a person may be asked;
// those that may run, run together. False: the run is over.
func (l *loop) answer(ctx context.Context, calls []Call) bool {
	batch := l.enter(calls)
	for _, g := range batch {
		if g.result == nil && ctx.Err() == nil {
			if err := l.gate(ctx, g, batch); err != nil && ctx.Err() == nil {
				l.fail(ctx, err)
				return false
			}
		}
		// What was refused because the run was ending is judged again, or
		// answered by breakOff; a draft is a fact already.
		if g.result != nil && (ctx.Err() == nil || g.state == Done) {
			if err := l.settleCall(ctx, g); err != nil {
				l.fail(ctx, err)
				return false
			}
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return l.breakOff(ctx, cause, batch)
	}
	failure := l.execute(ctx, batch)
	if failure == nil {
		failure = context.Cause(ctx)
	}
	if failure != nil {
		l.fail(ctx, failure)
		return false
	}
	if l.out.Question != nil {
		l.end(ParkedCause, "")
		return false
	}
	if l.guard.saw(round(batch)) {
		l.out.Quality.Repeats++
		return l.note(ctx, fmt.Sprintf("You have made the same call %d times and heard the same answer. It will not change by asking again: do something else, or tell the owner what is in the way.", repeatNotice))
	}
	return true
}

// breakOff ends a batch before anything of it ran. A person's stop answers every
// call; a shutdown leaves them as the record has them, to be taken up again.
func (l *loop) breakOff(ctx context.Context, cause error, batch []*gated) bool {
	if isStop(cause) {
		for _, g := range batch {
			if g.kept {
				continue
			}
			g.result = g.answered(CallBlocked, stoppedBefore)
			if g.state == Executing {
				g.result = g.answered(CallInterrupted, interrupted)
			}
			if err := l.settleCall(ctx, g); err != nil {
				l.fail(ctx, err)
				return false
			}
		}
	}
	l.fail(ctx, cause)
	return false
}

// bury answers calls of an earlier run that ended without answering them: the
// owner has spoken since, so nothing of it is run any more.
func (l *loop) bury(ctx context.Context, calls []Call) bool {
	for _, g := range l.enter(calls) {
		if g.state == Executing {
			g.result = g.answered(CallInterrupted, interrupted)
		} else {
			g.result = g.answered(CallBlocked, prefixBlocked+"the run ended before this call was made. It was not run.")
		}
		if err := l.settleCall(ctx, g); err != nil {
			l.fail(ctx, err)
			return false
		}
	}
	return true
}

// enter looks every call up and parses its arguments once: the bytes from here
// are what is gated, staged, shown and run.
func (l *loop) enter(calls []Call) []*gated {
	batch := make([]*gated, len(calls))
	for i, c := range calls {
		g := &gated{Call: c, tool: l.Tools.Get(c.Tool), state: Offered}
		batch[i] = g
		if s, ok := l.Open[c.ID]; ok {
			g.state = s
		}
		switch {
		case g.tool == nil && g.state == Executing:
			g.result = g.answered(CallInterrupted, interrupted)
		case g.tool == nil:
			g.result = g.answered(CallError, unknownTool(c.Tool, l.offered()))
			l.out.Quality.BadCalls++
		case l.narrowed(c.Tool) != "":
			g.result = g.answered(CallBlocked, l.narrowed(c.Tool))
		case l.Planning && !g.tool.ReadOnly():
			g.result = g.answered(CallBlocked, notInPlanning(c.Tool))
		}
		if g.tool == nil {
			continue
		}
		parsed, err := l.Tools.Parse(g.tool, c.Args)
		if err != nil {
			if g.result == nil {
				g.result = g.answered(CallError, err.Error())
				l.out.Quality.BadCalls++
			}
			continue
		}
		g.Args, g.filled = parsed.Args, parsed.Filled
		g.caps = g.tool.Capabilities()
		g.what = headline(parsed)
		g.values = parsed.Values
		g.path, _ = parsed.Values["path"].(string)
		g.routed = g.result == nil && l.Stager != nil && l.Stager.Routed(g.tool)
		if g.state == Executing && g.result == nil && !repeatable(g.tool) {
			g.result = g.answered(CallInterrupted, interrupted)
		}
	}
	return batch
}

// gate judges one call. An error means that the run cannot go on.
func (l *loop) gate(ctx context.Context, g *gated, batch []*gated) error {
	switch {
	case g.routed:
		return l.stage(ctx, g, batch)
	case g.state == Approved, g.state == Executing:
		return nil // was judged before the process ended; Executing is Repeatable
	}
	others := others(g, batch)
	verdict := tools.Interlock(l.Security, l.taint, others, g.caps, tools.Ways{})
	if verdict.Kind == tools.Refuse {
		verdict = tools.Interlock(l.Security, l.taint, others, g.caps, l.waysOut()) // looked for only when needed
		g.result = g.answered(CallBlocked, prefixBlocked+verdict.Text)
		return nil
	}
	var forced []string
	if verdict.Kind == tools.Escalate {
		forced = append(forced, verdict.Text)
	}
	rule, denied := l.narrow(ctx, g)
	if denied {
		return nil
	}
	if rule.Decision == RulePrompt {
		forced = append(forced, "a rule wants a person to see this"+because(rule.Why))
	}
	dests := l.destinations(g, others)
	if why, yes := tools.NeedsPerson(dests); yes {
		forced = append(forced, why)
	}
	if g.tool.ReadOnly() && len(forced) == 0 {
		return nil
	}
	ask := Ask{
		Call: g.Call, Turn: l.turnOf(), Tool: g.tool, ReadOnly: g.tool.ReadOnly(), Capabilities: g.caps, Destinations: dests,
		Forced: len(forced) > 0, Why: strings.Join(forced, "; "), Permitted: rule.Decision == RuleAllow && len(forced) == 0,
	}
	if !ask.Forced {
		ask.Scope = scopeOf(g)
	}
	before := l.Now()
	decision, err := l.Approver.Approve(ctx, ask)
	l.waited += l.Now().Sub(before)
	if err != nil {
		return err
	}
	switch d := decision.(type) {
	case Allow:
		g.state = Approved
		return l.Journal.Call(ctx, g.ID, Approved, g.Args)
	case Deny:
		g.result = g.answered(CallDenied, prefixDenied+or(d.Reason, "no reason was given")+". It was not run.")
	case Blocked:
		g.result = g.answered(CallBlocked, prefixBlocked+d.Reason)
	default: // an approver that answers nothing has not said yes
		g.result = g.answered(CallBlocked, prefixBlocked+"nobody answered. It was not run.")
	}
	return nil
}

// stage keeps a routed call as a draft. There is no approver and no execution,
// and no way from a failed staging to either.
func (l *loop) stage(ctx context.Context, g *gated, batch []*gated) error {
	rule, denied := l.narrow(ctx, g)
	_ = rule // `prompt` and `allow` on a routed tool are start-up errors; staging runs nothing
	if denied {
		return nil
	}
	r, err := l.Stager.Stage(ctx, Staging{
		Call: g.Call, Filled: g.filled, Turn: l.turnOf(), Tool: g.tool, Taint: l.taint.Held(), Destinations: l.destinations(g, others(g, batch)),
	})
	switch {
	case err != nil && (ctx.Err() != nil || isFenced(err)):
		return err
	case err != nil:
		g.result = g.answered(CallError, stagingFailed(g.Tool, err))
		return nil
	}
	r.CallID, r.WireID, r.Tool = g.ID, g.WireID, g.Tool
	g.state, g.result = Done, &r // journaled with the draft, in one commit
	return nil
}

// narrow asks hooks and rules, which can only say no or call for a person.
func (l *loop) narrow(ctx context.Context, g *gated) (rule RuleVerdict, denied bool) {
	if l.Hooks != nil {
		if why := l.Hooks.Pre(ctx, g.Tool, g.Args); why != "" {
			g.result = g.answered(CallBlocked, prefixHook+why)
			return rule, true
		}
	}
	if l.Rules != nil {
		rule = l.Rules.Judge(g.Tool, g.Args)
		if rule.Decision == RuleForbid {
			g.result = g.answered(CallBlocked, prefixBlocked+"a rule forbids this"+because(rule.Why)+". It was not run.")
			return rule, true
		}
	}
	return rule, false
}

// settleCall journals a call that does not run, with its result.
func (l *loop) settleCall(ctx context.Context, g *gated) error {
	if g.state != Done {
		if err := l.Journal.Result(context.WithoutCancel(ctx), *g.result); err != nil {
			return err
		}
		g.state = Done
	}
	l.keep(g, *g.result)
	l.event(Event{Kind: CallDone, Turn: l.turnOf(), Call: g.Call, Headline: g.what, Outcome: g.result.Outcome, Draft: g.result.Draft, Private: g.caps.PrivateData, Text: shortReason(g.result.Outcome, g.result.Content)})
	return nil
}

// keep takes a journaled result into the conversation and the counts.
func (l *loop) keep(g *gated, r Result) {
	m := Message{Turn: l.turnOf(), Role: ToolRole, Author: ByTool, Text: r.Content, CallID: r.CallID, WireID: r.WireID, Tool: r.Tool,
		IsError: r.Outcome != CallOK && r.Outcome != CallStaged && r.Outcome != CallParked, External: r.External, Private: r.Private}
	l.history = append(l.history, m)
	l.taint.Add(r.Marks...)
	l.hear(m)
	g.result, g.kept = &r, true
	l.out.Calls++
	switch r.Outcome {
	case CallError:
		l.out.Errors++
	case CallStaged:
		l.out.Staged++
	case CallBlocked:
		l.out.Blocked++
	case CallDenied:
		l.out.Denied++
	case CallInterrupted:
		l.out.Quality.Unknown++
	}
	l.Log.LogAttrs(context.Background(), slog.LevelInfo, "call", slog.String("call", r.CallID), slog.String("gen_ai.tool.name", r.Tool), slog.String("outcome", string(r.Outcome)))
}

func (g *gated) answered(o CallOutcome, content string) *Result {
	return &Result{CallID: g.ID, WireID: g.WireID, Tool: g.Tool, Content: content, Outcome: o}
}

// others are the batch's other calls that will run: their declared legs count
// as if they had run, or a read and a send asked for together would both see a
// clean slate. Staged, refused and unreadable calls bring nothing in.
func others(g *gated, batch []*gated) []tools.Pending {
	var list []tools.Pending
	for _, o := range batch {
		if o == g || o.routed || o.tool == nil || o.result != nil {
			continue
		}
		list = append(list, tools.Pending{Call: o.ID, Tool: o.Tool, What: o.what, Caps: o.caps})
	}
	return list
}

// destinations says where a call would go, and where that first appeared.
func (l *loop) destinations(g *gated, others []tools.Pending) []tools.Destination {
	if g.caps.Egress != tools.Chosen && !g.caps.Destructive {
		return nil
	}
	var roots []string
	if l.Env != nil {
		if env := l.Env(g.ID, l.turnOf(), l.taint.Held()); env.Workspace != nil {
			roots = append(roots, env.Workspace.Path())
		}
	}
	untrusted := l.taint.Untrusted
	for _, o := range others {
		untrusted = untrusted || o.Caps.UntrustedInput
	}
	return tools.Trace(tools.Destinations(g.tool, g.Args, roots...), l.words, untrusted)
}

// waysOut are the ways around the interlock that exist in this run. They are
// found by what tools declare; web_open is named because its text says more
// than "a blind tool" could.
func (l *loop) waysOut() tools.Ways {
	w := tools.Ways{WebOpen: l.Tools.Get("web_open") != nil}
	for _, t := range l.Tools.All() {
		c := t.Capabilities()
		if !w.Outbox && l.Stager != nil && c.Egress == tools.Chosen && l.Stager.Routed(t) {
			w.Outbox = true
		}
		if d, ok := t.(Delegate); ok && w.Delegate == "" && d.Delegates() && c.Egress != tools.Chosen {
			w.Delegate = t.Name()
		}
	}
	return w
}

func (l *loop) offered() []string {
	names := make([]string, len(l.defs))
	for i, d := range l.defs {
		names[i] = d.Name
	}
	return names
}

// turnOf is the turn whose calls are being answered: journaled already.
func (l *loop) turnOf() int { return l.turn - 1 }

func scopeOf(g *gated) string {
	if s, ok := g.tool.(tools.Scoped); ok {
		return s.Scope(g.Args)
	}
	return g.Tool
}

func repeatable(t tools.Tool) bool {
	r, ok := t.(tools.Repeatable)
	return ok && r.Repeatable()
}

func opaque(t tools.Tool) bool {
	o, ok := t.(tools.Opaque)
	return ok && o.Opaque()
}

// shortReason is a line for people on a call that did not run.
func shortReason(outcome CallOutcome, content string) string {
	switch outcome {
	case CallOK, CallStaged, CallParked:
		return ""
	}
	first, _, _ := strings.Cut(content, "\n")
	for _, p := range []string{prefixDenied, prefixBlocked, prefixHook} {
		first = strings.TrimPrefix(first, p)
	}
	return oneLine(first, 200)
}

// round is a turn's calls and answers, for the guard against running in circles.
func round(batch []*gated) string {
	var b strings.Builder
	for _, g := range batch {
		b.WriteString(g.Tool)
		b.Write(compacted(g.Args))
		if g.result != nil {
			b.WriteString(g.result.Content)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// compacted is arguments without the spaces between them.
func compacted(raw json.RawMessage) []byte {
	if !bytes.ContainsAny(raw, " \t\r\n") {
		return raw
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(why, ".")
}

func or(s, otherwise string) string {
	if s = strings.TrimSuffix(strings.TrimSpace(s), "."); s == "" {
		return otherwise
	}
	return s
}
