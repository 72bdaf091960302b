package bot

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestBudgetStaysWithinTiers: however much is wanted, no method is called more
// often in a minute than Slack allows.
func TestBudgetStaysWithinTiers(t *testing.T) {
	t.Parallel()
	for method, per := range tiers {
		synctest.Test(t, func(t *testing.T) {
			b := newBudget()
			var at []time.Time
			for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
				if err := b.wait(t.Context(), method, ""); err != nil {
					t.Fatal(err)
				}
				at = append(at, time.Now())
			}
			for i := range at {
				n := 0
				for j := i; j < len(at) && at[j].Sub(at[i]) < time.Minute; j++ {
					n++
				}
				if n > per {
					t.Fatalf("%s: %d calls within a minute, and Slack allows %d", method, n, per)
				}
			}
			if len(at) < 2*per { // and most of what it allows is used
				t.Errorf("%s: only %d calls in three minutes", method, len(at))
			}
		})
	}
}

// TestPreviewsLeaveRoom: frames that may be left out never take what a card or
// a last word needs.
func TestPreviewsLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		for b.preview("chat.appendStream") {
		}
		began := time.Now()
		for range 5 {
			if err := b.wait(t.Context(), "chat.appendStream", ""); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("what matters waited %v behind previews", d)
		}
		if d := b.delay("chat.appendStream"); d > time.Second {
			t.Errorf("the next would wait %v", d)
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		b.obey("chat.update", 30*time.Second)
		b.obey("chat.update", 10*time.Second) // an earlier end does not shorten it
		if b.preview("chat.update") {
			t.Error("a preview went out while Slack had asked us to wait")
		}
		if d := b.delay("chat.update"); d != 30*time.Second {
			t.Errorf("delay %v, want 30 s", d)
		}
		began := time.Now()
		if err := b.wait(t.Context(), "chat.update", ""); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("waited %v, want 30 s", d)
		}
	})
}

func TestOnePostASecondInAChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		began := time.Now()
		for range 15 {
			if err := b.wait(t.Context(), "chat.postMessage", "C1"); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d < 6*time.Second || d > 15*time.Second {
			t.Errorf("15 posts took %v", d)
		}
		if err := b.wait(t.Context(), "chat.postMessage", "C2"); err != nil {
			t.Fatal(err)
		}
	})
}

type opensOf struct{ at []time.Time }

func (o *opensOf) RoundTrip(*http.Request) (*http.Response, error) {
	o.at = append(o.at, time.Now())
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

// TestOpensAreThrottled: a Slack that closes every fresh socket at once is not
// asked for thousands.
func TestOpensAreThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &opensOf{}
		th := &throttle{next: o}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://slack.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		open := func() {
			t.Helper()
			if _, err := th.RoundTrip(r); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		open()
		if d := time.Since(began); d > 0 {
			t.Errorf("the first open waited %v", d)
		}
		for time.Since(began) < 10*time.Minute {
			open()
		}
		if len(o.at) > 25 {
			t.Errorf("%d opens in ten minutes", len(o.at))
		}
		th.worked()
		time.Sleep(time.Second) // synctest's time
		began = time.Now()
		open()
		if d := time.Since(began); d > time.Second {
			t.Errorf("after a hello the next open waited %v", d)
		}
	})
}
