package threads

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

// Deps are what the sessions need of the outside. cmd wires them.
type Deps struct {
	DB     *record.DB
	Outbox *outbox.Outbox
	// Work is the directory that holds every thread's workspace, Spill the one
	// for results that were too long (beside the workspaces, under the home).
	Work, Spill string
	// Model answers for a thread; it may change between runs.
	Model func(Thread) (agent.Model, error)
	// Surface is what a run of the thread gets. only narrows it (a trigger's
	// tools); empty: everything.
	Surface func(t Thread, only []string) (*tools.Registry, error)
	// System is the system prompt: the same bytes from run to run.
	System   func(Thread) string
	Security tools.Security
	Hooks    agent.ToolHook // nil: none
	Rules    agent.Rules    // nil: none
	// Sink shows a run: bot's. nil: nobody watches.
	Sink func(t Thread, run RunInfo, post Post) agent.Sink
	// Fetch answers the bytes of a file that a message brought; bot's. nil:
	// files are named, not fetched.
	Fetch func(ctx context.Context, f InFile) ([]byte, error)
	// Zone is the owner's, for the clock that a run is told; nil: UTC.
	Zone func(Thread) *time.Location
	// Uptime is how long bot has been connected in all, for the approval
	// timeout; nil: always.
	Uptime func() time.Duration
	// Queued tells that a thread waits to run, and its place. nil: nobody is told.
	Queued func(thread string, place int)
	// Sleep ends what a workspace's children hold (per-thread MCP servers).
	Sleep func(workspace string)
	// Unseen files: reading one arms untrusted whatever the tool declares.
	Now   func() time.Time
	NewID func() string
	Log   *slog.Logger
}

// Threads holds every session. Run drives it; the other methods may be called
// from any goroutine, before and while it runs.
type Threads struct {
	Deps
	cfg    Config
	db     *record.DB
	queue  queue
	forms  forms
	floors floors

	mu      sync.Mutex
	actors  map[string]*actor
	asks    map[string]chan struct{} // calls that wait for a person, by id
	running context.Context          // of Run; nil before
	wg      sync.WaitGroup
}

// New makes the room; nothing runs yet.
func New(cfg Config, d Deps) *Threads {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.NewID == nil {
		d.NewID = newID
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	cfg = cfg.WithDefaults()
	t := &Threads{Deps: d, cfg: cfg, db: d.DB, actors: map[string]*actor{}, asks: map[string]chan struct{}{}}
	t.queue.max = cfg.MaxConcurrent
	t.queue.moved = func(key string, place int) {
		if t.Queued != nil {
			t.Queued(key, place)
		}
	}
	return t
}

// newID is 80 random bits in letters and digits that survive being read aloud.
func newID() string {
	var b [10]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// Run takes up what an earlier process left, answers what is queued and what
// arrives, until ctx ends; then every run stops where its journal can go on,
// and Run returns when all have. Only the holder of the home's lock runs it.
func (t *Threads) Run(ctx context.Context) error {
	t.mu.Lock()
	t.running = ctx
	t.mu.Unlock()
	keys, err := t.recover(ctx)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot take up the threads of the last run: %w", err)
	}
	for _, k := range keys {
		t.wake(k)
	}
	t.wg.Go(func() { t.tidy(ctx) })
	t.wg.Go(func() { t.follow(ctx) })
	<-ctx.Done()
	t.mu.Lock()
	t.running = nil
	t.mu.Unlock()
	t.wg.Wait()
	return nil
}

// recover settles what the last process left half done, and answers the
// threads that have something to do. Runs that were under way are interrupted
// until their actor takes them up.
func (t *Threads) recover(ctx context.Context) ([]string, error) {
	keys := map[string]bool{}
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		live, err := record.Collect(tx, scanThread, qThreadsLive)
		if err != nil {
			return err
		}
		for _, th := range live {
			if _, err := move(tx, th.Key, evCrash, ""); err != nil {
				return err
			}
			keys[th.Key] = true
		}
		if err := orphanForms(tx); err != nil {
			return err
		}
		queued, err := record.Collect(tx, scanString, qInboxWaiting)
		for _, k := range queued {
			keys[k] = true
		}
		return err
	})
	list := make([]string, 0, len(keys))
	for k := range keys {
		list = append(list, k)
	}
	return list, err
}

func scanString(r record.Scanner) (s string, err error) {
	err = r.Scan(&s)
	return s, err
}

// wake makes sure that the thread's actor runs and looks at its mailbox.
func (t *Threads) wake(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil || t.running.Err() != nil {
		return
	}
	a := t.actors[key]
	if a == nil {
		a = newActor(t, key)
		t.actors[key] = a
		ctx := t.running
		t.wg.Go(func() { a.live(ctx) })
	}
	a.nudge()
}

// retire takes an idle actor out, unless its mailbox was nudged meanwhile.
func (t *Threads) retire(a *actor) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-a.mail:
		a.nudge()
		return false
	default:
	}
	delete(t.actors, a.key)
	return true
}

func (t *Threads) actor(key string) *actor {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.actors[key]
}

