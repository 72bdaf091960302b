package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// BenchmarkIntake is what an envelope costs from the socket to its ack, by what
// it holds; the floor is one small row by as many writers at once.
func BenchmarkIntake(b *testing.B) {
	for _, kind := range []struct{ name, event string }{
		{"echo", `{"type":"message","channel":"C1","user":"UBOT","bot_id":"B1","text":"ours","ts":"%d.000001"}`},
		{"edit", `{"type":"message","subtype":"message_changed","channel":"C1","message":{"ts":"1.1","user":"USTRANGER","text":"new"},"previous_message":{"ts":"1.1","user":"USTRANGER","text":"old"},"ts":"%d.000001"}`},
		{"stranger", `{"type":"message","channel":"C1","user":"USTRANGER","text":"a stranger's words","ts":"%d.000001"}`},
		{"owner", `{"type":"message","channel":"D1","user":"UALICE","text":"an owner's words","ts":"%d.000001"}`},
	} {
		b.Run(kind.name, func(b *testing.B) {
			bot := still(b)
			go func() { // what comes after the ack is not measured; ends with the benchmark
				for {
					select {
					case <-bot.work:
					case <-b.Context().Done():
						return
					}
				}
			}()
			var acked atomic.Int64
			eachOf(b, func(n int) {
				payload := fmt.Sprintf(`{"api_app_id":"A1","team_id":"T1","type":"event_callback","event_id":"Ev%d","event":`+kind.event+`}`, n, n)
				bot.take(b.Context(), envelope{ID: "e", Type: "events_api", Payload: json.RawMessage(payload), ack: func(json.RawMessage) { acked.Add(1) }})
			})
			if acked.Load() != int64(b.N) {
				b.Errorf("%d of %d envelopes were acknowledged", acked.Load(), b.N)
			}
		})
	}
	b.Run("floor", func(b *testing.B) {
		bot := still(b)
		eachOf(b, func(n int) {
			err := bot.DB.Write(b.Context(), func(tx *record.Tx) error {
				_, err := tx.Exec(`INSERT INTO events (app, team, event, received) VALUES ('a', 't', ?, ?)`, fmt.Sprint(n), tx.NowMS())
				return err
			})
			if err != nil {
				b.Error(err)
			}
		})
	})
}

// eachOf does b.N things by as many goroutines as intake has.
func eachOf(b *testing.B, do func(n int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range intakeWorkers {
		wg.Go(func() {
			for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
				do(n)
			}
		})
	}
	wg.Wait()
}

// still is a bot that is not connected: alice owns it, and nothing runs.
func still(b *testing.B) *Bot {
	b.Helper()
	db, err := record.Open(context.Background(), filepath.Join(b.TempDir(), "mecha.db"), record.Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	quiet := slog.New(slog.DiscardHandler)
	ob := outbox.New(db, outbox.Config{}, outbox.Deps{Surface: mailSurface{}, Log: quiet})
	th := threads.New(threads.Config{}, threads.Deps{DB: db, Outbox: ob, Log: quiet, Work: b.TempDir(), Spill: b.TempDir()})
	bot, err := New(Config{BotToken: "xoxb-1", AppToken: "xapp-1-A1-1", APIURL: "http://127.0.0.1:1/"},
		Deps{DB: db, Threads: th, Outbox: ob, Triggers: triggers.New(db, triggers.Config{}, triggers.Deps{Log: quiet}), Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	bot.me = identity{App: "A1", Team: "T1", User: "UBOT", BotID: "B1"}
	if err := bot.people().Bind(context.Background(), Person{Team: "T1", User: "UALICE", Role: Owner}, "seed"); err != nil {
		b.Fatal(err)
	}
	return bot
}
