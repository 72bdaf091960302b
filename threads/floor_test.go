package threads

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

// Calls run beside each other, a release beside nothing; whoever waits is let in,
// and nothing is kept of a conversation where nothing runs.
func TestFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th Threads
		ctx := t.Context()
		one, _ := th.floors.enter(ctx, "a")
		two, _ := th.floors.enter(ctx, "a")
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		begin := func(who string, take func() (func(), error)) {
			wg.Go(func() {
				leave, err := take()
				if err != nil {
					t.Errorf("%s: %v", who, err)
					return
				}
				mu.Lock()
				order = append(order, who)
				mu.Unlock()
				time.Sleep(time.Second) // of the bubble: its work
				leave()
				leave()
			})
			synctest.Wait()
		}
		release := func() (func(), error) { return th.Alone(ctx, "a") }
		call := func() (func(), error) { return th.floors.enter(ctx, "a") }
		begin("release 1", release)
		begin("release 2", release)
		one()
		begin("call 3", call) // joins the one that still runs
		two()
		if leave, err := th.Alone(ctx, "b"); err != nil {
			t.Fatal(err)
		} else {
			leave() // another conversation is not held up
		}
		bounded, cancel := context.WithTimeoutCause(ctx, time.Millisecond, errors.New("too long"))
		if _, err := th.Alone(bounded, "a"); err == nil || err.Error() != "too long" {
			t.Errorf("a bounded wait: %v", err)
		}
		cancel()
		time.Sleep(time.Second + time.Millisecond)
		begin("call 4", call) // release 1 runs: it waits
		if _, err := th.floors.enter(bounded, "a"); err == nil {
			t.Error("a call began beside a release")
		}
		wg.Wait()
		if got := strings.Join(order, ", "); got != "call 3, release 1, call 4, release 2" {
			t.Errorf("order: %s", got)
		}
		if len(th.floors.all) != 0 {
			t.Errorf("%d floors are kept", len(th.floors.all))
		}
	})
}

// Whatever comes and gives up when: a release is never beside anything.
func TestFloorUnderLoad(t *testing.T) {
	var th Threads
	var calls, alone atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 100 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+(i*j)%40)*10*time.Microsecond)
				if i%8 == 0 {
					if leave, err := th.Alone(ctx, "a"); err == nil {
						if alone.Add(1) != 1 || calls.Load() != 0 {
							t.Error("a release is not alone")
						}
						alone.Add(-1)
						leave()
					}
				} else if leave, err := th.floors.enter(ctx, "a"); err == nil {
					if calls.Add(1); alone.Load() != 0 {
						t.Error("a call runs beside a release")
					}
					calls.Add(-1)
					leave()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if len(th.floors.all) != 0 {
		t.Errorf("%d floors are kept", len(th.floors.all))
	}
}

// letter is a tool that sends a file along, and reads it late.
type letter struct {
	began chan struct{} // closed when a release hands over
	read  chan struct{} // it reads the file once this is closed; nil: at once
	sent  chan string
}

