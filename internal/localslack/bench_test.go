package localslack

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
		_, raw, err := c.ReadMessage()
		if err != nil {
			return n
		}
		// The id is found, not parsed: what is measured is the workspace, not its client.
		if _, rest, found := bytes.Cut(raw, []byte(`"envelope_id":`)); found {
			n++
			id, _, _ := bytes.Cut(rest, []byte(","))
			if c.WriteMessage(websocket.TextMessage, slices.Concat([]byte(`{"envelope_id":`), id, []byte("}"))) != nil {
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
					for {
						select {
						case _, more := <-sub.out:
							if !more {
								return // it read too slowly
							}
						case <-b.Context().Done():
							return
						}
					}
				})
				b.Cleanup(func() { w.pages.unsubscribe(sub) })
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

// BenchmarkHTTPPost is the whole way over the wire: each message is posted over
// HTTP by one of eight clients, goes to one of ten sockets that ack it, and to
// five pages. The floor, measured in the same run, is a bare net/http server
// that answers with bytes made beforehand and sends as many to one of ten bare
// sockets and to five bare event streams. Clients and readers share the
// machine, and the process, with the server in both: messages/s is that of
// whatever the machine had left, cpu-µs/message of all of them together is
// hardly touched by its other work.
func BenchmarkHTTPPost(b *testing.B) {
	const posters, readers = 8, 5
	post := func(b *testing.B, client *http.Client, url, body string) {
		b.Helper()
		var group sync.WaitGroup
		var n atomic.Int64
		before := cpuTime(b)
		b.ResetTimer()
		for range posters {
			group.Go(func() {
				for n.Add(1) <= int64(b.N) {
					res, err := client.Post(url, "application/x-www-form-urlencoded", strings.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					raw, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if !bytes.Contains(raw, []byte(`"ok":true`)) {
						b.Errorf("refused: %s", raw)
						return
					}
				}
			})
		}
		group.Wait()
		b.StopTimer()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/message")
	}
	watch := func(b *testing.B, url, token string) {
		req, _ := http.NewRequestWithContext(b.Context(), "GET", url, nil)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { res.Body.Close() })
		go io.Copy(io.Discard, res.Body) // ends with the body
	}
	client := func(b *testing.B) *http.Client {
		tr := &http.Transport{MaxIdleConnsPerHost: posters}
		b.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr}
	}
	b.Run("workspace", func(b *testing.B) {
		w := start(b, Config{})
		for range maxSockets {
			c := w.dial()
			go echoAcks(c) // ends with the socket, which dial closes
		}
		for range readers {
			watch(b, w.ready.URL+"/_local/events?user=bob", w.ready.ControlToken)
		}
		post(b, client(b), w.ready.APIURL+"chat.postMessage", "token="+w.ready.BotToken+"&channel="+w.channel("general")+"&text=hello")
		if left := len(w.pages.subs); left != readers {
			b.Errorf("%d of %d pages are left: the others read too slowly and were cut off", left, readers)
		}
	})
	b.Run("floor", func(b *testing.B) { floor(b, maxSockets, readers, post, watch, client) })
}

// cpuTime is the processor time that this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// floor serves what the workspace serves without doing any of it.
func floor(b *testing.B, sockets, readers int, post func(*testing.B, *http.Client, string, string), watch func(*testing.B, string, string), client func(*testing.B) *http.Client) {
	answer := []byte(`{"ok":true,"x":"` + strings.Repeat("x", 600) + `"}`)
	frame := []byte(strings.Repeat("x", 1300))
	event := []byte("event: message\ndata: " + strings.Repeat("x", 600) + "\n\n")
	frames, events := make([]chan []byte, sockets), make([]chan []byte, readers)
	var opened, watched, next atomic.Int64
	for i := range frames {
		frames[i] = make(chan []byte, outBuffer)
	}
	for i := range events {
		events[i] = make(chan []byte, pageBuffer)
	}
	up := websocket.Upgrader{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", func(rw http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		frames[next.Add(1)%int64(sockets)] <- frame
		for _, e := range events {
			e <- event
		}
		rw.Write(answer)
	})
	mux.HandleFunc("GET /socket", func(rw http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		out := frames[opened.Add(1)-1]
		go func() { // reads the acks until the client closes
			for {
				if _, _, err := c.ReadMessage(); err != nil {
					return
				}
			}
		}()
		for {
			select {
			case f := <-out:
				if c.WriteMessage(websocket.TextMessage, f) != nil {
					return
				}
			case <-b.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("GET /events", func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(http.StatusOK)
		rc := http.NewResponseController(rw)
		rc.Flush()
		out := events[watched.Add(1)-1]
		for {
			select {
			case e := <-out:
				rw.Write(e)
				rc.Flush()
			case <-r.Context().Done():
				return
			case <-b.Context().Done():
				return
			}
		}
	})
	srv := httptest.NewServer(mux)
	b.Cleanup(srv.Close)
	for range sockets {
		c, _, err := websocket.DefaultDialer.Dial("ws"+srv.URL[4:]+"/socket", nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		go func() { // acks until the socket ends
			for {
				if _, _, err := c.ReadMessage(); err != nil || c.WriteMessage(websocket.TextMessage, []byte(`{"envelope_id":"00000000-0000-4000-8000-000000000000"}`)) != nil {
					return
				}
			}
		}()
	}
	for range readers {
		watch(b, srv.URL+"/events", "none")
	}
	post(b, client(b), srv.URL+"/", "token="+strings.Repeat("x", 56)+"&channel=C0123456789&text=hello")
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
