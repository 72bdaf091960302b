package threads

import (
	"testing"

	"pgregory.net/rapid"
)

var allStates = []State{Idle, Queued, Running, Awaiting, Staged, Done, Failed, Cancelled, Interrupted}
var allEvents = []event{evMessage, evStart, evWait, evProceed, evPark, evFinish, evStage, evSettle, evFail, evStop, evCrash, evShutdown}

func TestEveryStateSaysWhatResolvesIt(t *testing.T) {
	for _, s := range allStates {
		if s.Resolves() == "" {
			t.Errorf("%s does not say what resolves it", s)
		}
		if transitions[s] == nil {
			t.Errorf("%s is a dead end", s)
		}
	}
}

// A message always leads to an answer, whatever happened before: from every
// state that can be reached, a message and the start of a run lead to running.
func TestAMessageIsAlwaysAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Idle
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if n, ok := s.next(rapid.SampledFrom(allEvents).Draw(t, "event")); ok {
				s = n
			}
		}
		for _, ev := range []event{evMessage, evStart} {
			if n, ok := s.next(ev); ok {
				s = n
			}
		}
		if s != Running {
			t.Fatalf("a message and a start lead to %s, not to running", s)
		}
	})
}

// After a crash nothing claims to run, and nothing is lost: what was live stays
// live.
func TestACrashLeavesNothingRunning(t *testing.T) {
	for _, s := range allStates {
		n, ok := s.next(evCrash)
		if !ok {
			n = s
		}
		if n == Running {
			t.Errorf("after a crash, %s is %s", s, n)
		}
		if s.Live() && !n.Live() {
			t.Errorf("a crash loses %s: it becomes %s", s, n)
		}
	}
}
