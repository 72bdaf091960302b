package triggers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func onMessage(name, channel, pattern string) Trigger {
	return Trigger{Name: name, Prompt: "what broke?", OnEvent: OnMessage, Channel: channel, Pattern: pattern}
}

func TestMessagesThatCauseARun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var heard []string
	f := newFixture(t, Config{}, Deps{Runner: runner(func(_ context.Context, tr Trigger, fire Fire) (Result, error) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, tr.Name+" "+fire.Event+" "+fire.Text)
		if !tr.Private || !tr.Untrusted || tr.Mode != "read-only" || tr.Channel != "" {
			t.Errorf("it runs as %+v", tr)
		}
		return Result{Calls: 1, StopCause: "completed"}, nil
	})})
	tr := f.add(t, onMessage("deploys", "C1", `(?i)deploy\w* failed`))
	if !tr.Private || !tr.Untrusted || f.Next(tr, 1, noon) != nil {
		t.Errorf("it was kept as %+v", tr)
	}
	f.add(t, onMessage("all-failures", "C1", `failed`))
	f.add(t, onMessage("elsewhere", "C2", `failed`))
	say := func(ts, channel, text string) (ran []string) {
		t.Helper()
		list, err := f.Heard(t.Context(), t.Context(), Message{Channel: channel, TS: ts, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		f.Wait()
		for _, d := range list {
			ran = append(ran, strings.TrimSpace(d.Trigger+" "+d.Do+" "+d.Reason))
		}
		return ran
	}
	if got := say("1", "C1", "Deployment failed again"); len(got) != 2 || got[0] != "all-failures run" || got[1] != "deploys run" {
		t.Errorf("it caused %v", got)
	}
	if got := say("1", "C1", "Deployment failed again"); len(got) != 0 {
		t.Errorf("a redelivery caused %v", got)
	}
	if got := say("2", "C1", "all is well"); len(got) != 0 {
		t.Errorf("good news caused %v", got)
	}
	if diff := cmp.Diff([]string{"- ok"}, f.ledger(t, "deploys")); diff != "" || len(heard) != 2 {
		t.Errorf("%v; -want +got:\n%s", heard, diff)
	}
	// A retyped prompt is the owner's; the messages are not.
	tr, err := f.Edit(t.Context(), terminal, "deploys", func(tr *Trigger) { tr.Prompt = "again" })
	if err != nil || !tr.Private || !tr.Untrusted {
		t.Errorf("the edit made %+v, %v", tr, err)
	}
	if _, _, err := f.SetState(t.Context(), terminal, "deploys", "disabled"); err != nil {
		t.Fatal(err)
	}
	if got := say("3", "C1", "Deployment failed"); len(got) != 1 || got[0] != "all-failures run" {
		t.Errorf("with one disabled it caused %v", got)
	}
	f.clock.add(48 * time.Hour) // the clock means nothing to them
	if got := f.tick(t); len(got) != 0 {
		t.Errorf("the clock caused %v", got)
	}
}

func TestSixAnHour(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, onMessage("deploys", "C1", "failed"))
	for i := range 9 {
		f.clock.add(time.Minute)
		if _, err := f.Heard(t.Context(), t.Context(), Message{Channel: "C1", TS: fmt.Sprint(i), Text: "failed"}); err != nil {
			t.Fatal(err)
		}
		f.Wait()
	}
	f.clock.add(54 * time.Minute) // the first three are an hour old
	for i := range 4 {
		if _, err := f.Heard(t.Context(), t.Context(), Message{Channel: "C1", TS: fmt.Sprint("later", i), Text: "failed"}); err != nil {
			t.Fatal(err)
		}
		f.Wait()
	}
	ok, limit := "- ok", "- skipped limit: 6 runs an hour"
	if diff := cmp.Diff([]string{ok, ok, ok, ok, ok, ok, limit, limit, limit, ok, ok, ok, limit}, f.ledger(t, "deploys")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMessagesWhileItRunsOrAllIsPaused(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	paused := false
	f := newFixture(t, Config{}, Deps{
		Paused: func(context.Context) (bool, error) { return paused, nil },
		Runner: runner(func(context.Context, Trigger, Fire) (Result, error) {
			<-end
			return Result{Calls: 1, StopCause: "completed"}, nil
		})})
	f.add(t, onMessage("deploys", "C1", "failed"))
	say := func(ts string) {
		t.Helper()
		if _, err := f.Heard(t.Context(), t.Context(), Message{Channel: "C1", TS: ts, Text: "failed"}); err != nil {
			t.Fatal(err)
		}
	}
	say("1")
	say("2")
	close(end)
	f.Wait()
	paused = true
	say("3")
	if diff := cmp.Diff([]string{"- ok", "- skipped overlap: its last run has not ended", "- skipped paused: everything was"}, f.ledger(t, "deploys")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestValidateMessageTriggers(t *testing.T) {
	for _, c := range []struct {
		change func(*Trigger)
		says   string
	}{
		{func(t *Trigger) { t.Channel = "" }, "the channel that it watches"},
		{func(t *Trigger) { t.Pattern = "" }, "needs a pattern"},
		{func(t *Trigger) { t.Pattern = "(" }, "does not parse"},
		{func(t *Trigger) { t.Pattern = ".*" }, "matches every message"},
		{func(t *Trigger) { t.Pattern = strings.Repeat("x", 513) }, "512 is the most"},
		{func(t *Trigger) { t.Mode = "allow" }, "read-only"},
		{func(t *Trigger) { t.Schedule = "@daily" }, "not both"},
		{func(t *Trigger) { t.Name, t.Kind = "digest", "digest" }, "only a prompt"},
	} {
		tr := onMessage("deploys", "C1", "failed")
		c.change(&tr)
		if err := tr.Validate(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v; want something with %q", tr, err, c.says)
		}
	}
}
