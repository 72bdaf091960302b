package threads

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted answers each request with the next of its turns.
type scripted struct {
	mu    sync.Mutex
	turns []func(agent.Request) agent.Turn
	seen  []agent.Request
	hold  chan struct{} // each request waits for a token, where set
}

func (s *scripted) Name() string { return "scripted" }
func (s *scripted) Window() int  { return 0 }
func (s *scripted) Stream(ctx context.Context, req agent.Request, emit func(agent.Delta)) (agent.Turn, error) {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return agent.Turn{}, context.Cause(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, req)
	if len(s.turns) == 0 {
		return agent.Turn{Text: "nothing left to say", Stop: agent.StopEnd}, nil
	}
	next := s.turns[0]
	s.turns = s.turns[1:]
	turn := next(req)
	emit(agent.Delta{Text: turn.Text})
	return turn, nil
}

func says(text string) func(agent.Request) agent.Turn {
	return func(agent.Request) agent.Turn { return agent.Turn{Text: text, Stop: agent.StopEnd} }
}

func calls(tool, args string) func(agent.Request) agent.Turn {
	return func(agent.Request) agent.Turn {
		return agent.Turn{Calls: []agent.Call{{WireID: "w1", Tool: tool, Args: json.RawMessage(args)}}, Stop: agent.StopCalls}
	}
}

// poke is a tool that changes something, and counts.
type poke struct {
	name  string
	count *int
}

func (p poke) Name() string      { return p.name }
func (poke) Description() string { return "Pokes." }
func (poke) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)
}
func (poke) ReadOnly() bool                   { return false }
func (poke) Capabilities() tools.Capabilities { return tools.Capabilities{Destructive: true} }
func (p poke) Call(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
	*p.count++
	return tools.OK("poked"), nil
}

type room struct {
	*Threads
	db    *record.DB
	model *scripted
	pokes int
	path  string
	dir   string
}

// open makes a room over the record at path; the returned stop ends it as a
// shutdown does.
func open(t *testing.T, dir string, turns ...func(agent.Request) agent.Turn) (r *room, stop func()) {
	t.Helper()
	return openWith(t, dir, nil, turns...)
}

// openWith is open with its configuration or its surroundings changed.
func openWith(t testing.TB, dir string, change func(*room, *Config, *Deps), turns ...func(agent.Request) agent.Turn) (r *room, stop func()) {
	t.Helper()
	r = &room{dir: dir, path: filepath.Join(dir, "mecha.db"), model: &scripted{turns: turns}}
	var err error
	if r.db, err = record.Open(t.Context(), r.path, record.Options{Migrate: true}); err != nil {
		t.Fatal(err)
	}
	out := outbox.New(r.db, outbox.Config{Tools: []string{"send"}}, outbox.Deps{})
	cfg, deps := Config{ApprovalTimeout: time.Minute}, Deps{
		Log: slog.New(slog.DiscardHandler),
		DB:  r.db, Outbox: out, Work: filepath.Join(dir, "work"), Spill: filepath.Join(dir, "spill"),
		Model: func(Thread) (agent.Model, error) { return r.model, nil },
		Surface: func(Thread, []string) (*tools.Registry, error) {
			return tools.NewRegistry(poke{"poke", &r.pokes}, poke{"send", &r.pokes})
		},
	}
	if change != nil {
		change(r, &cfg, &deps)
	}
	r.Threads = New(cfg, deps)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := r.db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return r, stop
}

const key = "T1/D1/100.000001"

func (r *room) say(t testing.TB, ts, text string) {
	t.Helper()
	in := Incoming{App: "A1", Team: "T1", Channel: "D1", TS: ts, Event: "E" + ts, User: "U1", Text: text}
	if ts != "100.000001" {
		in.ThreadTS = "100.000001"
	}
	if _, err := r.Receive(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// until waits for the record to say so.
func (r *room) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	changed, cancel := r.db.Subscribe()
	defer cancel()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-changed:
		case <-deadline:
			th, err := r.Thread(t.Context(), key)
			t.Fatalf("never: %s; the thread is %s (%s), %v", what, th.State, th.Note, err)
		}
	}
}

func (r *room) state(t testing.TB) State {
	th, err := r.Thread(context.Background(), key)
	if err != nil {
		return ""
	}
	return th.State
}

func TestAMessageIsAnsweredOnce(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("hello"))
	r.say(t, "100.000001", "hi")
	again, err := r.Receive(t.Context(), Incoming{App: "A1", Team: "T1", Channel: "D1", TS: "100.000001", Event: "another event id", User: "U1", Text: "hi"})
	if err != nil || !again.Duplicate {
		t.Errorf("the same message by another event: %+v, %v", again, err)
	}
	again, err = r.Receive(t.Context(), Incoming{App: "A1", Team: "T1", Channel: "D1", TS: "100.000009", Event: "E100.000001", User: "U1", Text: "hi"})
	if err != nil || !again.Duplicate {
		t.Errorf("the same event redelivered: %+v, %v", again, err)
	}
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	runs, err := r.Runs(t.Context(), key)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, want 1 (%v)", len(runs), err)
	}
	if text, err := r.Answer(t.Context(), runs[0].ID); err != nil || text != "hello" {
		t.Errorf("answer %q, %v", text, err)
	}
}

