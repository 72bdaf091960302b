package triggers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// bubble runs fn in a bubble of synctest, with the bubble's clock.
func bubble(t *testing.T, cfg Config, d Deps, fn func(t *testing.T, f fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db, err := record.Open(t.Context(), filepath.Join(t.TempDir(), "mecha.db"), record.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		d.Log = quiet
		f := fixture{New(db, cfg, d), db, nil}
		fn(t, f)
		f.Wait()
	})
}

// runLoop runs the loop until the stop that it answers.
func (f fixture) runLoop(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// slow runs for as long as its trigger's prompt says, and stops at a safe point
// with what it has said so far.
var slow = runner(func(ctx context.Context, t Trigger, f Fire) (Result, error) {
	d, err := time.ParseDuration(t.Prompt)
	if err != nil {
		return Result{}, err
	}
	res := Result{Thread: "T/C/1", Run: "r", Turns: 1, Calls: 1, StopCause: "completed", Summary: "all of it"}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return res, nil
	case <-ctx.Done():
		res.Summary = "half of it"
		return res, context.Cause(ctx)
	}
})

func TestTheLoopFiresOnTime(t *testing.T) {
	bubble(t, Config{}, Deps{Runner: fine}, func(t *testing.T, f fixture) {
		stop := f.runLoop(t)
		begin := time.Now() // midnight UTC, 1 January 2000
		f.add(t, prompt("brief", "*/10 * * * *"))
		time.Sleep(35 * time.Minute)
		synctest.Wait()
		stop()
		rows, err := f.Runs(context.Background(), "brief", begin, 100)
		if err != nil || len(rows) != 3 {
			t.Fatal(rows, err)
		}
		for _, r := range rows {
			if late := r.Started.Sub(r.Slot); late < 0 || late > time.Second || r.Status != "ok" || r.Turns != 1 || r.Thread == "" || r.Finished.IsZero() {
				t.Errorf("the row is %+v, %s late", r, late)
			}
		}
	})
}

