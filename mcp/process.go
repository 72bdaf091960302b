package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// process is one running server: a child and the session over its pipes, or a session over HTTP. One goroutine, live,
// owns it from its start to its end.
type process struct {
	srv       *server
	thread    string
	workspace string // the key; empty: a directory of the server's own
	started   time.Time
	ready     chan struct{} // closed when the start is over; the fields below hold from then on
	left      chan struct{} // closed when no new call gets it; why holds from then on
	gone      chan struct{} // closed when nothing of it is left
	stopped   chan struct{} // closed by halt
	once      sync.Once

	err     error // of the start
	why     error // of the end
	child   *child.Piped
	sess    *session
	stderr  *stderrLog
	cleanup []func()

	// Guarded by srv.mu.
	calls    int
	lastUsed time.Time
	inFlight map[string]*work // by conversation

	mu      sync.Mutex
	listed  map[string]definition // what this very process lists, by the server's names
	changed chan struct{}         // holds one token when the list has to be read again
}

func newProcess(s *server, thread, workspace string, now time.Time) *process {
	return &process{
		srv: s, thread: thread, workspace: workspace, started: now, lastUsed: now,
		ready: make(chan struct{}), left: make(chan struct{}), gone: make(chan struct{}), stopped: make(chan struct{}),
		changed: make(chan struct{}, 1),
	}
}

// halt begins the end of a process and returns at once.
func (p *process) halt() { p.once.Do(func() { close(p.stopped) }) }

func (p *process) halted() bool {
	select {
	case <-p.stopped:
		return true
	default:
		return false
	}
}

// live starts the process, stays with it, and clears up after it.
func (p *process) live(ctx context.Context) {
	defer close(p.gone)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-p.stopped: // during the handshake too
		case <-ctx.Done():
		}
		cancel()
	}()
	raws, err := p.start(ctx)
	if err == nil && p.workspace == "" {
		err = p.srv.adopt(ctx, p.sess, raws)
	}
	p.err = err
	close(p.ready)
	for err == nil {
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-p.sess.ended:
			err = p.whyEnded()
		case <-p.changed:
			p.relist(ctx)
		}
	}
	// Off the list first, so that no call is given a process that is on its way out.
	p.srv.leave(p, err)
	p.why = err
	close(p.left)
	if p.child != nil {
		_ = p.child.Close()
	}
	if p.sess != nil {
		p.sess.close()
	}
	for i := len(p.cleanup) - 1; i >= 0; i-- {
		p.cleanup[i]()
	}
}

// start runs the handshake and lists the tools.
func (p *process) start(ctx context.Context) ([]json.RawMessage, error) {
	s := p.srv
	hctx, cancel := context.WithTimeoutCause(ctx, s.deps.HandshakeTimeout,
		fmt.Errorf("it did not answer initialize within %s", s.deps.HandshakeTimeout))
	defer cancel()
	t, err := p.transport(ctx)
	if err != nil {
		return nil, err
	}
	p.sess, err = connect(hctx, t, sessionOptions{
		Version: s.deps.Version, Server: s.cfg.Name, Log: s.log, Timeout: s.deps.CallTimeout, Elicit: s.deps.Elicit, Asking: p.asking,
		ListChanged: func() {
			select {
			case p.changed <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return nil, p.explain(hctx, err)
	}
	raws, err := p.sess.tools(hctx)
	if err != nil {
		return nil, p.explain(hctx, err)
	}
	p.learn(raws)
	return raws, nil
}

// transport starts the child, or prepares HTTP.
func (p *process) transport(ctx context.Context) (sdk.Transport, error) {
	s := p.srv
	if s.cfg.URL != "" {
		t, stop := httpTransport(s.cfg, s.deps)
		p.cleanup = append(p.cleanup, stop)
		return t, nil
	}
	dir, cleanup, err := s.directory(p.workspace)
	if err != nil {
		return nil, err
	}
	p.cleanup = append(p.cleanup, cleanup)
	spec, err := s.spawn(dir)
	if err != nil {
		return nil, err
	}
	p.stderr = newStderrLog(s.log)
	spec.Stderr = p.stderr
	// The child's life is ours, not the handshake's: a context with a deadline here would end the server later. And it
	// ends by Close, which asks politely, so that a server can finish what it writes.
	p.child, err = child.StartPiped(context.WithoutCancel(ctx), spec)
	if err != nil {
		return nil, err
	}
	if s.deps.Children != nil {
		if done := s.deps.Children("mcp:"+s.cfg.Name+":"+p.thread, p.child.Ident()); done != nil {
			p.cleanup = append(p.cleanup, done)
		}
	}
	return newPipe(p.child, s.noise), nil
}

// explain finds the cause of a failed start: a deadline of ours, or what became of the child.
func (p *process) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if p.srv.pretty() {
			err = fmt.Errorf("%w; %s", err, prettyJSON)
		}
		return err
	}
	if p.child == nil {
		return err
	}
	return p.died(err)
}

func (p *process) whyEnded() error {
	if p.child == nil {
		return errors.New("the connection ended")
	}
	err := p.sess.cs.Wait()
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("it closed its standard output")
	}
	return p.died(err)
}

