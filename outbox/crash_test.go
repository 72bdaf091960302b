package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// killed is what a process that dies at a step leaves by.
type killed struct{ at string }

// world is a mail server that outlives every process of ours.
type world struct {
	mu        sync.Mutex
	delivered map[string]int // by idempotency key
	mode      string         // of the next calls: "", drop, fail
}

func (w *world) call(_ context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode == "fail" {
		w.mode = ""
		return tools.Fail("mailbox full"), nil
	}
	w.delivered[env.IdempotencyKey]++
	if w.mode == "drop" {
		w.mode = ""
		return tools.Output{}, errors.New("connection reset")
	}
	return tools.OK("Sent."), nil
}

func (w *world) count(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.delivered[key]
}

// script is what people and the agent do, until the process dies.
type script func(b *bench, o *Outbox)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var ctx = context.Background()

// stageIn stages and remembers what was acknowledged.
func (b *bench) stageIn(o *Outbox, raw string) Draft {
	b.t.Helper()
	st := must[Staged](b.t)(stageWith(ctx, o, b.staging(raw)))
	return must[Draft](b.t)(o.Get(ctx, st.ID))
}

func release(b *bench, o *Outbox, d Draft) Draft {
	b.t.Helper()
	d = must[Draft](b.t)(o.Get(ctx, d.ID))
	must[Draft](b.t)(o.Approve(ctx, second(d, "U1")))
	return must[Draft](b.t)(o.Dispatch(ctx, d.ID))
}

var scripts = map[string]script{
	"stage, edit, approve, release": func(b *bench, o *Outbox) {
		d := b.stageIn(o, args("hello"))
		d = must[Draft](b.t)(o.Edit(ctx, d.ID, 1, json.RawMessage(args("mine")), "U1", "slack"))
		want(b.t, release(b, o, d), Released)
	},
	"a lost answer, not delivered after all, sent": func(b *bench, o *Outbox) {
		d := b.stageIn(o, args("hello"))
		b.mail.call = answers(tools.Output{}, errors.New("refused"))
		want(b.t, release(b, o, d), Uncertain)
		b.mail.call = nil
		b.arm()
		d = must[Draft](b.t)(o.Get(ctx, d.ID))
		must[Draft](b.t)(o.Propose(ctx, d))
		must[Draft](b.t)(o.Reconcile(ctx, d.ID, "not-delivered", "looked", "U1", "slack"))
		want(b.t, release(b, o, d), Released)
	},
	"accepted, and the answer dropped": func(b *bench, o *Outbox) {
		d := b.stageIn(o, args("hello"))
		b.world.mode = "drop"
		want(b.t, release(b, o, d), Uncertain)
		must[Draft](b.t)(o.Reconcile(ctx, d.ID, "delivered", "m-1", "U1", "slack"))
	},
	"refused, and sent": func(b *bench, o *Outbox) {
		d := b.stageIn(o, args("hello"))
		b.world.mode = "fail"
		want(b.t, release(b, o, d), Pending)
		want(b.t, release(b, o, d), Released)
	},
	"superseded, rejected, cancelled, expired": func(b *bench, o *Outbox) {
		b.stageIn(o, args("hello"))
		d := b.stageIn(o, args("shorter"))
		must[Draft](b.t)(o.Approve(ctx, second(d, "U1")))
		must[Draft](b.t)(o.Cancel(ctx, d.ID, "U1", "slack"))
		must[Draft](b.t)(o.Reject(ctx, d.ID, "U1", "slack", "no"))
		b.stageIn(o, `{"body":"old"}`)
		b.clock.move(2 * time.Hour)
		must[int](b.t)(o.Expire(ctx))
	},
	"a file changed": func(b *bench, o *Outbox) {
		d := b.stageIn(o, `{"to":["dean@example.edu"],"body":"x","attachments":["a.txt"]}`)
		must[Draft](b.t)(o.Approve(ctx, second(d, "U1")))
		b.write("a.txt", "other")
		want(b.t, must[Draft](b.t)(o.Dispatch(ctx, d.ID)), Pending)
		want(b.t, release(b, o, d), Released)
	},
	"settled": func(b *bench, o *Outbox) {
		d := b.stageIn(o, args("hello"))
		must[Draft](b.t)(o.Approve(ctx, second(d, "U1")))
		must[int64](b.t)(o.begin(ctx, must[Draft](b.t)(o.Get(ctx, d.ID)))) // and died
		if n := must[int](b.t)(o.Settle(ctx)); n != 1 {
			b.t.Fatalf("%d settled", n)
		}
	},
}

func newWorldBench(t testing.TB) *bench {
	b := newBench(t, Config{ExpireAfter: Duration(time.Hour)})
	b.world = &world{delivered: map[string]int{}}
	b.arm()
	b.write("a.txt", "here")
	b.reconciler(t, "mail__mail_list", answers(tools.OK("nothing"), nil))
	return b
}

func (b *bench) arm() { b.mail.call = b.world.call }

// run plays a script in a process that dies at the nth step it passes; n < 0: it
// lives. It answers the steps that were passed, and the drafts that somebody
// was told of.
func (b *bench) run(s script, n int) (passed []string, told []string) {
	var mu sync.Mutex
	o := b.other(func(at string) {
		mu.Lock()
		passed = append(passed, at)
		k := len(passed)
		mu.Unlock()
		if k-1 == n {
			panic(killed{at})
		}
	})
	defer o.db.Close()
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(killed); !ok {
				panic(p)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		staged := 0
		for _, at := range passed {
			if at == "stage: committed" {
				staged++
			}
		}
		told = make([]string, staged)
	}()
	s(b, o)
	return passed, nil
}