func (*letter) Name() string        { return "send" }
func (*letter) Description() string { return "Sends." }
func (*letter) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"attachments":{"type":"array","items":{"type":"string"}}}}`)
}
func (*letter) ReadOnly() bool                   { return false }
func (*letter) Capabilities() tools.Capabilities { return tools.Capabilities{Egress: tools.Chosen} }
func (l *letter) Call(_ context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
	close(l.began)
	if l.read != nil {
		<-l.read
	}
	b, err := os.ReadFile(filepath.Join(env.Workspace.Path(), "a.txt"))
	if err != nil {
		return tools.Fail(err.Error()), nil
	}
	l.sent <- string(b)
	return tools.OK("sent"), nil
}

// vandal is a call that rewrites the attachment.
type vandal struct {
	poke
	began chan struct{} // closed when it runs
	write chan struct{} // it writes once this is closed; nil: at once
}

func (v vandal) Call(_ context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
	close(v.began)
	if v.write != nil {
		<-v.write
	}
	return tools.OK("written"), os.WriteFile(filepath.Join(env.Workspace.Path(), "a.txt"), []byte("FORGED"), 0o600)
}

// oneTool is a surface of one tool, for releases.
type oneTool struct{ t tools.Tool }

func (s oneTool) Find(string) tools.Tool { return s.t }
func (s oneTool) Open(_ context.Context, d outbox.Draft) (tools.Tool, *tools.Env, func(), error) {
	j, err := jail.Open(d.Workspace)
	if err != nil {
		return nil, nil, nil, err
	}
	return s.t, &tools.Env{Workspace: j, Progress: func(string) {}}, func() { j.Close() }, nil
}

// A shell call of the same conversation rewrites an attachment around a release.
// Whichever comes first, the changed file is never sent.
func TestACallCannotChangeWhatIsBeingSent(t *testing.T) {
	for _, first := range []string{"call", "release"} {
		t.Run(first+" first", func(t *testing.T) {
			dir := t.TempDir()
			work := workspaceDir(filepath.Join(dir, "work"), key)
			if err := os.MkdirAll(work, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte("as approved"), 0o600); err != nil {
				t.Fatal(err)
			}
			send := &letter{began: make(chan struct{}), sent: make(chan string, 1)}
			shell := vandal{poke: poke{name: "shell"}, began: make(chan struct{})}
			gate := make(chan struct{}) // the model waits here before it calls shell
			r, _ := open(t, dir,
				calls("send", `{"attachments":["a.txt"]}`),
				func(agent.Request) agent.Turn {
					<-gate
					return calls("shell", `{}`)(agent.Request{})
				}, says("done"))
			if first == "call" {
				shell.write = make(chan struct{})
			} else {
				send.read = make(chan struct{})
			}
			r.Surface = func(Thread, []string) (*tools.Registry, error) { return tools.NewRegistry(send, shell) }
			r.Outbox.Surface, r.Outbox.Floor = oneTool{send}, r.Threads
			r.say(t, "100.000001", "send it")
			var d outbox.Draft
			r.until(t, "staged", func() bool {
				list, err := r.Outbox.List(t.Context(), outbox.Filter{})
				if err == nil && len(list) == 1 {
					d = list[0]
				}
				return d.ID != ""
			})
			if len(d.Files) != 1 {
				t.Fatalf("files: %+v", d.Files)
			}
			if err := r.SetMode(t.Context(), Who{User: "U1"}, key, ModeAllow); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Outbox.Approve(t.Context(), outbox.Decision{ID: d.ID, Revision: d.Revision, Digest: d.Digest, By: "U1", Surface: "slack"}); err != nil {
				t.Fatal(err)
			}
			ended := make(chan outbox.Draft, 1)
			dispatch := func() {
				go func() {
					d, err := r.Outbox.Dispatch(context.Background(), d.ID)
					if err != nil {
						t.Error(err)
					}
					ended <- d
				}()
			}
			if first == "call" {
				close(gate)
				<-shell.began
				dispatch()
				r.waits(t, func(f *floor) bool { return len(f.releases) == 1 })
				close(shell.write)
				if d = <-ended; d.State != outbox.Pending || !strings.Contains(d.LastError, "a.txt") {
					t.Errorf("it is %s (%s)", d.State, d.LastError)
				}
				select {
				case got := <-send.sent:
					t.Errorf("sent: %q", got)
				default:
				}
				return
			}
			dispatch()
			<-send.began
			close(gate)
			r.waits(t, func(f *floor) bool { return len(f.entering) == 1 })
			close(send.read)
			if d = <-ended; d.State != outbox.Released {
				t.Errorf("it is %s (%s)", d.State, d.LastError)
			}
			if got := <-send.sent; got != "as approved" {
				t.Errorf("sent: %q", got)
			}
			<-shell.began
			r.until(t, "finished", func() bool { s := r.state(t); return s == Done || s == Staged })
		})
	}
}

// waits polls for somebody who waits at the conversation's floor: nothing else
// tells of one.
func (r *room) waits(t *testing.T, is func(*floor) bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		r.floors.mu.Lock()
		f := r.floors.all[key]
		ok := f != nil && is(f)
		r.floors.mu.Unlock()
		if ok {
			return
		}
	}
	t.Fatal("nobody waits")
}
