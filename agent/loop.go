package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Do runs r until the model has nothing left to call, or something ends it. It
// starts no goroutine that outlives it, but for a tool that ignores its
// cancelled context for longer than the grace.
func Do(ctx context.Context, r *Run) Outcome {
	l := newLoop(r)
	l.run(ctx)
	l.out.Usage, l.out.Wall = l.used(), l.elapsed()
	if e, ok := l.Hooks.(interface {
		End(ctx context.Context, thread, run string, o Outcome)
	}); ok && l.out.Cause != Shutdown && !errors.Is(l.out.Err, ErrFenced) {
		e.End(context.WithoutCancel(ctx), l.Thread, l.ID, l.out)
	}
	return l.out
}

// loop is the state of one run. One goroutine owns it; tools that run
// concurrently reach it through channels, and the sink through show.
type loop struct {
	*Run
	history []Message
	words   []tools.Words
	taint   tools.Taint
	turn    int // number of the next turn
	defs    []ToolDef
	out     Outcome

	started time.Time
	waited  time.Duration // for people: no budget counts it

	empty     int // empty turns one after the other
	truncated int // turns cut by the length limit, one after the other
	guard     repeats
	meter     meter
	shrunk    bool // an overflow was answered by a compaction and nothing came since
	noSummary bool // a summary failed in this run: no second attempt

	sinkMu sync.Mutex
	helped helped
}

func newLoop(r *Run) *loop {
	c := *r // the caller's Run is not ours to change
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With("run", c.ID, "thread", c.Thread)
	if c.Sink == nil {
		c.Sink = unseen{}
	}
	if c.Budget.Turns == 0 {
		c.Budget.Turns = 40
	}
	if h, ok := c.Hooks.(interface{ In(dir string) ToolHook }); ok && c.Env != nil {
		if env := c.Env("", c.Turn, c.Taint); env.Workspace != nil {
			c.Hooks = h.In(env.Workspace.Path())
		}
	}
	l := &loop{
		Run:     &c,
		history: append([]Message(nil), r.History...),
		words:   append([]tools.Words(nil), r.Words...),
		taint:   r.Taint,
		turn:    r.Turn,
		started: c.Now(),
	}
	l.taint.Marks = slices.Clone(r.Taint.Marks) // grown in place from here on
	for i := range l.history {
		l.look(&l.history[i])
	}
	offered := c.Tools
	if c.Planning {
		offered = offered.Only(func(t tools.Tool) bool { return t.ReadOnly() })
	}
	for _, t := range offered.All() { // sorted: the same bytes every time
		l.defs = append(l.defs, ToolDef{Name: t.Name(), Description: t.Description(), Schema: t.InputSchema()})
	}
	return l
}

// run is the loop itself. However it returns, l.out says what the run came to.
func (l *loop) run(ctx context.Context) {
	open, stale := l.openCalls()
	switch {
	case len(open) > 0 && !stale:
		if !l.answer(ctx, open) {
			return
		}
	case len(open) > 0:
		if !l.bury(ctx, open) || !l.open(ctx) {
			return
		}
	case l.answered():
		// The last turn was journaled; only the end of the run was not.
		l.out.Cause = Completed
		return
	default:
		if !l.open(ctx) {
			return
		}
	}
	for {
		if _, ok := l.steer(ctx); !ok {
			return
		}
		if cause, why := l.spent(ctx); cause != "" {
			l.lastWord(ctx, cause, why)
			return
		}
		if !l.compactIfDue(ctx) {
			return
		}
		turn, ok := l.ask(ctx, true)
		if !ok {
			return
		}
		if len(turn.Calls) > 0 {
			l.empty, l.truncated = 0, 0
			if !l.answer(ctx, turn.Calls) {
				return
			}
			continue
		}
		if l.settle(ctx, turn) {
			return
		}
	}
}

// open notes the run's opening words behind a fresh message.
func (l *loop) open(ctx context.Context) bool {
	if l.Opening == "" || len(l.history) == 0 || l.history[len(l.history)-1].Author == ByHarness {
		return true
	}
	return l.note(ctx, l.Opening)
}

// answered tells that the conversation already ends with the model's answer.
func (l *loop) answered() bool {
	if len(l.history) == 0 {
		return false
	}
	m := l.history[len(l.history)-1]
	return m.Role == Assistant && m.Author == ByModel && len(m.Calls) == 0 && strings.TrimSpace(m.Text) != ""
}

