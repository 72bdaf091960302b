package bot

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// budget keeps calls within Slack's tiers: one bucket a method for the whole
// workspace, and one post a second for each channel (reference: Slack's rate
// limits page). Preview frames of streams leave a reserve, so that approvals
// and final text are never the ones that wait.
type budget struct {
	mu       sync.Mutex
	methods  map[string]*bucket
	channels map[string]*rate.Limiter
}

type bucket struct {
	lim     *rate.Limiter
	reserve float64
	until   time.Time // Retry-After
}

// tiers are calls a minute.
var tiers = map[string]int{
	"chat.postMessage": 600, "chat.update": 50, "chat.postEphemeral": 100, "chat.delete": 50,
	"chat.startStream": 20, "chat.appendStream": 100, "chat.stopStream": 20,
	"auth.test": 600, "conversations.info": 50, "users.info": 100, "users.conversations": 20,
	"files.getUploadURLExternal": 100, "files.completeUploadExternal": 100,
	"views.open": 100, "views.update": 100, "views.push": 100, "views.publish": 100,
	"conversations.replies": 50, "conversations.history": 50, "conversations.open": 50,
	"assistant.threads.setStatus": 60,
}

func newBudget() *budget {
	return &budget{methods: map[string]*bucket{}, channels: map[string]*rate.Limiter{}}
}

func (b *budget) method(name string) *bucket {
	m := b.methods[name]
	if m == nil {
		per := tiers[name]
		if per == 0 {
			per = 50
		}
		// Some at once, and the rest evenly over the minute: no minute, wherever it
		// begins, has more than Slack's number. What is read back after a time without
		// a socket, and cards, come in bursts; streams go on and on.
		burst := max(1, per/2)
		if strings.HasSuffix(name, "Stream") {
			burst = max(5, per/8)
		}
		m = &bucket{lim: rate.NewLimiter(rate.Limit(float64(per-burst)/60), burst), reserve: min(float64(burst)/2, float64(burst)-4)}
		b.methods[name] = m
	}
	return m
}

// channelBurst is how many posts a channel takes at once: Slack allows "short
// bursts" beyond one a second, and names no number.
const channelBurst = 8

// wait takes a place for a call that matters.
func (b *budget) wait(ctx context.Context, method, channel string) error {
	b.mu.Lock()
	m := b.method(method)
	until := m.until
	var ch *rate.Limiter
	if channel != "" && method == "chat.postMessage" {
		if ch = b.channels[channel]; ch == nil {
			ch = rate.NewLimiter(1, channelBurst)
			b.channels[channel] = ch
		}
	}
	b.mu.Unlock()
	if d := time.Until(until); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if ch != nil {
		if err := ch.Wait(ctx); err != nil {
			return err
		}
	}
	return m.lim.Wait(ctx)
}

// preview takes a place for a frame that may be left out: false where only the
// reserve is left, or Slack has asked us to wait.
func (b *budget) preview(method string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.method(method)
	return !time.Now().Before(m.until) && m.lim.Tokens() > m.reserve && m.lim.Allow()
}

// delay is about how long a call that matters would wait for its place now.
func (b *budget) delay(method string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.method(method)
	r := m.lim.Reserve()
	d := r.Delay()
	r.Cancel()
	return max(d, time.Until(m.until))
}

// obey notes a Retry-After.
func (b *budget) obey(method string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.method(method)
	if t := time.Now().Add(d); t.After(m.until) {
		m.until = t
	}
}
