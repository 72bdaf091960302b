package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

// Pins remembers what each tool looked like when it was first listed.
type Pins interface {
	// Check compares a tool's hash with its pin and remembers def where there is none, or where it differs: then as
	// the definition that waits to be accepted. name is the tool's name as the model sees it. Check is called often
	// with the same values and must answer alike.
	Check(ctx context.Context, server, name, hash string, def json.RawMessage) (PinState, error)
}

// Deps is what servers need of the world around them. The zero value of every field but Pins works.
type Deps struct {
	Pins     Pins
	Sandbox  sandbox.Backend // proven; nil where there is none
	Network  bool            // [sandbox] network: what a confined server has unless its own network says otherwise
	Log      *slog.Logger
	Version  string                      // ours, told to servers
	Timezone string                      // [agent] timezone, handed on as MECHA_TZ
	Env      func(string) (string, bool) // os.LookupEnv
	Own      []string                    // our own bot and app tokens: no server may be handed one
	Home     func(server string) string  // the fixed directory of a shared server
	Scratch  string                      // where empty directories are made; os.TempDir
	Reserved []string                    // names of tools that are not ours
	// Children is told of every process group, so that it can be found after our own death. owner is
	// mcp:SERVER:THREAD. done is called once the group is gone.
	Children func(owner string, id child.Ident) (done func())
	// Unannotated is closed or open: what a tool is taken for that declares nothing about the outside world.
	Unannotated string
	Elicit      Elicitor // nil: the ability is not advertised
	Now         func() time.Time

	StartTimeout     time.Duration // how long Start waits for all servers together
	HandshakeTimeout time.Duration // of one server, which may join late
	CallTimeout      time.Duration // of one request
	Idle             time.Duration // after which a thread's process is put to bed
	Grace            time.Duration // that a process has at each step of its end
}

func (d Deps) withDefaults() Deps {
	set := func(v *time.Duration, to time.Duration) {
		if *v <= 0 {
			*v = to
		}
	}
	set(&d.StartTimeout, 10*time.Second)
	set(&d.HandshakeTimeout, 60*time.Second)
	set(&d.CallTimeout, 120*time.Second)
	set(&d.Idle, 10*time.Minute)
	set(&d.Grace, child.DefaultGrace)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Env == nil {
		d.Env = os.LookupEnv
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Scratch == "" {
		d.Scratch = os.TempDir()
	}
	if d.Unannotated == "" {
		d.Unannotated = UnannotatedClosed
	}
	if d.Version == "" {
		d.Version = "dev"
	}
	return d
}
