package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Recording is a run as the record has it: what a replay asks a model anew.
type Recording struct {
	System   string
	Tools    []ToolDef
	Messages []Message // of the conversation, up to the run's end
	From     int       // index of the run's first own message
}

// DivergenceKind says how a replayed turn differs from the recorded one. Words
// are not compared: two answers that say the same rarely have the same letters.
type DivergenceKind string

const (
	OtherTool   DivergenceKind = "tool"    // another tool is called
	OtherArgs   DivergenceKind = "args"    // the same tool, with other arguments
	ExtraCall   DivergenceKind = "extra"   // a call that the record does not have
	MissingCall DivergenceKind = "missing" // a call that the record has
)

// Divergence is one difference.
type Divergence struct {
	Turn     int
	Kind     DivergenceKind
	Recorded string // tool and arguments; empty for an extra call
	Replayed string // empty for a missing one
}

// Replayed is what a replay came to.
type Replayed struct {
	Turns       int // turns that were asked
	Same        int // of those, without a divergence
	Usage       Usage
	Divergences []Divergence
}

// Replay asks m for each turn of a recorded run anew, with the recorded
// conversation before it: earlier answers and all results are the record's. No
// tool, hook or rule runs, nothing is staged and nothing is written. It ends at
// the first turn that diverges unless follow is set; then the next turn is asked
// as if the model had done what the record says.
func Replay(ctx context.Context, m Model, r Recording, follow bool) (out Replayed, err error) {
	for i := r.From; i < len(r.Messages); i++ {
		was := r.Messages[i]
		if was.Role != Assistant || was.Author != ByModel {
			continue
		}
		turn, err := m.Stream(ctx, Request{System: r.System, Messages: Paired(r.Messages[:i:i]), Tools: r.Tools}, func(Delta) {})
		out.Usage = addUsage(out.Usage, turn.Usage)
		if err != nil {
			return out, fmt.Errorf("asking %s for turn %d anew: %w", m.Name(), was.Turn, err)
		}
		out.Turns++
		found := diverge(was.Turn, was.Calls, turn.Calls)
		if len(found) == 0 {
			out.Same++
			continue
		}
		out.Divergences = append(out.Divergences, found...)
		if !follow {
			break
		}
	}
	return out, nil
}

// diverge compares the calls of one turn, in order.
func diverge(turn int, was, now []Call) (list []Divergence) {
	for i := range max(len(was), len(now)) {
		d := Divergence{Turn: turn}
		switch {
		case i >= len(was):
			d.Kind, d.Replayed = ExtraCall, callText(now[i])
		case i >= len(now):
			d.Kind, d.Recorded = MissingCall, callText(was[i])
		case was[i].Tool != now[i].Tool:
			d.Kind, d.Recorded, d.Replayed = OtherTool, callText(was[i]), callText(now[i])
		case !sameArgs(was[i].Args, now[i].Args):
			d.Kind, d.Recorded, d.Replayed = OtherArgs, callText(was[i]), callText(now[i])
		default:
			continue
		}
		list = append(list, d)
	}
	return list
}

// sameArgs compares values, not spellings; what does not parse is compared as it
// is written.
func sameArgs(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return strings.TrimSpace(string(a)) == strings.TrimSpace(string(b))
	}
	return reflect.DeepEqual(x, y)
}

func callText(c Call) string { return c.Tool + " " + strings.TrimSpace(string(c.Args)) }
