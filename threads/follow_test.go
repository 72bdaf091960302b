package threads

import (
	"context"
	"testing"
)

// A command in another process pauses and resumes everything: the bot's process
// follows the record.
func TestAPauseFromAnotherProcessIsFollowed(t *testing.T) {
	r, _ := open(t, t.TempDir(), calls("poke", `{}`), says("here I am"))
	terminal := New(Config{}, Deps{DB: r.db})
	who := Who{User: "local:1", Surface: "terminal"}

	r.say(t, "100.000001", "poke")
	r.until(t, "asked", func() bool { list, _ := r.PendingApprovals(t.Context()); return len(list) == 1 })
	if _, err := terminal.Pause(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	r.until(t, "stopped", func() bool { return r.state(t) == Cancelled })
	r.say(t, "100.000002", "are you there?")
	if s := r.state(t); s != Queued {
		t.Errorf("paused, the thread is %s, want queued", s)
	}
	if err := terminal.Resume(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	if paused, err := r.Paused(context.Background()); paused || err != nil {
		t.Errorf("still paused: %v, %v", paused, err)
	}
}
