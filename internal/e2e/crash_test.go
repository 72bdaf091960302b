package e2e

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var crashSeed = flag.Uint64("crash.seed", 0, "seed of the moments at which TestCrash kills; 0 draws one")
var crashTime = flag.Duration("crash.time", time.Minute, "how long TestCrash goes on killing; nightly: 10m")

// TestCrash kills the process at random moments while people write, approve and
// release, starts it again, and counts: lost messages, lost drafts, messages
// without an answer, mails sent twice, answers posted twice. All have to be
// none. In the first half of the time Slack goes on while the bot is dead; in
// the second both are one process, and die together.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("kills for the better part of a minute")
	}
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-crash.seed=%d", seed)
	const config = "[slack]\nmax_concurrent = 8\n"
	t.Run("alone", func(t *testing.T) {
		p := pair(t, binary, config)
		p.must(p.post("clock", map[string]any{"scale": 20}, nil)) // two hundred conversations in half a minute are more than Slack lets anybody begin
		p.dm(p.link()).contains("You own this bot")
		soak(t, p, rand.New(rand.NewPCG(seed, 1)), *crashTime/2)
	})
	t.Run("together", func(t *testing.T) {
		soak(t, start(t, config), rand.New(rand.NewPCG(seed, 2)), *crashTime/2)
	})
}

// crowd is how many conversations people keep open at once.
const crowd = 60

func soak(t *testing.T, p *product, rnd *rand.Rand, long time.Duration) {
	w := newTown(p)
	kills := 0
	for end := time.Now().Add(long); time.Now().Before(end); kills++ {
		// One round: people act for a while, then the process dies.
		life := time.NewTimer(time.Duration(300+rnd.IntN(2000)) * time.Millisecond)
		for alive := true; alive; {
			if len(w.left) < crowd {
				w.begin([]string{"list", "write", "mail"}[rnd.IntN(3)], "")
			}
			for _, k := range w.left {
				if rnd.IntN(3) == 0 {
					w.press(k)
				}
			}
			pause := time.NewTimer(time.Duration(rnd.IntN(300)) * time.Millisecond) // how people act, not a wait for something
			select {
			case <-life.C:
				alive = false
			case <-pause.C:
			}
		}
		p.kill()
		p.begin()
		if t.Failed() {
			return
		}
		if len(w.left) >= crowd {
			_ = w.look() // who is left is all that matters here
		}
	}
	t.Logf("killed %d times", kills)
	w.settle()
	w.audit(t)
}
