package triggers

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Runner runs what is due. cmd joins it to the sessions.
type Runner interface {
	// Run runs the trigger's prompt to its end. A cancelled ctx stops it at a
	// safe point; what it has said is kept.
	Run(ctx context.Context, t Trigger, f Fire) (Result, error)
}

// Result is what a run came to.
type Result struct {
	Thread, Run                               string
	Turns, Calls, CallErrors, Staged, Blocked int
	StopCause                                 string
	Silent                                    bool
	Summary                                   string
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
	Now    func() time.Time
	Log    *slog.Logger
}

// Triggers holds every trigger and its ledger.
type Triggers struct {
	Deps
	cfg Config
	db  *record.DB

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by trigger, in this process
	wg      sync.WaitGroup
	late    chan struct{} // one catch-up at a time
	edited  chan struct{}
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
	if cfg.MaxMisses == 0 {
		cfg.MaxMisses = 10_000
	}
	return &Triggers{Deps: d, cfg: cfg, db: db, running: map[string]context.CancelCauseFunc{}, late: make(chan struct{}, 1), edited: make(chan struct{}, 1)}
}

// Who acts, for the audit trail.
type Who struct{ Team, User, Surface string }

func act(tx *record.Tx, w Who, verb, name, outcome string) error {
	_, err := tx.Exec(qActionInsert, tx.NowMS(), w.Team, w.User, w.Surface, verb, name, outcome)
	return err
}

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
	if err := tr.Validate(); err != nil {
		return tr, err
	}
	tr.State, tr.By = state, w.User
	err := t.db.Write(ctx, func(tx *record.Tx) (err error) {
		if tr, err = t.AddTx(tx, w, tr); err != nil {
			return err
		}
		return nil
	})
	t.nudge()
	return tr, err
}

// AddTx is Add or Propose inside a transaction of the caller's (a proposal and
// its card are one commit). tr is valid and has its State.
func (t *Triggers) AddTx(tx *record.Tx, w Who, tr Trigger) (Trigger, error) {
	old, err := get(tx, tr.Name)
	if err == nil {
		return tr, fmt.Errorf("there is a trigger %s already (%s, %s); choose another name, or edit it", tr.Name, old.Schedule, old.State)
	}
	tr.Accounted, tr.Created = tx.Now(), tx.Now()
	if err := put(tx, tr); err != nil {
		return tr, fmt.Errorf("cannot keep trigger %s: %w", tr.Name, err)
	}
	return tr, act(tx, w, tr.State, tr.Name, "done")
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
		all, err := record.Collect(tx, scanTrigger, qTriggerList)
		list = make([]Trigger, 0, len(all))
		for _, tr := range all {
			if tr.State != "deleted" {
				list = append(list, tr)
			}
		}
		return err
	})
	return list, err
}

// Edit changes a trigger; the next slot counts from now, so that no edit skips
// or repeats one. A prompt that a person retyped is the owner's own: its taint
// is gone.
func (t *Triggers) Edit(ctx context.Context, w Who, name string, change func(*Trigger)) (tr Trigger, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		if tr, err = get(tx, name); err != nil {
			return err
		}
		was := tr.Prompt
		change(&tr)
		tr.Name = name
		if tr.Prompt != was {
			tr.Private, tr.Untrusted, tr.Sources = false, false, nil
		}
		if err := tr.Validate(); err != nil {
			return err
		}
		tr.Accounted = tx.Now()
		if err := put(tx, tr); err != nil {
			return err
		}
		return act(tx, w, "edit", name, "done")
	})
	t.nudge()
	return tr, err
}

// SetState enables, disables, accepts (enabled) or deletes a trigger. fresh is
// false where it was in that state already.
func (t *Triggers) SetState(ctx context.Context, w Who, name, state string) (tr Trigger, fresh bool, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		if tr, err = get(tx, name); err != nil {
			return err
		}
		if fresh = tr.State != state; !fresh {
			return act(tx, w, state, name, "already "+state)
		}
		if _, err := tx.Exec(qTriggerState, state, w.User, tx.NowMS(), tx.NowMS(), name); err != nil {
			return err
		}
		tr.State, tr.By = state, w.User
		return act(tx, w, state, name, "done")
	})
	t.nudge()
	return tr, fresh, err
}

// Next answers a trigger's next n times after from.
func (t *Triggers) Next(tr Trigger, n int, from time.Time) []time.Time {
	list, err := NextOf(tr.Schedule, tr.Zone, n, from)
	if err != nil {
		return nil
	}
	return list
}

// Runs answers rows of the ledger, newest first; name narrows it.
func (t *Triggers) Runs(ctx context.Context, name string, since time.Time, limit int) (list []Fire, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		if name != "" {
			list, err = record.Collect(tx, scanFire, qFiresOf, name, limit)
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
func (t *Triggers) EnsureDigest(ctx context.Context, schedule, zone string) error {
	tr := Trigger{Name: "digest", Kind: "digest", Schedule: schedule, Zone: zone, State: "enabled", By: "config"}
	if err := tr.Validate(); err != nil {
		return fmt.Errorf("[digest]: %w", err)
	}
	return t.db.Write(ctx, func(tx *record.Tx) error {
		old, err := get(tx, "digest")
		if err == nil && old.Schedule == schedule && old.Zone == zone {
			return nil
		}
		tr.Accounted = tx.Now()
		if err == nil {
			tr.State = old.State
		}
		return put(tx, tr)
	})
}
