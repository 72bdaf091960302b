package outbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// Surface is how a release reaches the real tool, without a model.
type Surface interface {
	// Open answers the draft's tool and surroundings rooted in the directory in
	// which it was drafted. close gives back what was opened.
	Open(ctx context.Context, d Draft) (t tools.Tool, env *tools.Env, close func(), err error)
	// Find answers a tool by name, or nil.
	Find(name string) tools.Tool
}

// Transcript is the drafting conversation, for the message being answered.
type Transcript interface {
	// PastCalls answers a thread's calls with their results, oldest first;
	// ErrPruned where the conversation is gone.
	PastCalls(ctx context.Context, thread string) ([]PastCall, error)
}

// PastCall is one call of a conversation.
type PastCall struct {
	CallID   string
	Tool     string
	Args     json.RawMessage
	Result   string
	External bool
	Answered bool
}

// Floor keeps the calls of a conversation apart from the releases of its drafts.
type Floor interface {
	// Alone waits until no call and no other release of a conversation runs, and
	// keeps them out until leave, which may be called twice. An error is ctx's
	// cause.
	Alone(ctx context.Context, thread string) (leave func(), err error)
}

// Deps are what the outbox needs of the outside.
type Deps struct {
	Surface    Surface
	Transcript Transcript
	// Floor of the conversations; nil: nothing runs beside a release.
	Floor Floor
	// FloorWait is how long a release waits for its conversation's calls; 3 min,
	// which is more than a command or a request to a server may take.
	FloorWait time.Duration
	// Secret tells whether a text holds a loaded secret; nil: nothing is one.
	Secret func(string) bool
	// Redact hides loaded secrets in what tools and people said, where drafts are shown and exported; nil:
	// nothing is one. Arguments are never touched.
	Redact func(string) string
	// Owners are the Slack users who own this bot; nil: anybody may be one.
	Owners func(context.Context) ([]string, error)
	// Paused freezes releases; nil: never.
	Paused func(context.Context) (bool, error)
	// ReleaseTimeout of one attempt; 120 s.
	ReleaseTimeout time.Duration
	Now            func() time.Time
	NewID          func(now time.Time) string
	Log            *slog.Logger
	// step is told of each boundary between two writes; the kill-point tests end
	// the process there.
	step func(string)
}

// Outbox holds every draft. Its methods may be called from any goroutine and,
// but for Run and Dispatch, from any process.
type Outbox struct {
	Deps
	cfg   Config
	db    *record.DB
	seats chan struct{}  // releases at once
	late  sync.WaitGroup // those who wait for an answer after its time; Run waits for them
}

// New opens the outbox over the record.
func New(db *record.DB, cfg Config, d Deps) *Outbox {
	if d.Now == nil {
		d.Now = db.Now
	}
	if d.NewID == nil {
		d.NewID = newID
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.ReleaseTimeout == 0 {
		d.ReleaseTimeout = 120 * time.Second
	}
	if d.Redact == nil {
		d.Redact = func(s string) string { return s }
	}
	if d.FloorWait == 0 {
		d.FloorWait = 3 * time.Minute
	}
	if d.step == nil {
		d.step = record.Point
	}
	if cfg.StaleAfter == 0 {
		cfg.StaleAfter = Duration(48 * time.Hour)
	}
	return &Outbox{Deps: d, cfg: cfg, db: db, seats: make(chan struct{}, maxReleases)}
}

// newID is the day and 32 random bits: short enough to type, and sorted by day.
func newID(now time.Time) string {
	var b [4]byte
	rand.Read(b[:])
	return now.Format("20060102") + "-" + hex.EncodeToString(b[:])
}

// Config is the table that the outbox works by.
func (o *Outbox) Config() Config { return o.cfg }

// Routed tells whether a tool's calls are staged: by exact name, or, for tools
// of MCP servers, by what they declare where [outbox] capabilities says so.
func (o *Outbox) Routed(t tools.Tool) bool {
	name := t.Name()
	if slices.Contains(o.cfg.Tools, name) {
		return true
	}
	if slices.Contains(o.cfg.Exclude, name) {
		return false
	}
	if s, ok := t.(tools.Sourced); !ok || s.Source() == "" {
		return false
	}
	c := t.Capabilities()
	return slices.Contains(o.cfg.Capabilities, "chosen") && c.Egress == tools.Chosen ||
		slices.Contains(o.cfg.Capabilities, "destructive") && c.Destructive
}

// Unmatched answers a warning for each routed name, policy or reconciler that
// protects nothing. A
// name that the caller excluded on purpose warns nobody: a warning that fires
// every morning is how a real typo gets ignored.
func (o *Outbox) Unmatched(reg *tools.Registry, excluded func(name string) bool) []string {
	var warn []string
	for _, name := range o.cfg.Tools {
		if reg.Get(name) == nil && (excluded == nil || !excluded(name)) {
			warn = append(warn, fmt.Sprintf("[outbox] routes `%s`, which is not a registered tool — check the spelling, or this routing protects nothing", name))
		}
	}
	for _, name := range o.cfg.PublishTools {
		if !slices.Contains(o.cfg.Tools, name) {
			warn = append(warn, fmt.Sprintf("[outbox] publish_tools names `%s`, which [outbox] tools does not route — it would be executed, not staged", name))
		}
	}
	missing := func(name string) bool { return reg.Get(name) == nil && (excluded == nil || !excluded(name)) }
	for _, p := range o.cfg.Policies {
		t := reg.Get(p.Tool)
		switch {
		case missing(p.Tool):
			warn = append(warn, fmt.Sprintf("[[outbox.policy]] is written for `%s`, which is not a registered tool — check the spelling, or this policy governs nothing", p.Tool))
		case t != nil && !o.Routed(t):
			warn = append(warn, fmt.Sprintf("[[outbox.policy]] is written for `%s`, which is not routed through the outbox — it governs nothing", p.Tool))
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(o.cfg.Reconcile)) {
		by := o.cfg.Reconcile[tool].Tool
		switch t := reg.Get(by); {
		case missing(by):
			warn = append(warn, fmt.Sprintf("[outbox.reconcile.%s] looks with `%s`, which is not a registered tool — check the spelling, or nothing looks", tool, by))
		case t != nil && !t.ReadOnly():
			warn = append(warn, fmt.Sprintf("[outbox.reconcile.%s] looks with `%s`, which is not read-only — it is not used", tool, by))
		}
	}
	return warn
}

func (o *Outbox) kind(tool string) Kind {
	if slices.Contains(o.cfg.PublishTools, tool) {
		return Publish
	}
	return Message
}
