package localslack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
)

// BenchmarkAck is one envelope's way to an app and its ack's way back. The
// floor, measured in the same run, is a bare socket's echo of the same bytes.
func BenchmarkAck(b *testing.B) {
	b.Run("envelope", func(b *testing.B) {
		w := start(b, Config{})
		c := w.dial()
		payload := encode(map[string]any{"type": "event_callback", "event": map[string]any{"type": "message", "text": strings.Repeat("x", 500)}})
		go echoAcks(c)
		b.ResetTimer()
		for range b.N {
			if _, status := w.app.sockets.ask(b.Context(), &envelope{kind: "interactive", event: "bench", payload: payload, answers: true}); status != "acked" {
				b.Fatal(status)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		up := websocket.Upgrader{}
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			c, err := up.Upgrade(rw, r, nil)
			if err != nil {
				return
			}
			defer c.Close()
			for {
				kind, m, err := c.ReadMessage()
				if err != nil || c.WriteMessage(kind, m) != nil {
					return
				}
			}
		}))
		defer srv.Close()
		c, _, err := websocket.DefaultDialer.Dial("ws"+srv.URL[4:], nil)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		m := []byte(strings.Repeat("x", 700))
		b.ResetTimer()
		for range b.N {
			if err := c.WriteMessage(websocket.TextMessage, m); err != nil {
				b.Fatal(err)
			}
			if _, _, err := c.ReadMessage(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// echoAcks acks whatever comes until the socket ends.
func echoAcks(c *websocket.Conn) (n int) {
	for {
		var f struct {
			ID string `json:"envelope_id"`
		}
		_, raw, err := c.ReadMessage()
		if err != nil {
			return n
		}
		if json.Unmarshal(raw, &f) == nil && f.ID != "" {
			n++
			if c.WriteMessage(websocket.TextMessage, []byte(`{"envelope_id":"`+f.ID+`"}`)) != nil {
				return n
			}
		}
	}
}

// BenchmarkMessages posts by the method's own code, each message to one of ten
// sockets that ack it and to five pages: 5,000 a second is 200 µs each.
func BenchmarkMessages(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("durable=%v", kept), func(b *testing.B) {
			cfg := Config{}
			if kept {
				cfg.Dir = b.TempDir()
			}
			w := start(b, cfg)
			var group sync.WaitGroup
			for range maxSockets {
				c := w.dial()
				group.Go(func() { echoAcks(c) })
				b.Cleanup(func() { c.Close() })
			}
			for range 5 {
				sub := w.pages.subscribe(w.user("bob").ID)
				group.Go(func() {
					for range sub.out {
					}
				})
				b.Cleanup(func() { w.pages.unsubscribe(sub); close(sub.out) })
			}
			general := w.channel("general")
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				c := &call{w: w.Workspace, name: "chat.postMessage", who: principal{kind: botToken, user: w.app.bot, app: w.app},
					args: args{"channel": {text: general, isText: true}, "text": {text: "a message of an ordinary length, more or less", isText: true}}}
				if _, err := w.methods["chat.postMessage"].run(c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkHTTPPost is the same over HTTP, parsing and logging included.
func BenchmarkHTTPPost(b *testing.B) {
	w := start(b, Config{})
	body := "token=" + w.ready.BotToken + "&channel=" + w.channel("general") + "&text=hello"
	b.ResetTimer()
	for range b.N {
		res, err := w.http.Post(w.ready.APIURL+"chat.postMessage", "application/x-www-form-urlencoded", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		var out struct {
			OK bool `json:"ok"`
		}
		json.NewDecoder(res.Body).Decode(&out)
		res.Body.Close()
		if !out.OK {
			b.Fatal("refused")
		}
	}
}

// BenchmarkBigChannel opens a channel of 100,000 messages, and says how much
// memory one of them takes beyond its own bytes.
func BenchmarkBigChannel(b *testing.B) {
	w := start(b, Config{})
	general, bot := w.channel("general"), w.ready.BotUserID
	const n, text = 100_000, "a message of an ordinary length, more or less"
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w.store.mu.Lock()
	for range n {
		m := &message{TS: w.store.nextTS(), Channel: general, User: bot, Text: strings.Clone(text)}
		w.store.insert(m)
	}
	w.store.mu.Unlock()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ResetTimer()
	for range b.N {
		if got := w.local("history?user=alice&limit=50&channel="+general, nil)["messages"].([]any); len(got) != 50 {
			b.Fatal(len(got))
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n-float64(len(text)), "overhead-B/message")
}
