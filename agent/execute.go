package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// cancelGrace is how long a tool may take to notice that its context ended.
const cancelGrace = 10 * time.Second

// maxShown is how much of one file is uploaded.
const maxShown = 25 << 20

// ran is what one execution came to.
type ran struct {
	g       *gated
	out     tools.Output
	err     error // the tool's Go error: it ends the run at a safe point
	elapsed time.Duration
}

// execute runs the calls of a batch that may run, together, and journals each
// as it ends. The error, if any, ends the run; every call that began has its
// result in the record then, unless a shutdown took it.
func (l *loop) execute(ctx context.Context, batch []*gated) error {
	var todo []*gated
	for _, g := range batch {
		if g.result == nil {
			todo = append(todo, g)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	// Nothing may happen that the record does not announce. Repeatable calls
	// are simply made again after a crash, so they need no announcement.
	for _, g := range todo {
		if repeatable(g.tool) || g.state == Executing {
			continue
		}
		if err := l.Journal.Call(ctx, g.ID, Executing, g.Args); err != nil {
			return err
		}
	}
	bounded, cancel := l.bounded(ctx)
	defer cancel()
	done := make(chan ran, len(todo))
	for _, g := range todo {
		g.ended, g.env = make(chan struct{}), l.surroundings(g, todo)
		g.words, g.elapsed = l.words[:len(l.words):len(l.words)], l.Before.Wall+l.elapsed()
	}
	for i, g := range todo {
		l.event(Event{Kind: CallStarted, Turn: l.turnOf(), Call: g.Call, Headline: g.what, Private: g.caps.PrivateData})
		go l.call(bounded, g, waitsFor(g, todo[:i]), done) // ends with the tool; its answer is awaited below
	}
	share := tools.Share(tools.Budget(l.OutputBudget, l.Model.Window()), len(todo))
	var failure error
	left := todo
	var grace <-chan time.Time
	ended := bounded.Done()
	for len(left) > 0 {
		select {
		case r := <-done:
			left = without(left, r.g)
			err := l.conclude(ctx, bounded, r, share)
			if err != nil && failure == nil {
				failure = err
			}
		case <-ended:
			ended = nil
			t := time.NewTimer(cancelGrace)
			defer t.Stop()
			grace = t.C
		case <-grace:
			// Deaf to its context. Its goroutine ends when the tool does.
			for _, g := range left {
				if err := l.deaf(ctx, bounded, g); err != nil && failure == nil {
					failure = err
				}
			}
			left = nil
		}
	}
	if failure == nil && errors.Is(context.Cause(bounded), errWall) {
		return nil // the next look at the budget ends the run
	}
	return failure
}

func without(list []*gated, g *gated) []*gated {
	kept := make([]*gated, 0, len(list))
	for _, o := range list {
		if o != g {
			kept = append(kept, o)
		}
	}
	return kept
}

// waitsFor are the earlier calls of a batch that must be over before g begins:
// those that change the very file that it names, or that change nobody can say
// what. A file that is written and shown in one turn is shown as written;
// everything else runs beside everything else.
func waitsFor(g *gated, earlier []*gated) []*gated {
	if g.path == "" {
		return nil
	}
	var list []*gated
	for _, e := range earlier {
		if e.tool.ReadOnly() && (g.tool.ReadOnly() || e.path != g.path) {
			continue
		}
		if e.path == g.path || e.path == "" && e.caps.Destructive {
			list = append(list, e)
		}
	}
	return list
}

// call runs one tool. A panic costs the call, never the run.
func (l *loop) call(ctx context.Context, g *gated, after []*gated, done chan<- ran) {
	defer close(g.ended)
	for _, e := range after {
		select {
		case <-e.ended:
		case <-ctx.Done():
		}
	}
	start := time.Now()
	r := ran{g: g}
	defer func() {
		if p := recover(); p != nil {
			l.Log.Error("a tool panicked", "tool", g.Tool, "call", g.ID, "panic", p, "stack", string(debug.Stack()))
			r.out = tools.Output{IsError: true, Unknown: true, Content: fmt.Sprintf("`%s` broke down while it ran (%s). Whether it took effect is not known. It is a fault of the tool, not of the arguments: try another way.", g.Tool, oneLine(fmt.Sprint(p), 200))}
			r.err = nil
		}
		r.elapsed = time.Since(start)
		done <- r
	}()
	if ctx.Err() != nil {
		// It waited for its turn until the run was stopped. Most file tools
		// never look at their context, so it must not be handed to them.
		r.out = tools.Output{Content: stoppedBefore, IsError: true, Refusal: true}
		return
	}
	g.env.Progress = func(text string) {
		if ctx.Err() != nil {
			return // the run may be over
		}
		l.event(Event{Kind: CallProgress, Turn: l.turnOf(), Call: g.Call, Headline: g.what, Text: oneLine(text, 200), Private: g.caps.PrivateData})
	}
	// A helper's own calls enter one by one: between them it may wait for its
	// model, and nobody has to wait for that.
	if d, ok := g.tool.(Delegate); ok && d.Delegates() {
		r.out, r.err = d.Delegate(ctx, g.Args, g.env, l.parent(g))
		return
	}
	if g.env.Enter != nil {
		leave, err := g.env.Enter(ctx)
		if err != nil {
			r.out = tools.Fail(fmt.Sprintf("`%s` was not begun: %v", g.Tool, err))
			return
		}
		defer leave()
	}
	r.out, r.err = g.tool.Call(ctx, g.Args, g.env)
	if r.err == nil && len(r.out.Files) > 0 {
		if err := l.showFiles(ctx, g, g.env, r.out.Files); err != nil {
			r.out = tools.Fail(fmt.Sprintf("the file was not shown: %s", err))
		}
	}
}

// surroundings is the Env of a call. Its taint holds what the other calls of
// the batch declare where the conversation lacks it: a tool that is careful in
// an armed conversation is as careful beside the call that arms it.
func (l *loop) surroundings(g *gated, batch []*gated) *tools.Env {
	taint := l.taint.Held()
	for _, o := range batch {
		if o == g {
			continue
		}
		mark := tools.Mark{Call: o.ID, Tool: o.Tool, What: o.what, Turn: l.turnOf()}
		if o.caps.PrivateData && !taint.Private {
			mark.Leg = tools.Private
			taint = taint.With(mark)
		}
		if o.caps.UntrustedInput && !taint.Untrusted {
			mark.Leg = tools.Untrusted
			taint = taint.With(mark)
		}
	}
	env := &tools.Env{Thread: l.Thread, Run: l.ID}
	if l.Env != nil {
		env = l.Env(g.ID, l.turnOf(), taint)
	}
	env.Call, env.Turn, env.Taint, env.Unattended = g.ID, l.turnOf(), taint, l.Unattended
	return env
}

// showFiles uploads before the result is journaled: the model must not claim
// to have shown what nobody can see.
func (l *loop) showFiles(ctx context.Context, g *gated, env *tools.Env, files []tools.File) error {
	if env.Workspace == nil {
		return errors.New("this run has no workspace")
	}
	var shown []ShownFile
	for _, f := range files {
		in, err := env.Workspace.Open(f.Path)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(in, maxShown+1))
		_ = in.Close()
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", f.Path, err)
		}
		if len(data) > maxShown {
			return fmt.Errorf("%s is larger than %d MB", f.Path, maxShown>>20)
		}
		shown = append(shown, ShownFile{File: f, Data: data})
	}
	return l.Sink.Show(ctx, g.ID, shown)
}

