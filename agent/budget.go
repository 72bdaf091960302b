package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

var errWall = errors.New("the time for this run is over")

// spent tells which budget is used up, and says so.
func (l *loop) spent() (Cause, string) {
	b, u := l.Budget, l.out.Usage
	switch {
	case l.guard.stuck():
		return Looping, "the same call gave the same answer again and again"
	case l.out.Turns >= b.Turns:
		return MaxTurns, fmt.Sprintf("this run may take %d turns and has taken them", b.Turns)
	case b.OutputTokens > 0 && u.Out >= b.OutputTokens:
		return OutOfTokens, fmt.Sprintf("this run may write %d tokens and has written %d", b.OutputTokens, u.Out)
	case b.Cost > 0 && u.Cost != nil && *u.Cost >= b.Cost:
		return OutOfMoney, fmt.Sprintf("this run may cost $%.2f and has cost $%.2f", b.Cost, *u.Cost)
	case b.Wall > 0 && l.elapsed() >= b.Wall:
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
	return context.WithTimeoutCause(ctx, max(l.Budget.Wall-l.elapsed(), time.Minute), errWall)
}

// lastWord gives the model one turn without tools to say where things stand.
func (l *loop) lastWord(ctx context.Context, cause Cause, why string) {
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
