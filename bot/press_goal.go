package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/threads"
)

// goal decides a goal's card.
func (d desk) goal(ctx context.Context, p presser, k threads.Token, verb string) {
	g, err := d.threads.Goal(ctx, k.Ref)
	switch {
	case err != nil:
		d.failed(ctx, p, err)
		return
	case p.role != Owner || !strings.HasPrefix(g.Thread, p.Team+"/"):
		d.refuse(ctx, p, "goal", k.Ref, verb, "not theirs", "Only an owner says what a conversation is for.")
		return
	}
	g, fresh, err := d.threads.DecideGoal(ctx, p.who(), k.Ref, verb == verbAccept)
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.redraw(ctx, threads.PostGoal, k.Ref)
	if !fresh {
		d.slack.tell(ctx, p.Press, "Already decided: the goal is "+g.State+".")
	}
}

// planning enters or leaves a thread's planning phase.
func (d desk) planning(ctx context.Context, p presser, k threads.Token, verb string) {
	if p.role != Owner || !strings.HasPrefix(k.Ref, p.Team+"/") {
		d.refuse(ctx, p, "thread", k.Ref, verb, "not theirs", "Only an owner says when planning is over.")
		return
	}
	var err error
	switch verb {
	case verbCarryOut:
		err = d.threads.CarryOut(ctx, p.who(), k.Ref)
	default:
		err = d.threads.SetPlanning(ctx, p.who(), k.Ref, verb == verbPlanFirst)
	}
	if errors.Is(err, threads.ErrNotPlanning) {
		d.slack.tell(ctx, p.Press, "Planning is over in this thread already. Nothing has happened.")
	} else if err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.afterHome(ctx, p, k)
}

// newest is the owner's newest thread in the channel that a command was typed in,
// else their newest anywhere: a command stands in no thread.
func (d desk) newest(ctx context.Context, p presser) (found threads.Thread, ok bool, err error) {
	list, err := d.threads.List(ctx, 200)
	for _, th := range list {
		if th.Team != p.Team || th.Owner != p.User || th.Kind != "chat" {
			continue
		}
		if th.Surface.Channel == p.Channel {
			return th, true, err
		}
		if !ok {
			found, ok = th, true
		}
	}
	return found, ok, err
}

// orderGoal proposes a goal by /mecha goal, or tells the one that counts.
func (d desk) orderGoal(ctx context.Context, p presser, text string) {
	th, ok := d.ordered(ctx, p, "goal")
	if !ok {
		return
	}
	about := fmt.Sprintf("“%s”", quoted(orWord(th.Title, "a thread"), 80))
	if text == "" {
		g, set, err := d.threads.ActiveGoal(ctx, th.Key)
		switch {
		case err != nil:
			d.failed(ctx, p, err)
		case set:
			d.slack.tell(ctx, p.Press, "The goal of "+about+": "+quoted(g.Text, 2000))
		default:
			d.slack.tell(ctx, p.Press, "No goal is accepted for "+about+". `/mecha goal …` proposes one.")
		}
		return
	}
	if _, err := d.threads.ProposeGoal(ctx, th.Key, text, p.User, th.Taint); err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.slack.kick()
	d.slack.tell(ctx, p.Press, "Proposed for "+about+": accept it on the card there.")
}

// orderPlan begins the planning phase by /mecha plan.
func (d desk) orderPlan(ctx context.Context, p presser) {
	th, ok := d.ordered(ctx, p, "plan")
	if !ok {
		return
	}
	about := fmt.Sprintf("“%s”", quoted(orWord(th.Title, "a thread"), 80))
	if err := d.threads.SetPlanning(ctx, p.who(), th.Key, true); err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.slack.kick()
	d.slack.tell(ctx, p.Press, "From the next message on, "+about+" only looks and plans: `Carry out` below the plan ends that.")
}

// ordered finds the thread that an owner's command is about, and answers where
// there is none.
func (d desk) ordered(ctx context.Context, p presser, verb string) (threads.Thread, bool) {
	if p.role != Owner {
		d.refuse(ctx, p, "thread", verb, verb, "no owner", "This is not yours to use: only an owner says what a conversation is for.")
		return threads.Thread{}, false
	}
	th, ok, err := d.newest(ctx, p)
	if err != nil {
		d.failed(ctx, p, err)
		return th, false
	}
	if !ok {
		d.slack.tell(ctx, p.Press, "You have no thread with me yet: write to me, or use `/mecha new …`, then say this again.")
	}
	return th, ok
}
