package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/threads"
)

// Each counter speaks when its habit is there, and only then.
func TestDoctorJudgesRuns(t *testing.T) {
	run := func(change func(*threads.RunInfo)) threads.RunInfo {
		r := threads.RunInfo{Calls: 4, Cause: agent.Completed, Ended: time.Unix(1, 0)}
		if change != nil {
			change(&r)
		}
		return r
	}
	all := func(change func(*threads.RunInfo)) (list []threads.RunInfo) {
		for range 6 {
			list = append(list, run(change))
		}
		return list
	}
	one := func(change func(*threads.RunInfo)) []threads.RunInfo { return append(all(nil), run(change)) }
	for name, tt := range map[string]struct {
		runs []threads.RunInfo
		says string // "": in order
	}{
		"well":             {all(nil), ""},
		"none":             {nil, ""},
		"one unknown":      {one(func(r *threads.RunInfo) { r.Quality.Unknown = 1 }), "1 call ended without anybody knowing"},
		"one failed":       {one(func(r *threads.RunInfo) { r.CallErrors = 4 }), ""},
		"many failed":      {all(func(r *threads.RunInfo) { r.CallErrors = 2 }), "12 of 24 calls failed"},
		"bad calls":        {all(func(r *threads.RunInfo) { r.Quality.BadCalls = 1 }), "6 of 24 calls named no tool"},
		"refused":          {all(func(r *threads.RunInfo) { r.Denied = 2 }), "12 of 24 calls were refused by a person"},
		"empty turns":      {all(func(r *threads.RunInfo) { r.Quality.Nudges = 1 }), "6 turns were empty"},
		"circles":          {all(func(r *threads.RunInfo) { r.Quality.Repeats = 1 }), "6 runs went in circles"},
		"one at its limit": {one(func(r *threads.RunInfo) { r.Cause = agent.MaxTurns }), ""},
		"limits":           {all(func(r *threads.RunInfo) { r.Cause = agent.OutOfMoney }), "6 runs ended at a limit, the last at cost"},
		"summaries":        {all(func(r *threads.RunInfo) { r.Quality.Compactions = 3 }), "6 conversations had to be summarised"},
		"provider":         {all(func(r *threads.RunInfo) { r.Quality.Retries = 1 }), "asked again 6 times"},
		"still running":    {all(func(r *threads.RunInfo) { r.Ended, r.CallErrors = time.Time{}, 4 }), ""},
	} {
		var f findings
		judgeRuns(&f, tt.runs)
		var said []string
		for _, x := range f.list {
			if x.Level != "ok" {
				said = append(said, x.What)
			}
		}
		if tt.says == "" && len(said) > 0 || tt.says != "" && (len(said) != 1 || !strings.Contains(said[0], tt.says)) {
			t.Errorf("%s: %q, want %q", name, said, tt.says)
		}
	}
}
