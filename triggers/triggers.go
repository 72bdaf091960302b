package triggers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Triggers holds every trigger and its ledger.
type Triggers struct {
	Deps
	cfg  Config
	db   *record.DB
	plan plan

	ticking sync.Mutex // one tick at a time
	swept   time.Time  // when the ledger last lost its old rows; the loop's own

	mu      sync.Mutex
	life    context.Context    // of Run, while it runs: what it starts ends with it
	closing bool               // Run has ended: nothing is started any more
	running map[string]*flight // by trigger, in this process
	wg      sync.WaitGroup

	turn   chan struct{} // one catch-up at a time
	edited chan struct{}
}

// Runner runs what is due. cmd joins it to the sessions.
type Runner interface {
	// Run runs the trigger's prompt to its end. When ctx ends it stops at a
	// safe point and answers what it came to (thread, run, the partial answer)
	// together with the context's cause. It is called once a fire, never again
	// after an error. It may call Began as soon as it knows the thread. The
	// answer goes to t.Channel, the owner's DM where that is empty (always, for a
	// trigger that a message caused); f.Text is then that message, a stranger's
	// words.
	Run(ctx context.Context, t Trigger, f Fire) (Result, error)
}

// Result is what a run came to.
type Result struct {
	Thread, Run                               string
	Turns, Calls, CallErrors, Staged, Blocked int
	StopCause                                 string // agent's word: completed, max_turns, timeout, …
	Silent                                    bool   // there is nothing to say: a field, not a magic word
	Summary                                   string // the answer's first words, for the ledger
	Answer                                    string // the whole answer, for notify
	Workspace                                 string // the run's directory, in which notify runs
	Failed                                    string // why it counts as an error; "" = it does not
	NotifyError                               string
}

// Deps of the room.
type Deps struct {
	Runner Runner
	// Digest sends the morning digest; quiet when nothing waits.
	Digest func(context.Context) error
	// Paused: everything is; nil: never.
	Paused func(context.Context) (bool, error)
	// Spent says why no more may run today ("the day's 5 USD are spent"); ""
	// or nil: more may.
	Spent func(context.Context) (string, error)
	// Now is the wall clock; the record's transactions bring their own.
	Now func() time.Time
	Log *slog.Logger
}

// Config of the room.
type Config struct {
	Grace     time.Duration // a slot this late still counts as on time; 2 min
	StopGrace time.Duration // how long after its timeout a run may take to stop by itself; 1 min
	MaxMisses int           // of one outage, noted one by one; older ones share a row; 1,500 (a day of minutes is 1,440)
	MaxHeard  int           // runs an hour of one message trigger; 6

	MaxProposed           int // proposals that wait for a person; 20
	KeepRuns, KeepSkipped int // rows of the ledger a trigger; 10,000 and 2,000
}

// New opens the room over the record.
func New(db *record.DB, cfg Config, d Deps) *Triggers {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Minute
	}
	if cfg.StopGrace == 0 {
		cfg.StopGrace = time.Minute
	}
	if cfg.MaxMisses == 0 {
		cfg.MaxMisses = 1500
	}
	if cfg.MaxHeard == 0 {
		cfg.MaxHeard = 6
	}
	if cfg.MaxProposed == 0 {
		cfg.MaxProposed = 20
	}
	if cfg.KeepRuns == 0 {
		cfg.KeepRuns = keepRuns
	}
	if cfg.KeepSkipped == 0 {
		cfg.KeepSkipped = keepSkipped
	}
	t := &Triggers{Deps: d, cfg: cfg, db: db, running: map[string]*flight{}, turn: make(chan struct{}, 1), edited: make(chan struct{}, 1)}
	t.plan.begin()
	return t
}

// Who acts, for the audit trail.
type Who struct{ Team, User, Surface string }

// Add makes a trigger, enabled, due from now on. A name that is taken is an
// error.
func (t *Triggers) Add(ctx context.Context, w Who, tr Trigger) (Trigger, error) {
	return t.add(ctx, w, tr, "enabled")
}

// Propose keeps a trigger that a conversation asks for, until a person accepts
// it. It keeps that conversation's taint.
func (t *Triggers) Propose(ctx context.Context, w Who, tr Trigger) (Trigger, error) {
	return t.add(ctx, w, tr, "proposed")
}

func (t *Triggers) add(ctx context.Context, w Who, tr Trigger, state string) (Trigger, error) {
	tr.State, tr.By = state, w.User
	err := t.db.Write(ctx, func(tx *record.Tx) (err error) {
		tr, err = t.AddTx(tx, w, tr)
		return err
	})
	if err == nil {
		t.nudge()
	}
	return tr, err
}