func TestOverlapIsSkipped(t *testing.T) {
	bubble(t, Config{}, Deps{Runner: slow}, func(t *testing.T, f fixture) {
		stop := f.runLoop(t)
		tr := prompt("brief", "*/10 * * * *")
		tr.Prompt = "15m"
		f.add(t, tr)
		time.Sleep(51 * time.Minute)
		synctest.Wait()
		if _, err := f.RunNow(t.Context(), t.Context(), terminal, "brief"); err == nil || !strings.Contains(err.Error(), "runs already") {
			t.Errorf("it was started twice: %v", err)
		}
		stop()
		want := []string{"01 00:10 ok", "01 00:20 skipped overlap: its last run has not ended", "01 00:30 ok", "01 00:40 skipped overlap: its last run has not ended", "01 00:50 error mecha-slack was stopped"}
		if diff := cmp.Diff(want, f.ledger(t, "brief")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestCancelAndTimeoutKeepThePartialAnswer(t *testing.T) {
	bubble(t, Config{}, Deps{Runner: slow}, func(t *testing.T, f fixture) {
		stop := f.runLoop(t)
		for _, name := range []string{"cancelled", "overdue"} {
			tr := prompt(name, "0 1 * * *")
			tr.Prompt, tr.Timeout = "3h", 20*time.Minute
			f.add(t, tr)
		}
		time.Sleep(70 * time.Minute)
		synctest.Wait()
		if f.Cancel("nobody") || !f.Cancel("cancelled") {
			t.Error("cancelled nobody, or not the one that ran")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		for name, want := range map[string]string{"cancelled": "cancelled", "overdue": "cut off: it did not end within 20m0s"} {
			rows, err := f.Runs(t.Context(), name, time.Time{}, 10)
			if err != nil || len(rows) != 1 || rows[0].Status != "error" || rows[0].Reason != want || rows[0].Summary != "half of it" || rows[0].Thread == "" {
				t.Errorf("%s ended as %+v, %v", name, rows, err)
			}
		}
		stop()
		if _, err := f.RunNow(context.Background(), context.Background(), terminal, "cancelled"); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("it was started after the loop's end: %v", err)
		}
	})
}

// After an outage each trigger catches up once, one after another; what is
// switched off before its turn does not run.
func TestCatchUpsComeOneAfterAnother(t *testing.T) {
	var mu sync.Mutex
	now, most, order := 0, 0, []string{}
	counting := runner(func(ctx context.Context, t Trigger, f Fire) (Result, error) {
		mu.Lock()
		now++
		most = max(most, now)
		order = append(order, t.Name)
		mu.Unlock()
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		return slow(ctx, t, f)
	})
	bubble(t, Config{}, Deps{Runner: counting}, func(t *testing.T, f fixture) {
		for _, name := range []string{"a", "b", "c", "d", "gone"} {
			tr := prompt(name, "*/10 * * * *")
			tr.Prompt = "30s"
			f.add(t, tr)
		}
		time.Sleep(3*time.Hour + 5*time.Minute) // no bot runs
		stop := f.runLoop(t)
		time.Sleep(time.Second)
		synctest.Wait()
		first := order[0]
		for _, name := range []string{"a", "b", "c", "d", "gone"} {
			last, err := f.Runs(t.Context(), name, time.Time{}, 1)
			if err != nil || len(last) != 1 || last[0].Status != "running" || name != first && !strings.HasPrefix(last[0].Reason, "waits") {
				t.Errorf("%s is %+v, %v", name, last, err)
			}
		}
		off := "gone"
		if first == off {
			off = "a"
		}
		if _, _, err := f.SetState(t.Context(), terminal, off, "disabled"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		stop()
		if most != 1 || len(order) != 4 {
			t.Errorf("%d ran at once, in all %v", most, order)
		}
		for _, name := range []string{"a", "b", "c", "d", "gone"} {
			rows := f.ledger(t, name)
			want := "01 03:00 ok"
			if name == off {
				want = "01 03:00 skipped disabled"
			}
			if len(rows) != 18 || rows[17] != want {
				t.Errorf("%s: %d rows, the last %q", name, len(rows), rows[len(rows)-1])
			}
		}
	})
}

// A process that dies leaves an open fire; the next holder settles it, with the
// link that the run had left.
func TestACrashLeavesASettledRow(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{})
	began := make(chan struct{})
	f.Deps.Runner = runner(func(ctx context.Context, tr Trigger, fire Fire) (Result, error) {
		if err := f.Began(ctx, fire.ID, "T/C/1", "r7"); err != nil {
			t.Error(err)
		}
		close(began)
		<-ctx.Done()
		return Result{Thread: "T/C/1", Run: "r7"}, context.Cause(ctx)
	})
	f.add(t, prompt("brief", "0 * * * *"))
	f.clock.add(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := f.Tick(ctx, f.clock.Now(), false); err != nil {
		t.Fatal(err)
	}
	<-began
	// The next process opens the same record.
	next := New(f.db, Config{}, Deps{Runner: fine, Now: f.clock.Now, Log: quiet})
	if err := next.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := next.Tick(t.Context(), f.clock.Now(), false); err != nil || len(list) != 0 {
		t.Errorf("the slot was taken again: %v, %v", list, err)
	}
	rows, err := f.Runs(t.Context(), "brief", time.Time{}, 10)
	if err != nil || len(rows) != 1 || rows[0].Status != "error" || rows[0].Reason != "the process that ran it ended" || rows[0].Run != "r7" {
		t.Errorf("the ledger has %+v, %v", rows, err)
	}
	// What the dead process would still write does not count.
	cancel()
	f.Wait()
	if again, _ := f.Runs(t.Context(), "brief", time.Time{}, 10); again[0].Reason != rows[0].Reason {
		t.Errorf("a settled row was rewritten: %+v", again[0])
	}
}

func TestByHandTakesNoSlot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, prompt("brief", "0 * * * *"))
	if _, err := f.Propose(t.Context(), terminal, prompt("maybe", "0 * * * *")); err != nil {
		t.Fatal(err)
	}
	f.clock.add(30 * time.Minute)
	for range 2 {
		if _, err := f.RunNow(t.Context(), t.Context(), terminal, "brief"); err != nil {
			t.Fatal(err)
		}
		f.Wait()
	}
	f.clock.add(30 * time.Minute)
	f.tick(t)
	if diff := cmp.Diff([]string{"- ok", "- ok", "01 13:00 ok"}, f.ledger(t, "brief")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := f.RunNow(t.Context(), t.Context(), terminal, "maybe"); err == nil || !strings.Contains(err.Error(), "accept it first") {
		t.Errorf("a proposal was run: %v", err)
	}
	if rows := f.ledger(t, "maybe"); len(rows) != 0 {
		t.Errorf("a proposal has rows: %v", rows)
	}
	if _, err := f.RunNow(t.Context(), t.Context(), terminal, "nothing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run of nothing: %v", err)
	}
}

func TestWhatARunCountsAs(t *testing.T) {
	for _, c := range []struct {
		res    Result
		err    error
		status string
		reason string
	}{
		{Result{Calls: 4, StopCause: "completed"}, nil, "ok", ""},
		{Result{Calls: 12, CallErrors: 4, StopCause: "completed"}, nil, "ok", "4 of 12 calls failed"},
		{Result{Calls: 2, CallErrors: 1, StopCause: "completed"}, nil, "ok", ""},
		{Result{Calls: 4, Blocked: 2, StopCause: "completed"}, nil, "ok", "2 blocked: nobody was there to be asked"},
		{Result{StopCause: "parked"}, nil, "ok", "it waits for an answer to its question"},
		{Result{StopCause: "max_turns"}, nil, "error", "cut off: it reached its limit of turns"},
		{Result{StopCause: "timeout"}, nil, "error", "cut off: it reached its timeout"},
		{Result{StopCause: "no_output"}, nil, "error", "it gave no answer"},
		{Result{StopCause: "stopped"}, nil, "error", "cancelled"},
		{Result{Failed: "no model answered", StopCause: "error"}, nil, "error", "no model answered"},
		{Result{}, errors.New("no owner"), "error", "no owner"},
		{Result{}, fmt.Errorf("await: %w", errOvertime), "error", "cut off: it did not end within 20m0s"},
	} {
		if got := judgeRun(c.res, c.err, t.Context(), Trigger{Timeout: 20 * time.Minute}); got != (verdict{c.status, c.reason}) {
			t.Errorf("%+v, %v counts as %+v", c.res, c.err, got)
		}
	}
}

func TestAPanicCostsTheRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: runner(func(context.Context, Trigger, Fire) (Result, error) { panic("a bug\nin two lines") })})
	f.add(t, prompt("brief", "0 * * * *"))
	f.clock.add(time.Hour)
	f.tick(t)
	if diff := cmp.Diff([]string{"01 13:00 error it broke off: a bug in two lines"}, f.ledger(t, "brief")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	answer := strings.Repeat("many words\n", 20_000)
	for name, c := range map[string]struct {
		command string
		res     Result
		file    string // what the command wrote to out
		says    string
	}{
		"the answer on stdin, in the workspace": {`cat > out`, Result{Answer: answer, Workspace: dir}, answer, ""},
		"told what it is about":                 {`printf '%s %s %s' "$MECHA_TRIGGER" "$MECHA_TRIGGER_STATUS" "$MECHA_CHILD" > out`, Result{Answer: "x", Workspace: dir}, "brief ok 1", ""},
		"it need not read":                      {`echo done > out`, Result{Answer: answer, Workspace: dir}, "done\n", ""},
		"silence notifies nobody":               {`echo no > out`, Result{Answer: "x", Silent: true, Workspace: dir}, "", ""},
		"nor does an empty answer":              {`echo no > out`, Result{Workspace: dir}, "", ""},
		"a failure is told":                     {`echo broken >&2; exit 3`, Result{Answer: "x", Workspace: dir}, "", "exit code 3: broken"},
		"a command that is not there":           {`no-such-program`, Result{Answer: "x", Workspace: dir}, "", "not found in PATH="},
		"nowhere to be":                         {`echo no > out`, Result{Answer: "x"}, "", "no workspace"},
		"a workspace that is gone":              {`echo no > out`, Result{Answer: "x", Workspace: filepath.Join(dir, "gone")}, "", "no workspace"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.res.Workspace == dir {
				c.res.Workspace = t.TempDir()
			}
			c.res.StopCause = "completed"
			f := newFixture(t, Config{}, Deps{Runner: runner(func(context.Context, Trigger, Fire) (Result, error) { return c.res, nil })})
			tr := prompt("brief", "0 * * * *")
			tr.Notify = c.command
			f.add(t, tr)
			f.clock.add(time.Hour)
			f.tick(t)
			rows, err := f.Runs(t.Context(), "brief", time.Time{}, 10)
			if err != nil || len(rows) != 1 || rows[0].Status != "ok" {
				t.Fatal(rows, err)
			}
			if got := rows[0].NotifyError; !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
				t.Errorf("the ledger says %q, want something with %q", got, c.says)
			}
			got, err := os.ReadFile(filepath.Join(c.res.Workspace, "out"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if string(got) != c.file {
				t.Errorf("it wrote %.80q, want %.80q", got, c.file)
			}
		})
	}
}
