package bot

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// TestRunEndsWhatItStarts: when Run has returned, nothing of it is left: no
// socket, no reader, no stream, no worker. It also binds an owner by a code and
// settles a link that a stranger tries.
func TestRunEndsWhatItStarts(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ws, err := localslack.Start(ctx, localslack.Config{})
	if err != nil {
		t.Fatal(err)
	}
	at := ws.Ready()
	db, err := record.Open(ctx, filepath.Join(t.TempDir(), "mecha.db"), record.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	ob := outbox.New(db, outbox.Config{}, outbox.Deps{Surface: mailSurface{}, Log: quiet})
	th := threads.New(threads.Config{}, threads.Deps{DB: db, Outbox: ob, Log: quiet, Work: t.TempDir(), Spill: t.TempDir()})
	transport := &http.Transport{}
	b, err := New(Config{APIURL: at.APIURL, BotToken: at.BotToken, AppToken: at.AppToken},
		Deps{DB: db, Threads: th, Outbox: ob, Triggers: triggers.New(db, triggers.Config{}, triggers.Deps{Log: quiet}), Log: quiet, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	up := make(chan struct{})
	done := make(chan error, 1)
	go func() { done <- b.Run(run, func() { close(up) }) }() // waited for below
	select {
	case <-up:
	case err := <-done:
		t.Fatal(err)
	case <-time.After(20 * time.Second):
		t.Fatal("it did not connect")
	}
	if !b.Connected() || b.Uptime() < 0 {
		t.Error("it says that it is not connected")
	}
	if p, err := b.OpenThread(run, at.Users[0].ID, "", "hello"); err != nil || p.ThreadTS == "" {
		t.Errorf("OpenThread: %+v, %v", p, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if b.Connected() {
		t.Error("it says that it is still connected")
	}
	transport.CloseIdleConnections()
	ws.Close()
	db.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	goleak.VerifyNone(t, leaks)
}

// TestLinkCodes: a code binds once, in its time, and guessing ends after a few
// tries.
func TestLinkCodes(t *testing.T) {
	b := newBench(t)
	p := People{DB: b.db}
	ctx := t.Context()
	code, expires, err := p.NewCode(ctx)
	if err != nil || len(code) != codeLength || time.Until(expires) > codeLife || !looksLikeCode(code) {
		t.Fatalf("a code %q until %v, %v", code, expires, err)
	}
	who := Person{Team: "T1", User: "UNEW"}
	if err := p.Redeem(ctx, who, "AAAAAAAAAA"); err != ErrNoCode {
		t.Errorf("a wrong code: %v", err)
	}
	if err := p.Redeem(ctx, who, " "+code+"\n"); err != nil {
		t.Errorf("the code: %v", err)
	}
	if r, err := p.Role(ctx, "T1", "UNEW"); err != nil || r != Owner {
		t.Errorf("role %s, %v", r, err)
	}
	if r, _ := p.Role(ctx, "T2", "UNEW"); r != Stranger {
		t.Errorf("in another team they are %s", r)
	}
	if err := p.Redeem(ctx, Person{Team: "T1", User: "UOTHER"}, code); err != ErrNoCode {
		t.Errorf("the code a second time: %v", err)
	}
	next, _, err := p.NewCode(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range codeTries {
		_ = p.Redeem(ctx, who, "BBBBBBBBBB")
	}
	if err := p.Redeem(ctx, Person{Team: "T1", User: "UOTHER"}, next); err != ErrNoCode {
		t.Errorf("the right code after %d wrong ones: %v", codeTries, err)
	}
	if ok, err := p.Unbind(ctx, "T1", "UNEW"); err != nil || !ok {
		t.Errorf("unbind: %v, %v", ok, err)
	}
	if r, _ := p.Role(ctx, "T1", "UNEW"); r != Stranger {
		t.Errorf("after unbind they are %s", r)
	}
	for _, text := range []string{"", "hello", "ABCDEFGHI1", "ABCDEFGH2", "ABCDEFGH234", "ÄBCDEFGH23"} {
		if looksLikeCode(text) {
			t.Errorf("%q is taken for a code", text)
		}
	}
}
