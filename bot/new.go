package bot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"github.com/mecha-slack/mecha-slack/threads"
)

// state of the wire: what Bot holds beside its dependencies.
type wire struct {
	me       identity
	budget   *budget
	kicked   chan struct{}
	envelope chan envelope
	work     chan func()
	opens    *throttle

	noStreams atomic.Bool // Slack does not know the methods of streams
	moving    sync.Mutex  // one thread moves at a time
	shows     sync.WaitGroup

	mu      sync.Mutex
	shut    bool                // no stream begins any more
	sinks   map[string]*sink    // live streams by run
	after   map[int64]time.Time // posts that wait before the next try
	up      uptime
	catch   catching
	names   map[string]string        // channel ids to names, as far as asked
	private map[string]bool          // threads whose run has called for private data
	roots   map[string]bool          // root messages that are being posted
	flying  map[string]chan struct{} // buttons that are being posted
}

// identity is who we are in the workspace.
type identity struct {
	App, Team, TeamName, User, BotID, URL string
}

// New checks the configuration; nothing is called yet.
func New(cfg Config, d Deps) (*Bot, error) {
	switch {
	case !strings.HasPrefix(cfg.BotToken, "xoxb-"):
		return nil, errors.New("the bot token does not look like one: it begins with xoxb-")
	case !strings.HasPrefix(cfg.AppToken, "xapp-"):
		return nil, errors.New("the app-level token does not look like one: it begins with xapp-")
	case cfg.APIURL != "" && !strings.HasSuffix(cfg.APIURL, "/"):
		cfg.APIURL += "/"
	}
	switch cfg.Streaming {
	case "":
		cfg.Streaming = "auto"
	case "auto", "native", "update", "off":
	default:
		return nil, fmt.Errorf("[slack] streaming is auto, native, update or off, not %q", cfg.Streaming)
	}
	if cfg.FlushChars == 0 {
		cfg.FlushChars = 256
	}
	if cfg.FlushEvery == 0 {
		cfg.FlushEvery = 750 * time.Millisecond
	}
	if cfg.MaxUploadBytes == 0 {
		cfg.MaxUploadBytes = 25 << 20
	}
	if cfg.Sockets == 0 {
		cfg.Sockets = 2
	}
	if d.HTTP == nil {
		d.HTTP = &http.Client{}
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.NewID == nil {
		d.NewID = rand.Text
	}
	b := &Bot{Deps: d, cfg: cfg}
	b.budget = newBudget()
	b.kicked = make(chan struct{}, 1)
	b.envelope = make(chan envelope, 2048)
	b.work = make(chan func(), 1024)
	b.sinks, b.after, b.names = map[string]*sink{}, map[int64]time.Time{}, map[string]string{}
	b.private, b.roots, b.flying = map[string]bool{}, map[string]bool{}, map[string]chan struct{}{}
	b.opens = &throttle{next: d.HTTP.Transport}
	opts := []slack.Option{slack.OptionAppLevelToken(cfg.AppToken), slack.OptionHTTPClient(d.HTTP)}
	if cfg.APIURL != "" {
		opts = append(opts, slack.OptionAPIURL(cfg.APIURL))
	}
	b.api = slack.New(cfg.BotToken, opts...)
	return b, nil
}

// Connect proves the token and learns who we are. Run needs it done.
func (b *Bot) Connect(ctx context.Context) error {
	a, err := b.api.AuthTestContext(ctx)
	if err != nil {
		return fmt.Errorf("Slack does not accept the bot token: %w", err)
	}
	b.me = identity{App: appOf(b.cfg.AppToken), Team: a.TeamID, TeamName: a.Team, User: a.UserID, BotID: a.BotID, URL: a.URL}
	return nil
}

// appOf is the id of the app that an app-level token names (xapp-1-A…-…).
func appOf(token string) string {
	parts := strings.Split(token, "-")
	if len(parts) > 2 && strings.HasPrefix(parts[2], "A") {
		return parts[2]
	}
	return ""
}

// Identity answers who we are, after Connect.
func (b *Bot) Identity() (team, user string) { return b.me.Team, b.me.User }

// Run connects and serves until ctx ends; then it lets go of what it holds and
// waits for what it started. connected is called once, when a message would be
// answered; it may be nil.
func (b *Bot) Run(ctx context.Context, connected func()) error {
	if b.me.User == "" {
		if err := b.Connect(ctx); err != nil {
			return err
		}
	}
	if err := b.remember(ctx); err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer b.waitSinks()
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	redone := make(chan struct{})
	wg.Go(func() { defer close(redone); b.redo(ctx) })
	wait := time.NewTimer(redoTime)
	select {
	case <-redone:
	case <-wait.C:
	}
	wait.Stop()
	wg.Go(func() { b.poster(ctx) })
	b.seeOwners(ctx)
	wg.Go(func() { b.follow(ctx) })
	wg.Go(func() { b.catchUps(ctx) })
	for range intakeWorkers {
		wg.Go(func() { b.intake(ctx) })
	}
	for range lateWorkers {
		wg.Go(func() { b.later(ctx) })
	}
	var once sync.Once
	open := func() {
		if connected != nil {
			once.Do(connected)
		}
		b.missed()
	}
	for range b.cfg.Sockets {
		wg.Go(func() {
			if err := b.socket(ctx, open); err != nil {
				cancel(err)
			}
		})
	}
	<-ctx.Done()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// uptime counts how long at least one socket has been open.
type uptime struct {
	open  int
	since time.Time
	total time.Duration
}

// Uptime is how long we have been connected in all: the time of an approval
// runs only then.
func (b *Bot) Uptime() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.up.total
	if b.up.open > 0 {
		d += time.Since(b.up.since)
	}
	return d
}

// Connected tells whether a socket is open.
func (b *Bot) Connected() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.up.open > 0
}

// opened and closed count sockets; first tells that none was open before, last
// that none is any more.
func (b *Bot) opened() (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.up.open == 0 {
		b.up.since = time.Now()
		first = true
	}
	b.up.open++
	return first
}

func (b *Bot) closed() (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.up.open--
	if b.up.open == 0 {
		b.up.total += time.Since(b.up.since)
	}
	return b.up.open == 0
}

// streams tells whether answers are streamed.
func (b *Bot) streams() bool {
	return b.cfg.Streaming != "off" && b.cfg.Streaming != "update" && !b.noStreams.Load()
}

// OpenThread posts a root message into a channel, or the person's DM where
// channel is empty, and answers its place: where a run that no message asked
// for talks.
func (b *Bot) OpenThread(ctx context.Context, user, channel, text string) (threads.Place, error) {
	if channel == "" {
		var err error
		if channel, err = b.dm(ctx, user); err != nil {
			return threads.Place{}, err
		}
	}
	return b.root(ctx, "root:"+b.NewID(), threads.Place{Team: b.me.Team, Channel: channel}, text)
}
