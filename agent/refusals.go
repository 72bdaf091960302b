package agent

import (
	"fmt"
	"slices"
	"strings"
)

// The words in which a call's fate reaches the model, when it did not run. The
// prefixes belong to the loop alone: they tell a person's no, which may be
// learned from, from the machine's, which may not.
const (
	prefixDenied  = "The owner said no: "
	prefixBlocked = "Blocked by policy: "
	prefixHook    = "Refused by a hook: "

	interrupted = "Interrupted; the outcome is unknown: the process ended while this call was running, and it may or may not have taken effect. " +
		"Do not simply repeat it. Tell the owner, and look (read-only) at what is there before doing anything that builds on it."
	stoppedBefore = prefixBlocked + "the owner stopped this run before the call was made. It was not run."
	abandoned     = "The run was stopped while this call was running; its outcome is unknown. Do not simply repeat it: look first (read-only), and tell the owner."
)

func unknownTool(name string, offered []string) string {
	near := closest(name, offered)
	if near != "" {
		near = fmt.Sprintf(" Did you mean %s?", near)
	}
	return fmt.Sprintf("There is no tool named %q here.%s The tools are: %s.", name, near, strings.Join(offered, ", "))
}

func notInPlanning(name string) string {
	return prefixBlocked + fmt.Sprintf("`%s` changes something, and this is the planning phase: only read-only tools run. Put the step into the plan.", name)
}

func stagingFailed(name string, err error) string {
	return fmt.Sprintf("`%s` is routed through the outbox, and staging failed: %s.\nNothing was sent. Tell the owner.", name, strings.TrimSuffix(err.Error(), "."))
}

// closest answers the offered name that a wrong one was meant to be, or "".
func closest(name string, offered []string) string {
	best, most := "", len(name)/3+1
	for _, o := range offered {
		if d := distance(strings.ToLower(name), strings.ToLower(o), most); d < most {
			best, most = o, d
		}
	}
	if best == "" { // the name without its server's prefix, or with one
		i := slices.IndexFunc(offered, func(o string) bool {
			return len(name) > 3 && strings.HasSuffix(o, "_"+name) || len(o) > 3 && strings.HasSuffix(name, "_"+o)
		})
		if i >= 0 {
			best = offered[i]
		}
	}
	return best
}

// distance counts the letters to change, add or take out; most is enough.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most || len(a) > 64 {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