// conclude turns one execution into a journaled result.
func (l *loop) conclude(ctx, bounded context.Context, r ran, share int) error {
	g, out := r.g, r.out
	stopped := bounded.Err() != nil
	if stopped && !isStop(context.Cause(bounded)) && (r.err != nil || out.IsError) {
		// A shutdown broke it off. The record says that it was running; the
		// resumed run repeats it or tells that the outcome is unknown.
		return nil
	}
	var failure error
	outcome := CallOK
	switch {
	case r.err != nil && stopped:
		out = tools.Output{Content: abandoned, IsError: true, Unknown: true}
		outcome = CallInterrupted
	case r.err != nil:
		out = tools.Output{Content: fmt.Sprintf("`%s` failed in a way that ends this run: %s", g.Tool, r.err), IsError: true}
		failure = fmt.Errorf("tool %s: %w", g.Tool, r.err)
		outcome = CallError
	case out.Refusal:
		outcome = CallBlocked
	case out.Unknown && (stopped || !g.tool.ReadOnly()):
		outcome = CallInterrupted // never called failed: it may have happened
	case out.IsError:
		outcome = CallError
	case out.Park != nil:
		outcome = CallParked
	}
	what := out.What
	if what == "" {
		what = g.what
	}
	content := out.Content
	if content == "" {
		content = "(no output)"
		if out.Park != nil {
			content = "Your question was put to the owner. The run ends here; the answer is their next message."
		}
	}
	if tools.ReadsInbox(g.tool, g.values, g.env) {
		out.External, out.Stranger = true, true
	}
	content = tools.Cut(g.env, g.Tool, g.ID, tools.ProvenanceOf(g.caps, out), content, share)
	short := shortReason(outcome, content)
	if out.External && l.Security.Marks() {
		source := g.Tool
		if what != "" {
			source += " " + what
		}
		content = tools.Wrap(content, source)
	}
	res := Result{
		CallID: g.ID, WireID: g.WireID, Tool: g.Tool, Content: content, Outcome: outcome,
		External: out.External, Private: g.caps.PrivateData && !opaque(g.tool),
		Marks: tools.Arm(g.caps, out, g.ID, g.Tool, what, l.turnOf()),
	}
	if err := l.Journal.Result(context.WithoutCancel(ctx), res); err != nil {
		return err
	}
	l.keep(g, res)
	if out.Park != nil && outcome == CallParked && l.out.Question == nil {
		l.out.Question = out.Park
	}
	l.event(Event{Kind: CallDone, Turn: l.turnOf(), Call: g.Call, Headline: g.what, Outcome: outcome, Elapsed: r.elapsed, Text: short, Private: g.caps.PrivateData})
	if l.Hooks != nil {
		l.Hooks.Post(context.WithoutCancel(ctx), g.Tool, g.Args, res)
	}
	if r.err != nil {
		l.out.Err = failure
	}
	return failure
}

// deaf answers a call whose tool did not end when it was told to.
func (l *loop) deaf(ctx, bounded context.Context, g *gated) error {
	l.Log.Warn("a tool did not end when its context did", "tool", g.Tool, "call", g.ID)
	if !isStop(context.Cause(bounded)) {
		return nil // a shutdown: the record says that it was running
	}
	res := *g.answered(CallInterrupted, abandoned)
	res.Marks = tools.Arm(g.caps, tools.Output{}, g.ID, g.Tool, g.what, l.turnOf())
	if err := l.Journal.Result(context.WithoutCancel(ctx), res); err != nil {
		return err
	}
	l.keep(g, res)
	l.event(Event{Kind: CallDone, Turn: l.turnOf(), Call: g.Call, Headline: g.what, Outcome: CallInterrupted, Elapsed: cancelGrace, Text: "did not end in time", Private: g.caps.PrivateData})
	return nil
}

func isFenced(err error) bool { return errors.Is(err, ErrFenced) }