// AddTx is Add or Propose inside a transaction of the caller's (a proposal and
// its card are one commit). tr has its State and By.
func (t *Triggers) AddTx(tx *record.Tx, w Who, tr Trigger) (Trigger, error) {
	if err := tr.Validate(); err != nil {
		return tr, err
	}
	if tr.State == "proposed" && (tr.Mode != "read-only" || len(tr.Tools) > 0 || tr.Notify != "" || tr.MaxTurns != 0 || tr.MaxOutputTokens != 0 || tr.MaxCost != 0) {
		return tr, errors.New("a proposal sets name, schedule, zone, prompt and channel only; the rest is set at the terminal (mecha-slack trigger edit)")
	}
	switch old, err := get(tx, tr.Name); {
	case err == nil:
		return tr, fmt.Errorf("there is a trigger %s already (%s, %s); choose another name, or edit it", tr.Name, old.cause(), old.State)
	case !errors.Is(err, ErrNotFound):
		return tr, err
	}
	if tr.State == "proposed" {
		// A conversation can ask for any number; a person reads each.
		var waiting int
		if err := tx.Row(qProposedCount, nil, &waiting); err != nil {
			return tr, fmt.Errorf("cannot count the proposed triggers: %w", err)
		}
		if waiting >= t.cfg.MaxProposed {
			return tr, fmt.Errorf("%d proposed triggers wait for a person already; accept or delete some (mecha-slack trigger list), then propose this one again", waiting)
		}
	}
	tr.Accounted, tr.Created, tr.Updated = tx.Now(), tx.Now(), tx.Now()
	if err := put(tx, tr); err != nil {
		return tr, err
	}
	return tr, act(tx, w, tr.State, tr.Name, "done")
}

// cause is what makes a trigger run, in a word or two.
func (t Trigger) cause() string {
	if t.OnEvent == OnMessage {
		return "on messages in " + t.Channel
	}
	return t.Schedule
}

// Get answers one trigger.
func (t *Triggers) Get(ctx context.Context, name string) (tr Trigger, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		tr, err = get(tx, name)
		return err
	})
	return tr, err
}

// List answers all triggers by name, proposals and disabled ones included.
func (t *Triggers) List(ctx context.Context) (list []Trigger, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanTrigger, qTriggerList)
		return err
	})
	return slices.DeleteFunc(list, func(tr Trigger) bool { return tr.State == "deleted" }), err
}

// Edit changes a trigger. A new schedule counts from now, so that no edit skips
// or repeats a slot: what was due by the old one and has not run yet is noted
// as skipped. A prompt that a person retyped is the owner's own: its taint is
// gone.
func (t *Triggers) Edit(ctx context.Context, w Who, name string, change func(*Trigger)) (tr Trigger, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		was, err := get(tx, name)
		if err != nil {
			return err
		}
		tr = was
		change(&tr)
		// What is not a person's to edit.
		tr.Name, tr.Kind, tr.State, tr.By, tr.Accounted, tr.Created, tr.Version = was.Name, was.Kind, was.State, was.By, was.Accounted, was.Created, was.Version
		tr.Private, tr.Untrusted, tr.Sources, tr.ProposedIn = was.Private, was.Untrusted, was.Sources, was.ProposedIn
		if tr.Prompt != was.Prompt {
			tr.Private, tr.Untrusted, tr.Sources, tr.ProposedIn = false, false, nil, ""
		}
		if err := tr.Validate(); err != nil {
			return err
		}
		retimed := tr.Schedule != was.Schedule || tr.Zone != was.Zone || tr.OnEvent != was.OnEvent
		if retimed && tr.Kind == kindDigest {
			return errors.New("the digest's time is configured: set schedule and timezone in [digest]")
		}
		if retimed {
			reason := "stale: its schedule was changed"
			if was.State == "disabled" {
				reason = "disabled"
			}
			if err := t.settleSlots(tx, was, reason); err != nil {
				return err
			}
			tr.Accounted = later(was.Accounted, tx.Now())
		}
		if err := put(tx, tr); err != nil {
			return err
		}
		tr.Version, tr.Updated = was.Version+1, tx.Now()
		return act(tx, w, "edit", name, "done")
	})
	if err == nil {
		t.nudge()
	}
	return tr, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// SetState enables, disables, accepts (enabled) or deletes a trigger. fresh is
