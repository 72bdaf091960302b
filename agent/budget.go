package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

var errWall = errors.New("the time for this run is over")

// spent tells which budget is used up, and says so.
func (l *loop) spent(ctx context.Context) (Cause, string) {
	if l.guard.stuck() {
		return Looping, "the same call gave the same answer again and again"
	}
	if cause, why := l.Budget.over(Used{l.Before.Turns + l.out.Turns, addUsage(l.Before.Usage, l.used()), l.Before.Wall + l.elapsed()}); cause != "" {
		return cause, why
	}
	if l.Ceiling != nil {
		return l.Ceiling(ctx)
	}
	return "", ""
}

// used is what the run and its helpers have used.
func (l *loop) used() Usage {
	l.helped.mu.Lock()
	defer l.helped.mu.Unlock()
	return addUsage(l.out.Usage, l.helped.usage)
}

// account adds one answer's usage, at once and for whoever pays for it.
func (l *loop) account(u Usage) {
	l.out.Usage = addUsage(l.out.Usage, u)
	if l.spend != nil {
		l.spend(u)
	}
}

// helped is what a run's helpers have used: they report while they run.
type helped struct {
	mu    sync.Mutex
	usage Usage
}

func (h *helped) add(u Usage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.usage = addUsage(h.usage, u)
}

// over tells which part of a run's budget is used up.
func (b Budget) over(x Used) (Cause, string) {
	u := x.Usage
	switch {
	case b.Turns > 0 && x.Turns >= b.Turns:
		return MaxTurns, fmt.Sprintf("this run may take %d turns and has taken them", b.Turns)
	case b.OutputTokens > 0 && u.Out >= b.OutputTokens:
		return OutOfTokens, fmt.Sprintf("this run may write %d tokens and has written %d", b.OutputTokens, u.Out)
	case b.Cost > 0 && u.Cost != nil && *u.Cost >= b.Cost:
		return OutOfMoney, fmt.Sprintf("this run may cost $%.2f and has cost $%.2f", b.Cost, *u.Cost)
	case b.Wall > 0 && x.Wall >= b.Wall:
		return OutOfTime, fmt.Sprintf("this run may take %s, waiting for people excepted", b.Wall)
	}
	return "", ""
}

// elapsed is the run's own time.
func (l *loop) elapsed() time.Duration { return l.Now().Sub(l.started) - l.waited }

// bounded ends with the run's time. The last turn still gets a minute.
func (l *loop) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.Budget.Wall <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, max(l.Budget.Wall-l.Before.Wall-l.elapsed(), time.Minute), errWall)
}

// lastWord gives the model one turn without tools to say where things stand.
func (l *loop) lastWord(ctx context.Context, cause Cause, why string) {
	if l.out.Turns == 0 && l.Before.Turns == 0 {
		// Nothing was done that a last turn could tell of.
		l.end(cause, fmt.Sprintf("I have not begun: %s. Your message is kept; write again when there is room, or change the limit in config.toml.", why))
		return
	}
	if !l.note(ctx, fmt.Sprintf("No more tools in this run: %s. Answer the owner now: what is done, what is not, and what you would do next.", why)) {
		return
	}
	turn, ok := l.ask(ctx, false)
	if !ok {
		if l.out.Cause == Failed && l.out.Err != nil && !errors.Is(l.out.Err, ErrFenced) {
			l.end(cause, fmt.Sprintf("I stopped: %s. There was no last answer: %s.", why, l.out.Err))
		}
		return
	}
	say := ""
	if strings.TrimSpace(turn.Text) == "" {
		say = fmt.Sprintf("I stopped: %s. Send a message to go on.", why)
	}
	l.end(cause, say)
}

// repeats notices a run that asks the same and hears the same, over and over.
type repeats struct {
	last  string
	times int
}

const (
	repeatNotice = 3
	repeatEnd    = 6
)

// saw takes one turn's calls and answers. It reports whether to say something.
func (r *repeats) saw(round string) (notice bool) {
	if round != r.last {
		r.last, r.times = round, 1
		return false
	}
	r.times++
	return r.times == repeatNotice
}

func (r *repeats) stuck() bool { return r.times >= repeatEnd }
