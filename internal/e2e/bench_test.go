package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// BenchmarkStart is from the command to the moment in which a message would be
// answered, with a home that exists; beside it the same binary's `version`, which
// does nothing but start.
func BenchmarkStart(b *testing.B) {
	home := b.TempDir()
	launch(b, home).stop()
	var took, floor []time.Duration
	for b.Loop() {
		began := time.Now()
		p := launch(b, home)
		took = append(took, time.Since(began))
		b.StopTimer()
		p.stop()
		began = time.Now()
		if out, err := p.run("version"); err != nil {
			b.Fatalf("version: %v\n%s", err, out)
		}
		floor = append(floor, time.Since(began))
		b.StartTimer()
	}
	report(b, took, "start")
	report(b, floor, "floor")
}

// entry is one line of the workspace's inspector.
type entry struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Method  string    `json:"method"`
	EventID string    `json:"event_id"`
}

// BenchmarkAck is from an envelope's way out of the workspace to its ack's way
// in, message by message, beside its floor in the same run. Each message and each
// floor has the machine for itself.
func BenchmarkAck(b *testing.B) {
	p := launch(b, b.TempDir())
	defer p.stop()
	user := p.ready.DMs["mallory"] // nobody answers: what is measured is the door
	floor := make([]time.Duration, 0, 512)
	bare := newFloor(b)
	for b.Loop() {
		if err := p.post("message", map[string]any{"user": "mallory", "channel": user, "text": "hello"}, nil); err != nil {
			b.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
		floor = append(floor, bare.once(b))
	}
	var log struct{ Entries []entry }
	if err := p.get("log?since=0", &log); err != nil {
		b.Fatal(err)
	}
	sent := map[string]time.Time{}
	var acks []time.Duration
	for _, e := range log.Entries {
		switch at, known := sent[e.EventID]; {
		case e.EventID == "":
		case e.Kind == "envelope":
			sent[e.EventID] = e.At
		case e.Kind == "ack" && known:
			acks = append(acks, e.At.Sub(at))
		}
	}
	report(b, acks, "ack")
	report(b, floor, "floor")
}

// BenchmarkFirstChunk is from the moment in which a model without latency has
// sent its first tokens to the call of Slack that shows them, answered; beside it
// an empty call of the same workspace.
func BenchmarkFirstChunk(b *testing.B) {
	var mu sync.Mutex
	first := map[string]time.Time{} // by the order
	p := loaded(b, -1, metronome(func(order string, _ int) {
		mu.Lock()
		defer mu.Unlock()
		if _, known := first[order]; !known {
			first[order] = time.Now()
		}
	}), "")
	var took, floor []time.Duration
	for n := 0; b.Loop(); n++ {
		<-time.After(3 * time.Second) // one message a second and channel is Slack's rule, which is not what is measured
		order := fmt.Sprintf("stream 40 tokens, please; order %d.", n)
		t := p.dm(order)
		t.wait("the first words", func(list []message) bool { return len(list) > 0 && strings.Contains(list[0].words(), "w0 ") })
		t.answered(1)
		var at time.Time
		mu.Lock()
		for said, when := range first {
			if strings.Contains(said, order) { // the model is told more than was typed
				at = when
			}
		}
		mu.Unlock()
		shown := p.firstCall(t.ts, "w0 ")
		if at.IsZero() || shown.IsZero() {
			b.Fatal("the first tokens, or the call that shows them, left no trace")
		}
		took = append(took, shown.Sub(at))
		for range 10 {
			began := time.Now()
			res, err := http.PostForm(p.ready.APIURL+"api.test", nil)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			floor = append(floor, time.Since(began))
		}
	}
	report(b, took, "first")
	report(b, floor, "floor")
}

// firstCall is when the first call of Slack that carries these words was answered.
func (p *product) firstCall(thread, words string) time.Time {
	p.t.Helper()
	var log struct {
		Entries []struct {
			At      time.Time
			Kind    string
			Method  string
			Request json.RawMessage
		}
	}
	p.must(p.get("log?since=0", &log))
	begun := false
	for _, e := range log.Entries {
		if e.Kind != "call" || !strings.HasPrefix(e.Method, "chat.") {
			continue
		}
		begun = begun || strings.Contains(string(e.Request), thread)
		if begun && strings.Contains(string(e.Request), words) {
			return e.At
		}
	}
	return time.Time{}
}

func report(b *testing.B, list []time.Duration, what string) {
	if len(list) == 0 {
		b.Fatalf("nothing was measured of %s", what)
	}
	slices.Sort(list)
	for name, at := range map[string]int{"p50": len(list) / 2, "p99": len(list) * 99 / 100} {
		b.ReportMetric(float64(list[at].Microseconds())/1000, "ms/"+what+"-"+name)
	}
}

// floor is the least that a durable ack costs: an echo on a bare WebSocket, and
// one commit of one row to a record.
type floor struct {
	conn *websocket.Conn
	db   *record.DB
	n    int
}

func newFloor(b *testing.B) *floor {
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
	b.Cleanup(srv.Close)
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http"), nil)
	if err != nil {
		b.Fatal(err)
	}
	db, err := record.Open(b.Context(), filepath.Join(b.TempDir(), "floor.db"), record.Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); db.Close() })
	return &floor{conn: conn, db: db}
}

func (f *floor) once(b *testing.B) time.Duration {
	began := time.Now()
	if err := f.conn.WriteMessage(websocket.TextMessage, make([]byte, 512)); err != nil {
		b.Fatal(err)
	}
	if _, _, err := f.conn.ReadMessage(); err != nil {
		b.Fatal(err)
	}
	f.n++
	err := f.db.Write(b.Context(), func(tx *record.Tx) error {
		_, err := tx.Exec(`INSERT INTO events (app, team, event, received) VALUES ('a', 't', ?, ?)`, fmt.Sprint(f.n), tx.NowMS())
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