// false where it was in that state already. Its ledger stays.
func (t *Triggers) SetState(ctx context.Context, w Who, name, state string) (tr Trigger, fresh bool, err error) {
	if !slices.Contains([]string{"enabled", "disabled", "deleted"}, state) {
		return tr, false, fmt.Errorf("a trigger is enabled, disabled or deleted, not %q", state)
	}
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		if tr, err = get(tx, name); err != nil {
			return err
		}
		if fresh = tr.State != state; !fresh {
			return act(tx, w, state, name, "already "+state)
		}
		if tr.Kind == kindDigest && state == "deleted" {
			return errors.New("the digest is built in: disable it instead")
		}
		if state == "enabled" {
			if err := tr.Validate(); err != nil {
				return fmt.Errorf("trigger %s cannot be enabled: %w", name, err)
			}
		}
		// A proposal has no slots yet.
		if reason := map[string]string{"enabled": "stale: it was " + state + " before this slot could run", "disabled": "disabled"}[tr.State]; reason != "" {
			if err := t.settleSlots(tx, tr, reason); err != nil {
				return err
			}
		}
		by := w.User
		if tr.Kind == kindDigest {
			by = tr.By
		}
		if _, err := tx.Exec(qTriggerState, state, by, tx.NowMS(), tx.NowMS(), name); err != nil {
			return fmt.Errorf("cannot make trigger %s %s: %w", name, state, err)
		}
		tr.State, tr.By, tr.Version, tr.Updated = state, by, tr.Version+1, tx.Now()
		tr.Accounted = later(tr.Accounted, tx.Now())
		return act(tx, w, state, name, "done")
	})
	if err == nil {
		t.nudge()
	}
	return tr, fresh && err == nil, err
}

// Next answers a trigger's next n times after from; none where a message causes
// it.
func (t *Triggers) Next(tr Trigger, n int, from time.Time) []time.Time {
	if tr.OnEvent != "" {
		return nil
	}
	c, err := t.plan.get(tr.Schedule, tr.Zone)
	if err != nil {
		return nil
	}
	return c.upcoming(n, from)
}

// Upcoming answers when each enabled trigger is next due after from, by name.
func (t *Triggers) Upcoming(ctx context.Context, from time.Time) (map[string]time.Time, error) {
	if err := t.refresh(ctx); err != nil {
		return nil, err
	}
	t.plan.mu.Lock()
	defer t.plan.mu.Unlock()
	next := make(map[string]time.Time, len(t.plan.entries))
	for name, e := range t.plan.entries {
		if e.state != "enabled" || e.calendar == nil {
			continue
		}
		at := e.next // the first after accounted: also the first after from, where that lies between
		if e.index < 0 || from.Before(e.accounted) || !from.Before(at) {
			at = e.calendar.Next(from)
		}
		if !at.IsZero() {
			next[name] = at
		}
	}
	return next, nil
}

// Runs answers rows of the ledger that began since, newest first; name narrows
// it.
func (t *Triggers) Runs(ctx context.Context, name string, since time.Time, limit int) (list []Fire, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		if name != "" {
			list, err = record.Collect(tx, scanFire, qFiresOf, name, record.MS(since), limit)
		} else {
			list, err = record.Collect(tx, scanFire, qFiresSince, record.MS(since), limit)
		}
		return err
	})
	return list, err
}

func (t *Triggers) nudge() {
	select {
	case t.edited <- struct{}{}:
	default:
	}
}

// EnsureDigest keeps the built-in digest trigger at the configured schedule.
// Disabled, it stays so. Where a person's trigger has its name from before that
// was reserved, that one is left alone, and the built-in is called
// built-in-digest.
func (t *Triggers) EnsureDigest(ctx context.Context, schedule, zone string) error {
	tr := Trigger{Name: digestName, Kind: kindDigest, Schedule: schedule, Zone: zone, State: "enabled", By: "config"}
	if err := tr.Validate(); err != nil {
		return fmt.Errorf("[digest]: %w", err)
	}
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		for _, name := range []string{digestName, "built-in-digest"} {
			tr.Name, tr.Accounted, tr.Created = name, tx.Now(), tx.Now()
			old, err := get(tx, name)
			switch {
			case errors.Is(err, ErrNotFound):
				return put(tx, tr)
			case err != nil:
				return err
			case old.Kind != kindDigest:
				continue
			case old.Schedule == schedule && old.Zone == zone:
				return nil
			}
			reason := "stale: its schedule was changed"
			if old.State == "disabled" {
				reason = "disabled"
			}
			if err := t.settleSlots(tx, old, reason); err != nil {
				return err
			}
			old.Schedule, old.Zone, old.Accounted = schedule, zone, later(old.Accounted, tx.Now())
			return put(tx, old)
		}
		return errors.New("[digest]: triggers called digest and built-in-digest are in its place: rename one")
	})
	if err == nil {
		t.nudge()
	}
	return err
}

// line makes what others wrote fit for one line of the ledger and of a log.
func line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	cut := most - len("…")
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
