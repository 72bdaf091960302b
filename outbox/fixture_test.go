package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		helper() // a second process of a test; it does not return
	}
	goleak.VerifyTestMain(m)
}

const mailSchema = `{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}},"subject":{"type":"string"},"body":{"type":"string"},"attachments":{"type":"array","items":{"type":"string"}},"priority":{"type":"integer"},"thread_id":{"type":"string"},"idempotency_key":{"type":"string"}},"required":["body"],"additionalProperties":false}`

// sender is a tool that sends mail somewhere: here, into a list.
type sender struct {
	name   string
	pin    string
	home   string
	schema string
	hints  tools.Hints
	read   bool
	call   func(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error)

	mu   sync.Mutex
	sent []string // the arguments of each delivery
	keys []string
}

func (s *sender) Name() string                 { return s.name }
func (s *sender) Description() string          { return "sends" }
func (s *sender) InputSchema() json.RawMessage { return json.RawMessage(s.schema) }
func (s *sender) ReadOnly() bool               { return s.read }
func (s *sender) Pin() string                  { return s.pin }
func (s *sender) Home() string                 { return s.home }
func (s *sender) Hints() tools.Hints           { return s.hints }
func (s *sender) Source() string               { return "mail" }
func (s *sender) Capabilities() tools.Capabilities {
	return tools.Capabilities{Egress: tools.Chosen}
}

func (s *sender) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	s.mu.Lock()
	s.sent = append(s.sent, string(in))
	s.keys = append(s.keys, env.IdempotencyKey)
	s.mu.Unlock()
	if s.call != nil {
		return s.call(ctx, in, env)
	}
	return tools.OK("Sent."), nil
}

func (s *sender) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

func newSender() *sender {
	return &sender{name: "mail__mail_send", pin: "p1", schema: mailSchema}
}

// surface has the tools of a test.
type surface map[string]tools.Tool

func (s surface) Find(name string) tools.Tool { return s[name] }

func (s surface) Open(_ context.Context, d Draft) (tools.Tool, *tools.Env, func(), error) {
	t := s[d.Tool]
	if t == nil {
		return nil, nil, nil, fmt.Errorf("`%s` cannot be called now: its server is off", d.Tool)
	}
	j, err := jail.Open(d.Workspace)
	if err != nil {
		return nil, nil, nil, err
	}
	return t, &tools.Env{Workspace: j}, func() { j.Close() }, nil
}

// clock is a time that a test moves.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time       { return time.UnixMilli(c.ms.Load()) }
func (c *clock) move(d time.Duration) { c.ms.Add(d.Milliseconds()) }
func quiet() *slog.Logger             { return slog.New(slog.DiscardHandler) }
func second(d Draft, by string) Decision {
	return Decision{ID: d.ID, Revision: d.Revision, Digest: d.Seal(), By: by, Surface: "slack", Second: true}
}

// bench is an outbox over a record of its own.
type bench struct {
	*Outbox
	t     testing.TB
	path  string
	work  string
	clock *clock
	mail  *sender
	calls atomic.Int64
	world *world
}

func newBench(t testing.TB, cfg Config) *bench {
	t.Helper()
	return newBenchIn(t, cfg, memory(t))
}

// memory is a directory that forgets on a power cut, where there is one: these
// tests kill processes, not machines, and need not wait for a disk.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "outbox-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newBenchIn(t testing.TB, cfg Config, dir string) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(dir, "mecha.db"), work: filepath.Join(dir, "work"), clock: newClock(), mail: newSender()}
	if err := os.Mkdir(b.work, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := record.Open(t.Context(), b.path, record.Options{Migrate: true, Now: b.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if cfg.Tools == nil {
		cfg.Tools = []string{"mail__mail_send"}
	}
	b.Outbox = New(db, cfg, Deps{Surface: surface{b.mail.name: b.mail}, Log: quiet()})
	return b
}

// other is a second process: another handle of the same record.
func (b *bench) other(step func(string)) *Outbox {
	b.t.Helper()
	db, err := record.Open(context.Background(), b.path, record.Options{Now: b.clock.now})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { db.Close() })
	return New(db, b.cfg, Deps{Surface: b.Surface, Transcript: b.Transcript, Log: quiet(), step: step})
}

func args(body string) string {
	return fmt.Sprintf(`{"to":["dean@example.edu"],"subject":"Budget","body":%q}`, body)
}

// staging is a call of the mail tool in the thread T1.
func (b *bench) staging(raw string) Staging {
	return Staging{Tool: b.mail, Args: json.RawMessage(raw), Workspace: b.work, Team: "T", Thread: "T1", Run: "r1", Call: fmt.Sprintf("c%d", b.calls.Add(1)), Requester: "U1"}
}

// stageWith commits a staging as threads does it.
func stageWith(ctx context.Context, o *Outbox, s Staging) (st Staged, err error) {
	j, err := jail.Open(s.Workspace)
	if err != nil {
		return st, err
	}
	defer j.Close()
	if s.Prepared, err = o.Prepare(ctx, s.Tool, s.Args, j); err != nil {
		return st, err
	}
	if s.Destinations == nil {
		s.Destinations = tools.Trace(tools.Destinations(s.Tool, s.Args, s.Workspace), nil, s.Taint.Untrusted)
	}
	o.step("stage: prepared")
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		st, err = o.Stage(tx, s)
		return err
	})
	if err == nil {
		o.step("stage: committed")
	}
	return st, err
}

func (b *bench) stage(raw string) Draft {
	b.t.Helper()
	return b.stageAs(b.staging(raw))
}

func (b *bench) stageAs(s Staging) Draft {
	b.t.Helper()
	st, err := stageWith(b.t.Context(), b.Outbox, s)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.get(st.ID)
}

func (b *bench) get(id string) Draft {
	b.t.Helper()
	d, err := b.Get(context.Background(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

func (b *bench) approve(d Draft) Draft {
	b.t.Helper()
	d, err := b.Approve(b.t.Context(), second(d, "U1"))
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

func (b *bench) dispatch(d Draft) Draft {
	b.t.Helper()
	d, err := b.Dispatch(b.t.Context(), d.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// tell is what the conversation hears.
func (b *bench) tell() (notes []string) {
	b.t.Helper()
	err := b.db.Write(b.t.Context(), func(tx *record.Tx) (err error) {
		notes, err = b.Tell(tx, "T1")
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return notes
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// want fails unless a draft is in a state.
func want(t testing.TB, d Draft, s State) {
	t.Helper()
	if d.State != s {
		t.Fatalf("draft %s is %s, want %s (%s)", d.ID, d.State, s, d.LastError)
	}
}

func openJail(t testing.TB, dir string) *jail.Jail {
	t.Helper()
	j, err := jail.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}
