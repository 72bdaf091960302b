package triggers

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// blocking runs until it is cancelled, or told to end.
type blocking struct{ began, end chan struct{} }

func (b blocking) Run(ctx context.Context, _ Trigger, _ Fire) (Result, error) {
	b.began <- struct{}{}
	select {
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	case <-b.end:
		return Result{Turns: 2, Summary: "done"}, nil
	}
}

// What another process asks for is taken up by the one that fires triggers, and
// the ledger tells how it ended.
func TestAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	db, err := record.Open(ctx, filepath.Join(t.TempDir(), "mecha.db"), record.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := blocking{make(chan struct{}), make(chan struct{})}
	bot := New(db, Config{}, Deps{Runner: run})
	terminal := New(db, Config{}, Deps{})
	who := Who{User: "local:1", Surface: "terminal"}
	if _, err := terminal.Add(ctx, who, Trigger{Name: "brief", Schedule: "0 7 * * *", Zone: "Europe/Berlin", Prompt: "look"}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- bot.Run(ctx) }()
	defer func() { cancel(); <-ended }()

	asked, err := terminal.Ask(ctx, who, "brief")
	if err != nil {
		t.Fatal(err)
	}
	<-run.began
	if _, err := terminal.Ask(ctx, who, "brief"); err == nil {
		t.Error("a second run was asked for while one is open")
	}
	close(run.end)
	if f := finished(t, terminal, db, asked.ID); f.Status != "ok" || f.Turns != 2 || f.Summary != "done" {
		t.Errorf("the run ended as %+v", f)
	}

	bot.Runner = blocking{run.began, make(chan struct{})}
	if asked, err = terminal.Ask(ctx, who, "brief"); err != nil {
		t.Fatal(err)
	}
	<-run.began
	if ok, err := terminal.AskCancel(ctx, who, "brief"); !ok || err != nil {
		t.Fatalf("cancel: %v, %v", ok, err)
	}
	if f := finished(t, terminal, db, asked.ID); f.Status != "error" || f.Reason != "cancelled" {
		t.Errorf("the cancelled run ended as %+v", f)
	}
	if ok, err := terminal.AskCancel(ctx, who, "brief"); ok || err != nil {
		t.Errorf("cancelling nothing: %v, %v", ok, err)
	}
	if _, err := terminal.Ask(ctx, who, "nothing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("asking for a trigger that is not there: %v", err)
	}
}

func finished(t *testing.T, tr *Triggers, db *record.DB, id int64) Fire {
	t.Helper()
	changed, cancel := db.Subscribe()
	defer cancel()
	for end := time.After(10 * time.Second); ; {
		f, err := tr.Fire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if f.Status != "running" {
			return f
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("run %d has not ended: %+v", id, f)
		}
	}
}
