package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/tools"
)

// No sequence of crashes, shutdowns, stops, failures, compactions and resumes
// breaks the pairing of calls and results, runs a call twice that must not be,
// or leaves one without an answer for good. The model is one that refuses every
// history which real providers refuse (fake_test.go).
func TestPairingHoldsWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		died := errors.New("the process died")
		count := map[string]int{}
		var kill func(error) // ends the run's context
		do := func(_ context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
			count[env.Call]++
			switch rapid.IntRange(0, 11).Draw(rt, "what the tool does") {
			case 0:
				return tools.Fail("no"), nil
			case 1:
				panic("boom")
			case 2:
				return tools.Output{}, errors.New("nobody can route around this")
			case 3:
				kill(errors.New("SIGTERM"))
				return tools.Fail("killed"), nil
			case 4:
				kill(StoppedBy{"U1"})
				return tools.Fail("killed"), nil
			case 5:
				return tools.OK(strings.Repeat("long ", 400)), nil
			}
			return tools.OK("ok"), nil
		}
		// One at a time, so that a failing case is the same every time.
		send := &tool{name: "send", do: do, caps: tools.Capabilities{Egress: tools.Chosen}}
		read := &tool{name: "read", do: do, readOnly: true, repeatable: true, caps: tools.Capabilities{PrivateData: true}}
		draft := &tool{name: "draft", do: do}
		r := newRig(rt, nil, append(Tools(ToolDeps{AskUser: true, Compact: true}), send, read, draft)...)
		st := &stager{names: []string{"draft"}, j: r.journal}
		r.Stager = st
		r.KeepRecent = 2
		r.Budget.Turns = 12

		r.model.script = func(_ int, req Request) (Turn, error) {
			if req.System == summariser {
				switch rapid.IntRange(0, 4).Draw(rt, "summary") {
				case 0:
					return Turn{}, nil
				case 1:
					return Turn{}, &ModelError{Kind: ErrTransient, What: "busy"}
				}
				return says("what was said, in short"), nil
			}
			switch rapid.IntRange(0, 9).Draw(rt, "turn") {
			case 0:
				return says("an answer"), nil
			case 1:
				return Turn{}, nil
			case 2:
				return Turn{}, &ModelError{Kind: ErrOverflow, What: "too long"}
			case 3:
				return Turn{Text: "half"}, &ModelError{Kind: ErrCut, What: "broke off"}
			case 4:
				return Turn{Stop: StopLength, Cut: []string{"send"}}, nil
			}
			list := rapid.SliceOfN(rapid.SampledFrom([]string{"read {}", `send {"to":"a@b.c"}`, "draft {}", "nosuch {}", "read {oops", "read ", `ask_user {"question":"?"}`, "compact {}"}), 1, 1).Draw(rt, "calls")
			if more := rapid.IntRange(0, 2).Draw(rt, "more"); more > 0 { // together with what cannot race
				list = append(list, []string{"nosuch {}", "draft {}", "compact {}"}[:more]...)
			}
			turn := calls(list...)
			turn.Usage = Usage{In: 100 + 40*len(req.Messages), Out: 10}
			return turn, nil
		}
		r.approver.say = func(Ask) (Decision, error) {
			switch rapid.IntRange(0, 4).Draw(rt, "decision") {
			case 0:
				return Deny{Reason: "no"}, nil
			case 1:
				return Blocked{Reason: "nobody"}, nil
			case 2:
				kill(StoppedBy{"U1"})
				return nil, StoppedBy{"U1"}
			}
			return Allow{}, nil
		}

		lives := rapid.IntRange(1, 8).Draw(rt, "lives")
		for life := range lives {
			last := life == lives-1
			ctx, cancel := context.WithCancelCause(context.Background())
			kill = cancel
			r.CompactAt = rapid.SampledFrom([]int{0, 150, 400}).Draw(rt, "threshold")
			crashed := false
			left := rapid.IntRange(0, 25).Draw(rt, "writes before the crash")
			r.journal.crash = func(string) error {
				if left--; left < 0 && !last {
					crashed = true
					cancel(died) // nothing that is written after this reaches the record
					return died
				}
				return nil
			}
			r.load()
			out := Do(ctx, r.Run)
			cancel(nil)
			r.journal.crash = nil
			if !crashed && out.Cause != Shutdown {
				if open := len(r.journal.states); open > 0 {
					rt.Fatalf("a run that ended with %s left %d calls open: %v", out.Cause, open, r.journal.states)
				}
				// The next life is a new run over a new message.
				r.journal.add(Message{Turn: r.journal.turn + 1, Role: User, Author: ByOwner, Text: fmt.Sprintf("message %d", life)})
			}
		}
		for id, n := range count {
			if n > 1 && !strings.HasPrefix(toolOf(r.journal, id), "read") {
				rt.Errorf("call %s of %s ran %d times", id, toolOf(r.journal, id), n)
			}
		}
		history, _ := r.journal.History(context.Background())
		for _, m := range Paired(history) {
			if m.Role == User && strings.Count(m.Text, strings.TrimSpace(summaryHead)) > 1 {
				rt.Errorf("a summary in a summary")
			}
		}
	})
}

func toolOf(j *memory, call string) string {
	for _, m := range j.messages {
		for _, c := range m.Calls {
			if c.ID == call {
				return c.Tool
			}
		}
	}
	return ""
}

// Paired gives any list of messages a shape that providers take.
func TestPairedIsAlwaysSendable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "n")
		ms := []Message{{Role: User, Author: ByOwner, Text: "hi"}}
		var ids []string
		for i := range n {
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				m := Message{Role: Assistant, Author: ByModel}
				for k := range rapid.IntRange(0, 3).Draw(rt, "calls") {
					id := fmt.Sprintf("c%d.%d", i, k)
					ids = append(ids, id)
					m.Calls = append(m.Calls, Call{ID: id})
				}
				ms = append(ms, m)
			case 1, 2: // a result of some call, or of none
				id := "orphan"
				if len(ids) > 0 {
					id = rapid.SampledFrom(ids).Draw(rt, "id")
				}
				ms = append(ms, Message{Role: ToolRole, CallID: id, Text: "r"})
			default:
				ms = append(ms, Message{Role: User, Text: "more"})
			}
		}
		ms = append(ms, Message{Role: User, Text: "and?"})
		if why := refused(Paired(ms)); why != "" {
			rt.Error(why)
		}
	})
}