// The process is killed at every step of every script; the next one settles, and
// a person decides what is left, after a look at the real mailbox.
func TestKillPoints(t *testing.T) {
	visited := map[string]bool{}
	kills, unknown := 0, 0
	for name, s := range scripts {
		all, _ := newWorldBench(t).run(s, -1)
		for n := range all {
			b := newWorldBench(t)
			passed, told := b.run(s, n)
			at := passed[len(passed)-1]
			where := fmt.Sprintf("%s, killed at %q (step %d)", name, at, n)
			visited[at] = true
			kills++

			o := b.other(nil)
			before := must[[]Draft](t)(o.List(ctx, Filter{All: true}))
			if len(before) < len(told) {
				t.Errorf("%s: %d drafts were acknowledged, %d are there", where, len(told), len(before))
			}
			must[int](t)(o.Settle(ctx))
			for _, d := range must[[]Draft](t)(o.List(ctx, Filter{All: true})) {
				open := d.State == Releasing
				for _, a := range d.Attempts {
					open = open || a.Outcome == ""
				}
				if open {
					t.Errorf("%s: draft %s is %s with attempts %+v after Settle", where, d.ID, d.State, d.Attempts)
				}
			}
			for _, d := range before {
				if d.State == Releasing {
					unknown++
					if now := must[Draft](t)(o.Get(ctx, d.ID)); now.State != Uncertain {
						t.Errorf("%s: an unknown outcome became %s", where, now.State)
					}
				}
			}
			b.arm()
			b.world.mode = ""
			b.drive(o, where)
		}
	}
	for _, at := range killPoints(t) {
		if !visited[at] {
			t.Errorf("nothing was killed at %q", at)
		}
	}
	t.Logf("%d kills at %d points, %d unknown outcomes: %s", kills, len(visited), unknown, strings.Join(slices.Sorted(maps.Keys(visited)), "; "))
}

// drive decides everything that is left, as a careful person would.
func (b *bench) drive(o *Outbox, where string) {
	b.t.Helper()
	for range 10 {
		for _, d := range must[[]Draft](b.t)(o.List(ctx, Filter{})) {
			var err error
			switch d.State {
			case Pending:
				_, err = o.Approve(ctx, second(d, "U1"))
			case Approved:
				_, err = o.Dispatch(ctx, d.ID)
			case Uncertain:
				outcome := "not-delivered"
				if b.world.count(d.IdempotencyKey) > 0 {
					outcome = "delivered"
				}
				_, err = o.Reconcile(ctx, d.ID, outcome, "looked into the mailbox", "U1", "slack")
			default:
				b.t.Fatalf("%s: draft %s is %s", where, d.ID, d.State)
			}
			if err != nil {
				b.t.Fatalf("%s: %v", where, err)
			}
		}
	}
	for _, d := range must[[]Draft](b.t)(o.List(ctx, Filter{All: true})) {
		n := b.world.count(d.IdempotencyKey)
		if !d.State.final() {
			b.t.Errorf("%s: draft %s ended as %s", where, d.ID, d.State)
		}
		if wantN := map[bool]int{true: 1, false: 0}[d.State == Released]; n != wantN {
			b.t.Errorf("%s: draft %s is %s and was delivered %d times", where, d.ID, d.State, n)
		}
	}
}

// killPoints are the steps that the package's source names.
func killPoints(t *testing.T) (points []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\bstep\("([^"]+)"\)`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(string(src), -1) {
			points = append(points, m[1])
		}
	}
	for _, verb := range []string{"approve", "edit", "reject", "cancel", "reconcile delivered", "reconcile not-delivered"} {
		points = append(points, verb+": written", verb+": noted", verb+": committed")
	}
	if len(points) < 25 {
		t.Fatalf("found %d kill points; the search is broken", len(points))
	}
	return points
}

// Two processes and 200 goroutines approve and dispatch one draft: one approval,
// one attempt, one delivery.
func TestOneAttemptForAllWhoApprove(t *testing.T) {
	b := newWorldBench(t)
	d := b.stage(args("hello"))
	procs := []*Outbox{b.other(nil), b.other(nil)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	approved := 0
	start := make(chan struct{})
	for i := range 200 {
		o := procs[i%len(procs)]
		wg.Go(func() {
			<-start
			_, err := o.Approve(ctx, second(d, fmt.Sprintf("U%d", i)))
			var state *StateError
			switch {
			case err == nil:
				mu.Lock()
				approved++
				mu.Unlock()
			case !errors.As(err, &state):
				t.Errorf("approve: %v", err)
			}
			if _, err := o.Dispatch(ctx, d.ID); err != nil && !errors.As(err, &state) {
				t.Errorf("dispatch: %v", err)
			}
		})
	}
	close(start)
	wg.Wait()
	d = b.get(d.ID)
	want(t, d, Released)
	if approved != 1 || len(d.Approvals) != 1 || len(d.Attempts) != 1 || b.world.count(d.IdempotencyKey) != 1 {
		t.Fatalf("%d approvals, %d attempts, %d deliveries", approved, len(d.Attempts), b.world.count(d.IdempotencyKey))
	}
	var rows int
	err := b.db.Read(ctx, func(tx *record.Tx) error {
		return tx.Row(`SELECT count(*) FROM actions WHERE ref = ? AND verb = 'approve'`, []any{d.ID}, &rows)
	})
	if err != nil || rows != 200 {
		t.Fatalf("%d of 200 presses are on the record: %v", rows, err)
	}
}