// settle deals with a turn without calls. It reports whether the run is over.
func (l *loop) settle(ctx context.Context, turn Turn) bool {
	blank := strings.TrimSpace(turn.Text) == ""
	switch {
	case len(turn.Cut) > 0 && l.truncated < 2:
		l.truncated++
		l.out.Quality.Nudges++
		return !l.note(ctx, fmt.Sprintf("Your call of %s was cut off by the output limit and was not run. Call it again with less in one piece: write long content in several calls.", strings.Join(turn.Cut, ", ")))
	case turn.Stop == StopLength && !blank && l.truncated < 2:
		l.truncated++
		l.out.Quality.Nudges++
		return !l.note(ctx, "Your answer was cut off by the output limit. Go on exactly where it stopped, without repeating anything.")
	case turn.Stop == StopFiltered && blank:
		return l.end(NoOutput, "The provider's content filter withheld the answer. Saying it differently may help.")
	case blank && l.empty < 2:
		l.empty++
		l.out.Quality.Nudges++
		return !l.note(ctx, "Your last turn was empty. Answer the owner in words now, or call a tool.")
	case blank:
		why := "The model gave no answer, three times in a row."
		if turn.Stop == StopLength || len(turn.Cut) > 0 {
			why = "The model used up its output limit without giving an answer."
		}
		return l.end(NoOutput, why+" Send a message to try again; a different model or a smaller task may help.")
	}
	l.empty = 0
	// What the owner said meanwhile is answered now, not lost with the run.
	came, ok := l.steer(ctx)
	if !ok {
		return true
	}
	if came {
		return false
	}
	if turn.Stop == StopLength {
		return l.end(Completed, "The answer was cut off by the model's output limit.")
	}
	return l.end(Completed, "")
}

// ask asks the model for one turn and journals it. False: the run is over.
func (l *loop) ask(ctx context.Context, calls bool) (Turn, bool) {
	for {
		turn, err := l.stream(ctx, calls)
		if err == nil {
			l.shrunk = false
			return turn, true
		}
		var me *ModelError
		if errors.As(err, &me) && me.Kind == ErrOverflow && !l.shrunk {
			l.shrunk = true
			l.event(Event{Kind: Notice, Turn: l.turn, Text: "the conversation is longer than the model can read; shortening it"})
			smaller, ok := l.compact(ctx, overflowed)
			if !ok {
				return Turn{}, false
			}
			if smaller {
				continue
			}
		}
		l.fail(ctx, err)
		return Turn{}, false
	}
}

func (l *loop) stream(ctx context.Context, calls bool) (Turn, error) {
	l.event(Event{Kind: TurnStarted, Turn: l.turn})
	bounded, cancel := l.bounded(ctx)
	defer cancel()
	var partial strings.Builder
	req := Request{System: l.System, Messages: Paired(l.history), Tools: l.defs, NoCalls: !calls, MaxTokens: l.Budget.TurnTokens}
	turn, err := l.Model.Stream(bounded, req, func(d Delta) {
		if d.Text != "" {
			partial.WriteString(d.Text)
			l.event(Event{Kind: TextDelta, Turn: l.turn, Text: d.Text})
		}
		if d.Notice != "" {
			l.out.Quality.Retries++
			l.event(Event{Kind: Notice, Turn: l.turn, Text: d.Notice})
		}
	})
	l.account(turn.Usage)
	if err == nil && bounded.Err() != nil {
		err = context.Cause(bounded) // an adapter that took no notice: the person still wins
	}
	if err != nil {
		// What a person stopped, or time did, is kept as far as it came.
		cause := context.Cause(bounded)
		if text := partial.String(); isStop(cause) && strings.TrimSpace(text) != "" {
			kept := Turn{Text: text, Stop: StopCancelled, Usage: turn.Usage, Model: l.Model.Name()}
			if jerr := l.commit(context.WithoutCancel(ctx), &kept); jerr != nil {
				return Turn{}, jerr
			}
		}
		return Turn{}, err
	}
	l.meter.report(turn.Usage, req)
	if !calls {
		turn.Calls, turn.Cut = nil, nil // a server that takes no notice
	}
	return turn, l.commit(ctx, &turn)
}

// commit journals a turn: from here on it is a fact.
func (l *loop) commit(ctx context.Context, t *Turn) error {
	if err := l.Journal.Turn(ctx, l.turn, t); err != nil {
		return err
	}
	l.history = append(l.history, Message{Turn: l.turn, Role: Assistant, Author: ByModel, Text: t.Text, Calls: t.Calls, Reasoning: t.Reasoning})
	l.event(Event{Kind: TurnDone, Turn: l.turn, Text: t.Text})
	l.Log.Info("turn", "gen_ai.response.model", t.Model, "turn", l.turn, "gen_ai.usage.input_tokens", t.Usage.In, "gen_ai.usage.output_tokens", t.Usage.Out, "calls", len(t.Calls), "stop", t.Stop)
	l.turn++
	l.out.Turns++
	return nil
}

