package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// A run says by a call that there is nothing to say; then nobody is notified, and
// the ledger has it. Saying it in words is saying something.
func TestARunWithNothingToReport(t *testing.T) {
	h := newHome(t, "[sandbox]\nkind = \"none\"\n")
	defer h.local()()
	notified := filepath.Join(t.TempDir(), "notified")
	for _, tc := range []struct {
		name, prompt string
		silent       bool
	}{
		{"quiet", "call nothing_to_report {}", true},
		{"words", "say nothing to report", false},
	} {
		h.must("trigger", "add", tc.name, "--schedule", "@yearly", "--timezone", "UTC", "--tool", "fs_read", "--prompt", tc.prompt, "--notify", "cat > "+notified)
		out := h.must("trigger", "run", tc.name)
		if strings.Contains(out, "ok nothing to report") != tc.silent {
			t.Errorf("%s: %s", tc.name, out)
		}
		var ledger struct{ Runs []fireView }
		if err := json.Unmarshal([]byte(h.must("trigger", "runs", tc.name, "--json")), &ledger); err != nil || len(ledger.Runs) != 1 {
			t.Fatalf("%s: %v %+v", tc.name, err, ledger)
		}
		if f := ledger.Runs[0]; f.Silent != tc.silent || f.Calls != 0 || f.Status != "ok" || f.NotifyError != "" {
			t.Errorf("%s: %+v", tc.name, f)
		}
		if _, err := os.Stat(notified); (err != nil) != tc.silent {
			t.Errorf("%s: notified: %v", tc.name, err)
		}
	}
	if strings.Contains(h.must("tools"), quietName) {
		t.Error("it is offered where somebody is there")
	}
}

// What the day has used up keeps the clock's runs from beginning, and says so.
func TestADaySpentKeepsTriggers(t *testing.T) {
	h := newHome(t, "[sandbox]\nkind = \"none\"\n[agent.day]\nmax_turns = 1\n")
	stop := h.local()
	h.must("trigger", "add", "brief", "--schedule", "@every 1h", "--timezone", "UTC", "--prompt", "hello")
	soon := time.Now().Add(61 * time.Minute).Format(time.RFC3339)
	if out := h.must("trigger", "tick", "--dry-run", "--at", soon); !strings.Contains(out, "run ") {
		t.Errorf("before: %s", out)
	}
	h.must("trigger", "run", "brief")
	if out := h.must("trigger", "tick", "--dry-run", "--at", soon); !strings.Contains(out, "limit: 1 of today's 1 turns are used ([agent.day])") {
		t.Errorf("after: %s", out)
	}
	stop()
}

// local runs the bot on a home until stop is called.
func (h homeOfOne) local() (stop func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	ready := &watched{text: "Ctrl-C stops it", seen: make(chan struct{})}
	done := make(chan int, 1)
	go func() {
		done <- Main{Stdin: strings.NewReader(""), Stdout: ready, Stderr: io.Discard, Env: h.env()}.Run(ctx, []string{"local", "--addr", "127.0.0.1:0", "--no-demo", "--offline"})
	}()
	select {
	case <-ready.seen:
	case code := <-done:
		h.t.Fatalf("local ended with %d:\n%s", code, ready.all.String())
	}
	return func() { cancel(); <-done }
}

// must runs a command that has to go well, and answers what it printed.
func (h homeOfOne) must(args ...string) string {
	h.t.Helper()
	code, out, errs := h.run(args...)
	if code != 0 {
		h.t.Fatalf("%v: %d %s%s", args, code, out, errs)
	}
	return out
}

// A run that failed, drafted or met a wall is not silent, whatever it says.
func TestWhatIsNotSilent(t *testing.T) {
	said := []threads.CallLine{{Tool: "fs_read", Outcome: agent.CallOK}, {Tool: quietName, Outcome: agent.CallOK}}
	good := triggers.Result{Calls: 2, StopCause: string(agent.Completed)}
	if got := quieted(good, said); !got.Silent || got.Calls != 1 {
		t.Errorf("%+v", got)
	}
	for name, change := range map[string]func(*triggers.Result){
		"failed":   func(r *triggers.Result) { r.Failed = "the model went away" },
		"cut off":  func(r *triggers.Result) { r.StopCause = "max_turns" },
		"drafted":  func(r *triggers.Result) { r.Staged = 1 },
		"blocked":  func(r *triggers.Result) { r.Blocked = 1 },
		"an error": func(r *triggers.Result) { r.CallErrors = 1 },
	} {
		r := good
		change(&r)
		if quieted(r, said).Silent {
			t.Errorf("%s: silent", name)
		}
	}
	if quieted(good, said[:1]).Silent {
		t.Error("silent without having said so")
	}
	said[1].Outcome = "refused"
	if quieted(good, said).Silent {
		t.Error("silent by a call that was refused")
	}
}
