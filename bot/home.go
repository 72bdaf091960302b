package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// homeView is what a person's Home tab is made of: their own, by their role.
type homeView struct {
	Role     Role
	User     string
	Waiting  waiting
	Threads  []threads.Thread
	Places   map[string]int // of queued threads, from 1
	Triggers []homeTrigger
	Health   string
	Paused   bool
	Now      time.Time
}

// homeTrigger is a trigger with its next time and what became of its last.
type homeTrigger struct {
	triggers.Trigger
	Next time.Time
	Last *triggers.Fire
}

// Rows of the Home tab; what is beyond them is counted.
const (
	maxHomeThreads  = 12
	maxHomeTriggers = 15
)

// homeTab renders the tab. mint makes a token for every row that has buttons.
func homeTab(v homeView, mint func() string) (view json.RawMessage, tokens []threads.Token) {
	row := func(kind, ref string, choices ...string) *buttons {
		tokens = append(tokens, threads.Token{Token: mint(), Kind: kind, Ref: ref, View: viewHome, User: v.User, Choices: choices})
		return &buttons{kind: kind, token: tokens[len(tokens)-1].Token}
	}
	offer := func(b *buttons) blockkit.Block {
		for i := range tokens {
			if tokens[i].Token == b.token {
				tokens[i].Choices = append(b.verbs, tokens[i].Choices...)
			}
		}
		return b.block()
	}
	h := blockkit.HomeView{CallbackID: "home"}
	if v.Role != Owner && v.Role != Approver {
		h.Body = []blockkit.Block{para("This bot works for its owners. There is nothing here for you to decide.")}
		view, _ = h.JSON()
		return view, nil
	}
	title := "Nothing waits for you."
	if n := v.Waiting.things(); n > 0 {
		title = plural(n, "thing") + " for you to decide"
	}
	h.Head = []blockkit.Block{blockkit.Header(title)}
	if v.Paused {
		h.Head = append(h.Head, para("⚠ *Everything is paused*: no run begins, nothing is released."))
	}
	waits := row(kindWaits, "home")
	h.Body = waitingBlocks(v.Waiting, waits, false)
	offer(waits)
	if v.Role == Owner {
		h.Body = append(h.Body, homeThreads(v, row, offer)...)
		h.Body = append(h.Body, homeTriggers(v, row, offer)...)
	}
	all := row(kindAll, "")
	if v.Paused && v.Role == Owner {
		all.add("Resume", verbResume, blockkit.Primary)
	} else if !v.Paused {
		all.ask("Pause everything", verbPause, blockkit.Danger, &blockkit.Confirm{Title: "Pause everything?", Text: "Every run stops where it can go on later, and nothing is released until Resume.", Confirm: "Pause", Deny: "Back"})
	}
	h.Foot = []blockkit.Block{blockkit.Divider(), smallPlain(orWord(v.Health, "running")), offer(all)}
	view, _ = h.JSON()
	return view, tokens
}

type (
	newRow   func(kind, ref string, choices ...string) *buttons
	offerRow func(*buttons) blockkit.Block
)

func homeThreads(v homeView, row newRow, offer offerRow) []blockkit.Block {
	if len(v.Threads) == 0 {
		return nil
	}
	blocks := []blockkit.Block{blockkit.Divider(), para("*Threads*")}
	for i, t := range v.Threads {
		if i == maxHomeThreads {
			blocks = append(blocks, small("and %d more", len(v.Threads)-i))
			break
		}
		mark := map[threads.State]string{threads.Running: "▸", threads.Awaiting: "◌"}[t.State]
		words := string(t.State)
		if n := v.Places[t.Key]; n > 0 {
			words = fmt.Sprintf("number %d in the queue", n)
		}
		blocks = append(blocks, para("%s *%s*   %s · mode %s · %s", orWord(mark, "─"), quoted(orWord(t.Title, "a thread"), 80), words, t.Mode, age(v.Now.Sub(t.Updated))),
			small("resolved by: %s", quoted(t.State.Resolves(), 200)))
		b := row(kindThread, t.Key)
		b.add("Stop", verbStop, blockkit.Neutral)
		modeButtons(b, t.Mode)
		blocks = append(blocks, offer(b))
	}
	return blocks
}

func homeTriggers(v homeView, row newRow, offer offerRow) []blockkit.Block {
	if len(v.Triggers) == 0 {
		return nil
	}
	blocks := []blockkit.Block{blockkit.Divider(), para("*Triggers*")}
	for i, t := range v.Triggers {
		if i == maxHomeTriggers {
			blocks = append(blocks, small("and %d more", len(v.Triggers)-i))
			break
		}
		facts := []string{quoted(scheduleWords(t.Schedule), 80), quoted(t.Zone, 60)}
		switch {
		case t.State == "proposed":
			facts = append(facts, "◌ proposed; its card asks you")
		case t.State == "disabled":
			facts = append(facts, "disabled")
		case !t.Next.IsZero():
			facts = append(facts, "next "+day(t.Next))
		}
		if t.Last != nil {
			facts = append(facts, "last: "+lastWords(*t.Last))
		}
		blocks = append(blocks, para("*%s*   %s", quoted(t.Name, 70), strings.Join(facts, " · ")))
		if t.State == "proposed" || t.Kind == "digest" {
			continue
		}
		b := row(kindTrigger, t.Name)
		triggerButtons(t.Trigger, b)
		blocks = append(blocks, offer(b))
	}
	return blocks
}