// note says something in our own voice, where the model hears it.
func (l *loop) note(ctx context.Context, text string) bool {
	if err := l.Journal.Note(ctx, l.turn, text); err != nil {
		l.fail(ctx, err)
		return false
	}
	l.history = append(l.history, Message{Turn: l.turn, Role: User, Author: ByHarness, Text: text})
	return true
}

// steer takes what the owner said since, and reports whether anything came.
func (l *loop) steer(ctx context.Context) (came, ok bool) {
	if ctx.Err() != nil {
		l.fail(ctx, context.Cause(ctx))
		return false, false
	}
	list, err := l.Journal.Steering(ctx, l.turn)
	if err != nil {
		l.fail(ctx, err)
		return false, false
	}
	for _, m := range list {
		l.look(&m)
		l.history = append(l.history, m)
		l.taint.Add(m.Marks...)
		if m.Author == ByThirdParty && len(m.Marks) == 0 {
			l.taint.Add(tools.Mark{Leg: tools.Untrusted, What: "a quoted message", Turn: l.turn})
		}
		l.hear(m)
	}
	if len(list) > 0 {
		l.event(Event{Kind: Notice, Turn: l.turn, Text: "your message was read"})
	}
	return len(list) > 0, true
}

// hear keeps words for the origin of destinations. Our own and the model's are
// nobody's.
func (l *loop) hear(m Message) {
	w := tools.Words{Text: m.Text, Call: m.CallID, Tool: m.Tool}
	switch {
	case m.Author == ByOwner:
		w.Origin = tools.FromOwner
	case m.Author == ByThirdParty, m.Author == ByTool && m.External && (!m.Private || l.taint.By(m.CallID)):
		w.Origin = tools.FromThirdParty
	case m.Author == ByTool && m.Private:
		w.Origin = tools.FromPrivate
	default:
		return
	}
	l.words = append(l.words, w)
}

// end sets the outcome; it reports true, so that settle can return it.
func (l *loop) end(c Cause, say string) bool {
	l.out.Cause, l.out.Say = c, say
	return true
}

// fail sets the outcome of an error, of whatever kind.
func (l *loop) fail(ctx context.Context, err error) {
	cause := context.Cause(ctx)
	var me *ModelError
	// An error that only says that the context ended is not a failure; one of
	// the record's while it ended is.
	ended := cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &me))
	switch {
	case errors.Is(err, ErrFenced):
		l.out.Cause, l.out.Err = Failed, ErrFenced // not another word
	case ended && errors.As(cause, new(StoppedBy)):
		l.end(Stopped, "")
	case ended:
		l.end(Shutdown, "")
	case errors.Is(err, errWall):
		l.end(OutOfTime, fmt.Sprintf("The time for this run (%s) is over; I stopped where I was.", l.Budget.Wall))
	case errors.As(err, &me):
		l.end(Failed, "I could not go on: "+me.Error()+".")
		l.out.Err = err
	default:
		l.end(Failed, "I could not go on: something of my own failed, and the log has the details. What was done so far is in the record.")
		l.out.Err = err
	}
	if l.out.Err != nil {
		l.Log.Error("run failed", "error", l.out.Err)
	}
}

// isStop tells a stop that keeps what came so far from a shutdown that asks
// again later.
func isStop(cause error) bool {
	return errors.As(cause, new(StoppedBy)) || errors.Is(cause, errWall)
}

// event shows a step. Tools report progress while others run, so one at a time.
func (l *loop) event(e Event) {
	l.sinkMu.Lock()
	defer l.sinkMu.Unlock()
	l.Sink.Event(e)
}

func addUsage(a, b Usage) Usage {
	u := Usage{In: a.In + b.In, Out: a.Out + b.Out, Cached: a.Cached + b.Cached, Cost: a.Cost}
	if b.Cost != nil {
		sum := *b.Cost
		if a.Cost != nil {
			sum += *a.Cost
		}
		u.Cost = &sum
	}
	return u
}

// unseen is a run that nobody watches.
type unseen struct{}

func (unseen) Event(Event) {}
func (unseen) Show(context.Context, string, []ShownFile) error {
	return errors.New("this run has no thread to show a file in")
}
