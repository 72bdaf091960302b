package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// The gate and the execution of one no-op call, beside the floor of a goroutine
// and a channel, with a long conversation behind it: the cost must not follow
// the transcript's length.
func BenchmarkCall(b *testing.B) {
	for _, length := range []int{0, 2000} {
		b.Run(fmt.Sprint("history=", length), func(b *testing.B) {
			noop := &tool{name: "noop", readOnly: true, repeatable: true}
			r := newRig(b, nil, noop)
			r.Sink, r.Journal = &silent{}, forgetful{r.journal}
			l := newLoop(r.Run)
			for i := range length {
				l.history = append(l.history, Message{Role: User, Text: fmt.Sprint("message ", i)})
			}
			for i := range length { // as many reads behind it
				l.taint.Add(tools.Mark{Leg: tools.Private, Call: fmt.Sprint("c", i), Tool: "fs_read"})
				l.words = append(l.words, tools.Words{Origin: tools.FromPrivate, Text: "something"})
			}
			keep, words := len(l.history), len(l.words)
			call := []Call{{ID: "c", WireID: "w", Tool: "noop", Args: json.RawMessage(`{"n":1}`)}}
			ctx := b.Context()
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				l.guard = repeats{}
				if !l.answer(ctx, call) {
					b.Fatal(l.out)
				}
				l.history, l.words, noop.ran = l.history[:keep], l.words[:words], noop.ran[:0]
			}
			// Beside the wall clock, which a busy machine stretches.
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	b.Run("floor", func(b *testing.B) {
		done := make(chan time.Time, 1)
		for b.Loop() {
			go func() { done <- time.Now() }()
			<-done
		}
	})
}

// cpuTime is what this process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forgetful is a journal that costs nothing.
type forgetful struct{ *memory }

func (forgetful) Call(context.Context, string, CallState, json.RawMessage) error { return nil }
func (forgetful) Result(context.Context, Result) error                           { return nil }
