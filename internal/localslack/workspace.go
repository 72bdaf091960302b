package localslack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Config is what a workspace is started with. The zero value is a fresh
// workspace in memory on a free port.
type Config struct {
	Addr      string           // loopback host and port; "" is 127.0.0.1 and any free port
	Dir       string           // where the state is kept; "" keeps it in memory
	Banner    string           // shown at the top of the page
	TeamName  string           // of a new workspace
	BotName   string           // of a new workspace's bot; "" is mecha
	Manifests []Manifest       // the apps that are installed; none: one app that may do everything
	RateScale float64          // of Slack's rate limits, which count apps' tokens only; 0 is 1, negative is none
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Command is a slash command that the app registered.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	UsageHint   string `json:"usage_hint"`
}

// Shortcut is a global or message shortcut that the app registered.
type Shortcut struct {
	Name       string `json:"name"`
	CallbackID string `json:"callback_id"`
	Type       string `json:"type"` // "global" or "message"
}

// Workspace is a running workspace. Its methods may be called concurrently.
type Workspace struct {
	cfg        Config
	log        *slog.Logger
	store      *store
	clock      *clock
	apps       []*app // installed before anything is served; never changed
	app        *app   // the first of them
	methods    map[string]method
	limits     *rateLimits
	faults     *faults
	inspector  *inspector
	pages      *pages
	modals     *modals
	hooks      *hooks
	uploads    *uploads
	suggested  suggested
	status     map[threadKey]*statusLine // under the store's lock
	controlKey string
	base       string // http://host:port
	banner     atomic.Pointer[string]

	server *http.Server
	ctx    context.Context
	cancel context.CancelFunc
	gate   sync.Mutex
	ending bool           // under gate: no request is let in any more
	group  sync.WaitGroup // every goroutine of ours and every request being served
	done   chan struct{}  // closed when everything has ended
	err    error          // why, readable after done
	close  sync.Once
}

// Ready is what a client needs to know of a running workspace: the members of
// the ready file that are the workspace's own.
type Ready struct {
	URL          string            `json:"url"`
	APIURL       string            `json:"api_url"`
	ControlToken string            `json:"control_token"`
	TeamID       string            `json:"team_id"`
	BotUserID    string            `json:"bot_user_id"`
	AppID        string            `json:"app_id"`
	BotToken     string            `json:"bot_token"`
	AppToken     string            `json:"app_token"`
	Users        []ReadyUser       `json:"users"`
	Channels     []ReadyChannel    `json:"channels"`
	DMs          map[string]string `json:"dms"`
	Apps         []ReadyApp        `json:"apps"`
}

// ReadyApp is an installed app, the first included.
type ReadyApp struct {
	AppID     string `json:"app_id"`
	Name      string `json:"name"`
	BotUserID string `json:"bot_user_id"`
	BotToken  string `json:"bot_token"`
	AppToken  string `json:"app_token"`
}

// ReadyUser is a person of the workspace; Token acts as that person.
type ReadyUser struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Token string `json:"token"`
	Owner bool   `json:"owner"`
}

// ReadyChannel is a public channel.
type ReadyChannel struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Start opens the state, binds the address and serves until ctx ends or Close
// is called. Whatever can be refused is refused before anything is served.
func Start(ctx context.Context, cfg Config) (*Workspace, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ln, err := listen(cmp.Or(cfg.Addr, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	st, err := openStore(cfg, cfg.Log)
	if err != nil {
		ln.Close()
		return nil, err
	}
	w := newWorkspace(ctx, cfg, st, "http://"+ln.Addr().String())
	if err := w.install(); err != nil {
		ln.Close()
		return nil, errors.Join(err, st.close())
	}
	w.resumeStreams()
	w.resumeScheduled()
	w.serve(ln)
	return w, nil
}

// listen binds a loopback address; the page is a door, so no other will do.
func listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: not of the form host:port: %w", addr, err)
	}
	if !loopbackName(host) {
		return nil, fmt.Errorf("listen on %s: the local workspace answers on a loopback address only; use 127.0.0.1 and a port", addr)
	}
	ln, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the port is taken, perhaps by another workspace; end that process or choose another address, port 0 for any", addr)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return ln, nil
}