// Receive commits an owner's message. When it returns nil the message is on
// disk and may be acknowledged; a message that was known already is a
// Duplicate, whatever event told of it. The thread's actor is woken.
func (t *Threads) Receive(ctx context.Context, in Incoming) (Received, error) {
	ex, err := in.extra()
	if err != nil {
		return Received{}, fmt.Errorf("cannot note what message %s brings: %w", in.TS, err)
	}
	var out Received
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		out = Received{At: tx.Now()}
		if in.Event != "" {
			n, err := tx.Exec(qEventInsert, in.App, in.Team, in.Event, tx.NowMS())
			if err != nil {
				return err
			}
			if n == 0 {
				out.Duplicate = true
				return nil
			}
		}
		root := in.ThreadTS
		if root == "" {
			root = in.TS
		}
		key := Key(in.Team, in.Channel, in.ThreadTS, in.TS)
		alias, err := record.Collect(tx, scanString, qAliasGet, in.Team, in.Channel, root)
		if err != nil {
			return err
		}
		if len(alias) > 0 {
			key = alias[0]
		}
		out.Thread = key
		state := "queued"
		if in.Late {
			state = "late"
		}
		id, err := tx.Insert(qInboxInsert, in.App, in.Team, in.Channel, in.TS, key, in.User, in.Text, ex, state, tx.NowMS())
		if err != nil {
			return err
		}
		if n, err := changes(tx); err != nil || n == 0 {
			out.Duplicate = n == 0
			return err
		}
		if _, err := tx.Exec(qWatermarkSet, in.Team, in.Channel, in.TS); err != nil {
			return err
		}
		if err := t.ensure(tx, key, in.Team, in.Channel, root, in.User, "chat", title(in.Text)); err != nil {
			return err
		}
		if in.Late {
			_, err = insertPost(tx, Post{Thread: key, Kind: PostLate, Ref: fmt.Sprint(id), Place: Place{in.Team, in.Channel, root}})
			return err
		}
		out.Queued = true
		if _, err := tx.Exec(qThreadLatch, false, key); err != nil {
			return err
		}
		_, err = move(tx, key, evMessage, "")
		return err
	})
	if err != nil {
		return Received{}, fmt.Errorf("cannot keep message %s: %w", in.TS, err)
	}
	if out.Queued {
		t.wake(out.Thread)
	}
	return out, nil
}

const qChanges = `SELECT changes()`

func changes(tx *record.Tx) (n int64, err error) {
	err = tx.Row(qChanges, nil, &n)
	return n, err
}

// ensure makes the thread's row where it is new.
func (t *Threads) ensure(tx *record.Tx, key, team, channel, root, owner, kind, title string) error {
	_, err := insertThread(tx, Thread{
		Key: key, Team: team, Channel: channel, ThreadTS: root, Surface: Place{team, channel, root},
		Owner: owner, Title: title, Kind: kind, State: Idle, Mode: t.cfg.DefaultMode,
		Workspace: workspaceDir(t.Work, key),
	})
	return err
}

// title is the first line of an owner's first words.
func title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 80 {
		line = string(r[:79]) + "…"
	}
	return line
}

// Ignore keeps only the key of a message that is not ours to answer, and its
// event, so that a redelivery costs nothing.
func (t *Threads) Ignore(ctx context.Context, app, team, channel, ts, event string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		if event != "" {
			if _, err := tx.Exec(qEventInsert, app, team, event, tx.NowMS()); err != nil {
				return err
			}
		}
		if ts == "" {
			return nil
		}
		_, err := tx.Exec(qInboxInsert, app, team, channel, ts, nil, "", "", nil, "ignored", tx.NowMS())
		return err
	})
}

// Seen commits an event's id and tells whether it is new.
func (t *Threads) Seen(ctx context.Context, app, team, event string) (fresh bool, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qEventInsert, app, team, event, tx.NowMS())
		fresh = n > 0
		return err
	})
	return fresh, err
}

// Edited and Deleted honour what an owner did to a message that is still queued.
func (t *Threads) Edited(ctx context.Context, team, channel, ts, text string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qInboxEdit, text, team, channel, ts)
		return err
	})
}

// Deleted withdraws a message that no run has taken yet.
func (t *Threads) Deleted(ctx context.Context, team, channel, ts string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qInboxWithdraw, team, channel, ts)
		return err
	})
}

// AnswerLate queues a message that catch-up had only listed.
func (t *Threads) AnswerLate(ctx context.Context, id int64) error {
	var key string
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		keys, err := record.Collect(tx, scanString, qInboxRequeue, id)
		if err != nil || len(keys) == 0 {
			return errors.Join(err, ErrNotFound)
		}
		key = keys[0]
		if _, err := tx.Exec(qPostWant, PostLate, fmt.Sprint(id)); err != nil {
			return err
		}
		_, err = move(tx, key, evMessage, "")
		return err
	})
	if err == nil {
		t.wake(key)
	}
	return err
}

// Watermarks are the newest message known of each channel of a team.
func (t *Threads) Watermarks(ctx context.Context, team string) (map[string]string, error) {
	marks := map[string]string{}
	err := t.db.Read(ctx, func(tx *record.Tx) error {
		_, err := record.Collect(tx, func(r record.Scanner) (struct{}, error) {
			var channel, ts string
			err := r.Scan(&channel, &ts)
			marks[channel] = ts
			return struct{}{}, err
		}, qWatermarks, team)
		return err
	})
	return marks, err
}