func TestApprovalDecidesOnceAndRunsTheBytes(t *testing.T) {
	r, _ := open(t, t.TempDir(), calls("poke", `{"to":"x"}`), says("done"))
	r.say(t, "100.000001", "poke x")
	var a Approval
	r.until(t, "asked", func() bool {
		list, err := r.PendingApprovals(t.Context())
		if err == nil && len(list) == 1 {
			a = list[0]
		}
		return len(list) == 1
	})
	if r.state(t) != Awaiting || r.pokes != 0 {
		t.Fatalf("state %s, %d pokes before the decision", r.state(t), r.pokes)
	}
	if _, fresh, err := r.DecideCall(t.Context(), Who{User: "U1"}, a.Call, "another digest", Approve, ""); err != nil || fresh {
		t.Errorf("a press with another digest counted (%v)", err)
	}
	var wg sync.WaitGroup
	won := make(chan bool, 20)
	for range 20 {
		wg.Go(func() {
			_, fresh, err := r.DecideCall(context.Background(), Who{User: "U1"}, a.Call, a.Digest, Approve, "")
			if err != nil {
				t.Error(err)
			}
			won <- fresh
		})
	}
	wg.Wait()
	close(won)
	n := 0
	for w := range won {
		if w {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d presses won, want 1", n)
	}
	r.until(t, "finished", func() bool { return r.state(t) == Done })
	if r.pokes != 1 {
		t.Errorf("%d pokes, want 1", r.pokes)
	}
}

func TestAReasonReachesTheModel(t *testing.T) {
	r, _ := open(t, t.TempDir(), calls("poke", `{}`), says("understood"))
	r.say(t, "100.000001", "poke")
	r.until(t, "asked", func() bool { list, _ := r.PendingApprovals(t.Context()); return len(list) == 1 })
	list, _ := r.PendingApprovals(t.Context())
	if _, _, err := r.DecideCall(t.Context(), Who{User: "U1"}, list[0].Call, list[0].Digest, RejectCall, "use the venv"); err != nil {
		t.Fatal(err)
	}
	r.until(t, "finished", func() bool { return r.state(t) == Done })
	last := r.model.seen[len(r.model.seen)-1].Messages
	if got := last[len(last)-1].Text; !strings.Contains(got, "use the venv") {
		t.Errorf("the model was told %q", got)
	}
	if r.pokes != 0 {
		t.Error("a rejected call ran")
	}
}

// A process that dies while a card waits: the next one takes the run up, and a
// press on the same card runs the same bytes, once.
func TestACardOutlivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	r, stop := open(t, dir, calls("poke", `{"to":"x"}`))
	r.say(t, "100.000001", "poke x")
	r.until(t, "asked", func() bool { list, _ := r.PendingApprovals(t.Context()); return len(list) == 1 })
	list, _ := r.PendingApprovals(t.Context())
	stop()
	for range maxResumes + 2 { // waiting for days over many restarts is no failure
		r, stop = open(t, dir, says("done"))
		r.until(t, "taken up", func() bool { return r.state(t) == Awaiting })
		stop()
	}
	r, _ = open(t, dir, says("done"))
	if _, fresh, err := r.DecideCall(t.Context(), Who{User: "U1"}, list[0].Call, list[0].Digest, Approve, ""); err != nil || !fresh {
		t.Fatalf("fresh %v, %v", fresh, err)
	}
	r.until(t, "finished", func() bool { return r.state(t) == Done })
	if r.pokes != 1 {
		t.Errorf("%d pokes, want 1", r.pokes)
	}
	posts, err := r.PostsOf(t.Context(), PostApproval, list[0].Call)
	if err != nil || len(posts) != 1 {
		t.Errorf("%d cards, want 1 (%v)", len(posts), err)
	}
}

func TestAllowForThisRunDiesWithItsRun(t *testing.T) {
	r, _ := open(t, t.TempDir(), calls("poke", `{"to":"x"}`), calls("poke", `{"to":"y"}`), says("done"), calls("poke", `{"to":"z"}`), says("done"))
	r.say(t, "100.000001", "poke x and y")
	r.until(t, "asked", func() bool { list, _ := r.PendingApprovals(t.Context()); return len(list) == 1 })
	list, _ := r.PendingApprovals(t.Context())
	if _, _, err := r.DecideCall(t.Context(), Who{User: "U1"}, list[0].Call, list[0].Digest, ApproveRun, ""); err != nil {
		t.Fatal(err)
	}
	r.until(t, "finished", func() bool { return r.state(t) == Done })
	if r.pokes != 2 {
		t.Fatalf("%d pokes, want 2: the second needs no card", r.pokes)
	}
	r.say(t, "100.000002", "poke z")
	r.until(t, "asked again", func() bool { list, _ := r.PendingApprovals(t.Context()); return len(list) == 1 })
}