// died waits a moment for the child of a connection that is over, and says how it ended.
func (p *process) died(err error) error {
	if errors.Is(err, errFlood) {
		return err // what becomes of the child then is our own doing
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-p.child.Done():
		exit, _ := p.child.Wait()
		how := fmt.Sprintf("it exited with code %d", exit.Code)
		if exit.Signal != 0 {
			how = "it was ended by the signal " + exit.Signal.String()
		}
		err = errors.New(how)
	case <-t.C:
	}
	if last := p.stderr.lastWords(); last != "" {
		err = &lastWords{err, last}
	}
	if p.srv.cfg.Sandbox {
		err = fmt.Errorf("%w (it is confined: what it reads outside its workspace has to be listed in [sandbox] readable)", err)
	}
	return err
}

// lastWords is an error with what a process wrote on stderr at the end: a
// stranger's text, wherever it is shown.
type lastWords struct {
	err   error
	words string
}

func (e *lastWords) Error() string { return e.err.Error() + "; its last words: " + e.words }
func (e *lastWords) Unwrap() error { return e.err }

// quotes tells whether an error carries words of the server.
func quotes(err error) bool {
	var l *lastWords
	return errors.As(err, &l)
}

// work is what a process does for one conversation.
type work struct {
	calls int
	over  chan struct{} // closed with the last of them
}

// working notes that a call of a conversation runs until done. An empty one is a call that nobody watches.
func (p *process) working(thread string) (done func()) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	w := p.inFlight[thread]
	if w == nil {
		w = &work{over: make(chan struct{})}
		if p.inFlight == nil {
			p.inFlight = map[string]*work{}
		}
		p.inFlight[thread] = w
	}
	w.calls++
	return func() {
		p.srv.mu.Lock()
		defer p.srv.mu.Unlock()
		if w.calls--; w.calls == 0 {
			delete(p.inFlight, thread)
			close(w.over)
		}
	}
}

// asking is the one conversation for which the server works now, and what ends when that work does. It is empty where
// the server works for nobody, or for several.
func (p *process) asking() (thread string, over <-chan struct{}) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	for thread, w := range p.inFlight {
		if len(p.inFlight) == 1 {
			return thread, w.over
		}
	}
	return "", nil
}

// learn remembers what this process lists.
func (p *process) learn(raws []json.RawMessage) {
	listed := map[string]definition{}
	for _, raw := range raws {
		if d, err := define(p.srv.cfg, raw); err == nil {
			listed[d.name] = d
		}
	}
	p.mu.Lock()
	p.listed = listed
	p.mu.Unlock()
}

// lists is a tool as this process lists it.
func (p *process) lists(name string) (definition, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.listed[name]
	return d, ok
}

// relistEvery keeps a server that announces changes all the time from keeping us busy.
const relistEvery = time.Second

// relist reads the list again after the server said that it changed. What is new is offered from the next run on.
func (p *process) relist(ctx context.Context) {
	if p.srv.relists.Wait(ctx) != nil {
		return
	}
	raws, err := p.sess.tools(ctx)
	if ctx.Err() != nil {
		return // it is on its way out
	}
	if err != nil {
		p.srv.log.Warn("MCP server said that its tools changed, but they cannot be listed", "error", err)
		return
	}
	p.learn(raws)
	if err := p.srv.adopt(ctx, p.sess, raws); err != nil {
		p.srv.log.Warn("MCP server's changed tools are not taken", "error", err)
	}
}

// cause says why a call lost its connection: the end of the process, once that is known.
func (p *process) cause(ctx context.Context, err error) error {
	t := time.NewTimer(2 * time.Second)
	defer t.Stop()
	select {
	case <-p.left:
		return p.why
	case <-ctx.Done():
	case <-t.C:
	}
	return err
}

// pingTimeout is how long a server that let a call time out has at most to show that it is alive.
const pingTimeout = 5 * time.Second

// wake asks a server that let a call time out whether it still listens, and ends it if not: a process that hangs would
// hang every later call for as long.
func (p *process) wake(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, min(pingTimeout, p.srv.deps.CallTimeout))
	defer cancel()
	if err := p.sess.cs.Ping(ctx, nil); err != nil && !connectionError(err) {
		return // an error is an answer
	} else if err != nil && !p.halted() {
		p.srv.died(p, errors.New("it hangs: it answers neither a call nor a ping"))
	}
}