func lastWords(f triggers.Fire) string {
	switch f.Status {
	case "error", "skipped":
		return f.Status + ", " + quoted(f.Reason, 80)
	}
	return f.Status + " " + day(f.Started)
}

// mark tells one state of the tab from another, ages aside.
func (v homeView) mark() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s;%v;%s;", v.Role, v.Paused, v.Waiting.mark())
	for _, t := range v.Threads {
		fmt.Fprintf(&b, "%s:%s:%s:%d;", t.Key, t.State, t.Mode, v.Places[t.Key])
	}
	for _, t := range v.Triggers {
		fmt.Fprintf(&b, "%s:%d:%d;", t.Name, t.Version, t.Next.Unix())
		if t.Last != nil {
			fmt.Fprintf(&b, "%d:%s;", t.Last.ID, t.Last.Status)
		}
	}
	return b.String()
}

// viewers are who has opened their tab lately, so that it follows the record.
type viewers struct {
	mu   sync.Mutex
	seen map[viewer]seen
}

type viewer struct{ team, user string }

// seen is when a person opened their tab, and what it showed last.
type seen struct {
	at   time.Time
	mark string
}

func (v *viewers) opened(w viewer, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = map[viewer]seen{}
	}
	v.seen[w] = seen{at: at}
}

// shows notes what a tab is about to show, and tells whether that is new.
func (v *viewers) shows(w viewer, mark string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.seen[w]
	if s.mark == mark {
		return false
	}
	s.mark = mark
	v.seen[w] = s
	return true
}

// since answers who has opened theirs after t, and forgets the others.
func (v *viewers) since(t time.Time) (list []viewer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for w, s := range v.seen {
		if s.at.Before(t) {
			delete(v.seen, w)
			continue
		}
		list = append(list, w)
	}
	return list
}

// home publishes a person's Home tab: it was opened, or pressed in.
func (b *Bot) home(ctx context.Context, team, user string) {
	w := viewer{team, user}
	b.viewers.opened(w, b.Now())
	b.showHome(ctx, w)
}

// seeOwners lets the tabs of those who drive this bot follow the record from the
// start: one that is open while the process begins anew would show what was.
func (b *Bot) seeOwners(ctx context.Context) {
	owners, err := b.people().Owners(ctx, b.me.Team)
	if err != nil {
		b.Log.Error("cannot read whose Home tabs to show", "error", err)
		return
	}
	for _, o := range owners {
		b.viewers.opened(viewer{o.Team, o.User}, b.Now())
	}
}

// followHomes shows those who have opened their tab lately what has changed.
func (b *Bot) followHomes(ctx context.Context) {
	for _, w := range b.viewers.since(b.Now().Add(-homeLife)) {
		b.showHome(ctx, w)
	}
}

func (b *Bot) showHome(ctx context.Context, w viewer) {
	d := b.desk()
	v, err := d.homeOf(ctx, w.team, w.user)
	if err == nil {
		if !b.viewers.shows(w, v.mark()) {
			return
		}
		if b.Health != nil {
			v.Health = b.Health()
		}
		view, tokens := homeTab(v, d.mint)
		for _, k := range tokens {
			if err == nil {
				err = b.Threads.PutToken(ctx, k)
			}
		}
		if err == nil {
			err = b.publishHome(ctx, w.user, view)
		}
	}
	if err != nil && ctx.Err() == nil {
		b.Log.Error("cannot show the Home tab", "user", w.user, "error", err)
	}
}

// homeOf reads what a person's tab shows.
func (d desk) homeOf(ctx context.Context, team, user string) (v homeView, err error) {
	v = homeView{User: user, Now: d.now(), Places: map[string]int{}}
	if v.Role, err = d.slack.role(ctx, team, user); err != nil || v.Role != Owner && v.Role != Approver {
		return v, err
	}
	if v.Paused, err = d.threads.Paused(ctx); err != nil {
		return v, err
	}
	if v.Waiting, err = d.waiting(ctx, team, user, v.Now); err != nil || v.Role != Owner {
		return v, err
	}
	live, err := d.threads.Live(ctx)
	if err != nil {
		return v, err
	}
	for _, t := range live {
		if t.Team == team {
			v.Threads = append(v.Threads, t)
			v.Places[t.Key] = d.threads.QueuePlace(t.Key)
		}
	}
	if d.triggers == nil {
		return v, nil
	}
	list, err := d.triggers.List(ctx)
	if err != nil {
		return v, err
	}
	for _, t := range list {
		h := homeTrigger{Trigger: t}
		if t.State == "enabled" {
			if next := d.triggers.Next(t, 1, v.Now); len(next) > 0 {
				h.Next = next[0]
			}
		}
		fires, err := d.triggers.Runs(ctx, t.Name, time.Time{}, 1)
		if err != nil {
			return v, err
		}
		if len(fires) > 0 {
			h.Last = &fires[0]
		}
		v.Triggers = append(v.Triggers, h)
	}
	return v, nil
}