func TestStopReachesARunThatWaits(t *testing.T) {
	r, _ := open(t, t.TempDir(), calls("poke", `{}`), says("on we go"))
	r.say(t, "100.000001", "poke")
	r.until(t, "asked", func() bool { list, _ := r.PendingApprovals(t.Context()); return len(list) == 1 })
	if ok, err := r.Stop(t.Context(), Who{User: "U1"}, key); err != nil || !ok {
		t.Fatalf("stop: %v, %v", ok, err)
	}
	r.until(t, "cancelled", func() bool { return r.state(t) == Cancelled })
	if list, _ := r.PendingApprovals(t.Context()); len(list) != 0 {
		t.Error("a stopped run leaves its card live")
	}
	// The conversation is whole: the next message is answered.
	r.say(t, "100.000002", "and now?")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
}

func TestAStagedCallIsOneCommit(t *testing.T) {
	r, _ := open(t, t.TempDir(), calls("send", `{"to":"dean@example.edu"}`), says("drafted"))
	r.say(t, "100.000001", "send it")
	r.until(t, "staged", func() bool { return r.state(t) == Staged })
	if r.pokes != 0 {
		t.Error("a routed call ran")
	}
	list, err := r.Outbox.List(t.Context(), outbox.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d drafts (%v)", len(list), err)
	}
	posts, err := r.PostsOf(t.Context(), PostDraft, list[0].ID)
	if err != nil || len(posts) != 1 {
		t.Errorf("%d cards for the draft (%v)", len(posts), err)
	}
	if _, err := r.Outbox.Reject(t.Context(), list[0].ID, "U1", "slack", "not now"); err != nil {
		t.Fatal(err)
	}
	if got := r.state(t); got != Done {
		t.Errorf("after its last draft was decided, the thread is %s", got)
	}
	r.say(t, "100.000002", "well?")
	r.until(t, "answered", func() bool { return r.state(t) == Done && len(r.model.seen) == 3 })
	told := false
	for _, m := range r.model.seen[2].Messages {
		told = told || m.Author == agent.ByHarness && strings.Contains(m.Text, "not now")
	}
	if !told {
		t.Error("the drafting conversation did not hear why its draft was rejected")
	}
}

func TestTheFenceShutsADeadRunOut(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("one"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	runs, _ := r.Runs(t.Context(), key)
	old := &journal{t: r.Threads, thread: key, fenced: key, run: runs[0].ID, fence: runs[0].Fence, clock: &lap{mark: r.Now()}, loc: time.UTC}
	if _, err := r.begin(t.Context(), key, "m", nil); err != nil {
		t.Fatal(err)
	}
	if err := old.Turn(t.Context(), 9, &agent.Turn{Text: "a ghost"}); !errors.Is(err, agent.ErrFenced) {
		t.Errorf("a dead run wrote a turn: %v", err)
	}
	if err := old.Note(t.Context(), 9, "a ghost"); !errors.Is(err, agent.ErrFenced) {
		t.Errorf("a dead run wrote a note: %v", err)
	}
}

func TestRecallStaysInItsConversation(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("noted"), says("noted"))
	r.say(t, "100.000001", "the password of the vault is Swordfish-77")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	in := Incoming{App: "A1", Team: "T1", Channel: "D1", TS: "200.000001", User: "U1", Text: "what is the password?"}
	if _, err := r.Receive(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Recall(t.Context(), key, "swordfish-77", 10); err != nil || len(got) != 1 {
		t.Errorf("its own words: %v, %v", got, err)
	}
	if got, err := r.Recall(t.Context(), "T1/D1/200.000001", "swordfish", 10); err != nil || len(got) != 0 {
		t.Errorf("another thread's secret was found: %v, %v", got, err)
	}
	if got, err := r.Recall(t.Context(), key, `" OR 1=1 --`, 10); err != nil || len(got) != 0 {
		t.Errorf("a query is literal: %v, %v", got, err)
	}
}

func TestReadOnlyModeIsNotWidened(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("first"), calls("poke", `{}`), says("done"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	if err := r.SetMode(t.Context(), Who{User: "U1"}, key, ModeReadOnly); err != nil {
		t.Fatal(err)
	}
	r.say(t, "100.000002", "poke")
	r.until(t, "finished", func() bool { return r.state(t) == Done && len(r.model.seen) == 3 })
	if list, _ := r.PendingApprovals(t.Context()); len(list) != 0 || r.pokes != 0 {
		t.Errorf("%d cards, %d pokes in read-only mode", len(list), r.pokes)
	}
}

func TestPauseStopsAndResumeGoesOn(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("late"))
	if _, err := r.Pause(t.Context(), Who{User: "U1"}); err != nil {
		t.Fatal(err)
	}
	r.say(t, "100.000001", "hi")
	if err := r.Resume(t.Context(), Who{User: "U1"}); err != nil {
		t.Fatal(err)
	}
	r.until(t, "answered", func() bool { return r.state(t) == Done })
}
