package localslack

import (
	"sync"
	"time"
)

// maxDeliveries is how many events Slack delivers to one app of one workspace
// in an hour; past it, it only says so, once a minute.
const maxDeliveries = 30_000

// hourly counts an app's deliveries in the hour that is running.
type hourly struct {
	mu    sync.Mutex
	since time.Time
	n     int
	told  time.Time // the minute that was last reported
}

// take counts one delivery and reports whether it may go. With tell it is the
// first that is held back in its minute, and the app has to hear that.
func (h *hourly) take(now time.Time, most int) (ok, tell bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.since) >= time.Hour {
		h.since, h.n = now, 0
	}
	if h.n++; h.n <= most {
		return true, false
	}
	minute := now.Truncate(time.Minute)
	tell = !minute.Equal(h.told)
	h.told = minute
	return false, tell
}
