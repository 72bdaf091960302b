package triggers

import (
	"context"
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
