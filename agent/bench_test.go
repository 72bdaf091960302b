package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"
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
			keep, words := len(l.history), len(l.words)
			call := []Call{{ID: "c", WireID: "w", Tool: "noop", Args: json.RawMessage(`{"n":1}`)}}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				l.guard = repeats{}
				if !l.answer(ctx, call) {
					b.Fatal(l.out)
				}
				l.history, l.words, noop.ran = l.history[:keep], l.words[:words], noop.ran[:0]
			}
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

// forgetful is a journal that costs nothing.
type forgetful struct{ *memory }

func (forgetful) Call(context.Context, string, CallState, json.RawMessage) error { return nil }
func (forgetful) Result(context.Context, Result) error                           { return nil }
