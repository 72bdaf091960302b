package e2e

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkStart is from the command to the moment in which a message would be
// answered, with a home that exists.
func BenchmarkStart(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		began := time.Now()
		p := launch(b, home)
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/start")
		b.StopTimer()
		p.stop()
		b.StartTimer()
	}
}

// entry is one line of the workspace's inspector.
type entry struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Method  string    `json:"method"`
	EventID string    `json:"event_id"`
}

// BenchmarkAck is from an envelope's way out of the workspace to its ack's way
// in, message by message, beside its floor in the same run: an echo on a bare
// socket and one small file brought to the disk.
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

// BenchmarkFirstChunk is from a message to the first piece of its answer, model
// and all.
func BenchmarkFirstChunk(b *testing.B) {
	p := launch(b, b.TempDir())
	defer func() { p.stop() }()
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		if n > 0 && n%5 == 0 { // Slack lets twenty streams a minute begin: that is not what is measured
			b.StopTimer()
			p.stop()
			p = launch(b, b.TempDir())
			b.StartTimer()
		}
		began := time.Now()
		var a struct{ TS string }
		if err := p.post("message", map[string]any{"user": "alice", "channel": p.ready.DMs["alice"], "text": "hello"}, &a); err != nil {
			b.Fatal(err)
		}
		t := thread{p: p, channel: p.ready.DMs["alice"], ts: a.TS}
		for {
			list, err := t.ours()
			if err != nil {
				b.Fatal(err)
			}
			if len(list) > 0 && strings.TrimSpace(list[0].words()) != "" {
				break
			}
			if time.Since(began) > patience {
				b.Fatal("no answer")
			}
		}
		took = append(took, time.Since(began))
	}
	report(b, took, "first")
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

// floor is the least that a durable ack costs.
type floor struct {
	conn net.Conn
	file *os.File
}

func newFloor(b *testing.B) *floor {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { // ends with the connection
		c, err := l.Accept()
		if err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); l.Close(); file.Close() })
	return &floor{conn, file}
}

func (f *floor) once(b *testing.B) time.Duration {
	began := time.Now()
	buf := make([]byte, 512)
	if _, err := f.conn.Write(buf); err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadFull(f.conn, buf); err != nil {
		b.Fatal(err)
	}
	if _, err := f.file.Write(make([]byte, 4096)); err != nil {
		b.Fatal(err)
	}
	if err := f.file.Sync(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
