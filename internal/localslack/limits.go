package localslack

import (
	"strings"
	"sync"
	"time"
)

// tier is how often one app may call one method, as Slack publishes it.
type tier int

const (
	unlimited  tier = iota
	tier1           // 1+ a minute
	tier2           // 20+
	tier3           // 50+
	tier4           // 100+
	tierLots        // 600, the special ones
	tierPost        // about 1 a second and channel, short bursts allowed
	tierStatus      // 60 a minute and direct message
)

// bucket sizes and what refills them in a minute.
func (t tier) rate() (burst, perMinute float64) {
	switch t {
	case tier1:
		return 1, 1
	case tier2:
		return 20, 20
	case tier3:
		return 50, 50
	case tier4:
		return 100, 100
	case tierLots:
		return 600, 600
	case tierPost:
		return 10, 60
	case tierStatus:
		return 60, 60
	default:
		return 0, 0
	}
}

// rateLimits counts the calls of apps; people are never limited.
type rateLimits struct {
	clock *clock
	scale float64 // of Slack's rates; not positive: no limits

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

const maxBuckets = 10_000

// take counts one call and returns 0, or how long to wait before the next try.
func (l *rateLimits) take(c *call, m method) time.Duration {
	burst, perMinute := m.tier.rate()
	if l.scale <= 0 || burst == 0 {
		return 0
	}
	burst, perMinute = burst*l.scale, perMinute*l.scale
	key := c.who.app.id + " " + c.name
	if m.tier == tierPost || m.tier == tierStatus {
		key = strings.Join([]string{key, c.args.str("channel"), c.args.str("channel_id")}, " ")
	}
	now := l.clock.Now()

	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			clear(l.buckets) // forgetting is generous, never unfair
		}
		b = &bucket{left: burst, at: now}
		l.buckets[key] = b
	}
	b.left = min(burst, b.left+perMinute*now.Sub(b.at).Minutes())
	b.at = now
	if b.left >= 1 {
		b.left--
		return 0
	}
	return l.clock.realWait(time.Duration((1 - b.left) / perMinute * float64(time.Minute)))
}