func newWorkspace(ctx context.Context, cfg Config, st *store, base string) *Workspace {
	w := &Workspace{cfg: cfg, log: cfg.Log, store: st, base: base, controlKey: newSecret(32),
		clock: newClock(cfg.Now), methods: methodTable(), done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.banner.Store(&cfg.Banner)
	st.fileBase = base
	scale := cfg.RateScale
	if scale == 0 {
		scale = 1
	}
	w.limits = &rateLimits{clock: w.clock, scale: scale, buckets: map[string]*bucket{}}
	w.inspector = newInspector()
	w.faults = &faults{}
	w.pages = &pages{}
	w.modals = &modals{clock: w.clock, stacks: map[string][]*view{}, triggers: map[string]*trigger{}}
	w.hooks = &hooks{clock: w.clock, open: map[string]*hook{}}
	w.uploads = &uploads{pending: map[string]*upload{}}
	w.status = map[threadKey]*statusLine{}
	w.suggested = suggested{}
	return w
}

func (w *Workspace) serve(ln net.Listener) {
	w.server = &http.Server{
		Handler:           w.counted(w.handler()),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(w.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ln) }() // ends with w.server.Close in run
	if w.store.journal != nil {
		w.group.Go(func() { w.store.journal.keepSynced(w.ctx.Done(), w.log) })
	}
	go w.run(served) // ends when served or ctx does; Close waits for it
}

// run waits for the end and takes everything down in order: no new requests,
// no sockets, no timers, no goroutines, then the journal.
func (w *Workspace) run(served <-chan error) {
	defer close(w.done)
	var err error
	select {
	case err = <-served:
		w.cancel()
	case <-w.ctx.Done():
		w.closeSockets()
		grace, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		w.server.Shutdown(grace) // an error only says that the grace has passed
		cancel()
		w.server.Close()
		err = <-served
	}
	w.gate.Lock()
	w.ending = true
	w.gate.Unlock()
	w.closeSockets()
	w.clock.Close()
	w.group.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	w.err = errors.Join(err, w.store.close())
}

func (w *Workspace) closeSockets() {
	for _, a := range w.apps {
		a.sockets.closeAll()
	}
}

// counted lets requests in until the end and makes Close wait for them, for
// those too whose connection became a socket.
func (w *Workspace) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.gate.Lock()
		if w.ending {
			w.gate.Unlock()
			http.Error(rw, "the workspace is ending", http.StatusServiceUnavailable)
			return
		}
		w.group.Add(1)
		w.gate.Unlock()
		defer w.group.Done()
		next.ServeHTTP(rw, r)
	})
}

// Close ends the workspace, flushes its state and waits for all of it to stop.
// It may be called again and then does nothing.
func (w *Workspace) Close() error {
	w.close.Do(w.cancel)
	return w.Wait()
}

// Wait blocks until the workspace has ended, and says why if not by Close or
// its context.
func (w *Workspace) Wait() error {
	<-w.done
	return w.err
}

// SetBanner changes the text at the top of the page.
func (w *Workspace) SetBanner(text string) {
	w.banner.Store(&text)
	w.pages.publish("state", struct{}{})
}

// Ready describes the workspace to its clients.
func (w *Workspace) Ready() Ready {
	s := w.store
	r := Ready{URL: w.base, APIURL: w.base + "/api/", ControlToken: w.controlKey, TeamID: s.TeamID,
		BotUserID: s.BotUserID, AppID: s.AppID, BotToken: w.app.bot.Token, AppToken: w.app.token,
		Users: []ReadyUser{}, Channels: []ReadyChannel{}, DMs: map[string]string{}}
	for _, a := range w.apps {
		r.Apps = append(r.Apps, ReadyApp{a.id, a.manifest.Name, a.bot.ID, a.bot.Token, a.token})
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, u := range s.roster {
		if u.Bot {
			continue
		}
		r.Users = append(r.Users, ReadyUser{u.ID, u.Name, u.Token, u.Owner})
		if c := s.im(u.ID, s.BotUserID); c != nil {
			r.DMs[u.Name] = c.ID
		}
	}
	for _, id := range s.order {
		if c := s.channels[id]; c.public() {
			r.Channels = append(r.Channels, ReadyChannel{c.ID, c.Name})
		}
	}
	return r
}
