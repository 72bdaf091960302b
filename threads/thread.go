package threads

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Thread is a session: the conversation that hangs under one root message.
type Thread struct {
	Key       string // team/channel/root ts: a pure function of the ids
	Team      string
	Channel   string
	ThreadTS  string
	Surface   Place  // where it is shown now: a private turn moves it to a DM
	Owner     string // whose words drive it
	Title     string
	Kind      string // chat, trigger, subagent
	State     State
	Mode      Mode
	Workspace string
	Taint     tools.Taint
	Fence     int64
	Turn      int
	Latch     bool // an approval went unanswered; nobody is asked until the owner shows
	Note      string
	Planning  bool // runs only look and plan
	Created   time.Time
	Updated   time.Time
}

// Place is where messages of a thread go.
type Place struct {
	Team     string
	Channel  string
	ThreadTS string
}

// Mode says what happens to a call that changes something.
type Mode string

const (
	ModeAsk      Mode = "ask"
	ModeAllow    Mode = "allow"
	ModeReadOnly Mode = "read-only"
)

// ParseMode reads a mode as configuration spells it.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeAsk, ModeAllow, ModeReadOnly:
		return m, nil
	}
	return "", fmt.Errorf("a mode is ask, allow or read-only, not %q", s)
}

// Key of the thread in which a message stands: its root is thread_ts, else the
// message itself, from the very first message on.
func Key(team, channel, threadTS, ts string) string {
	if threadTS == "" {
		threadTS = ts
	}
	return team + "/" + channel + "/" + threadTS
}

// workspaceDir is the thread's directory under the work directory.
func workspaceDir(work, key string) string {
	return filepath.Join(work, "slack", strings.NewReplacer("/", "-", "\\", "-", "..", "-").Replace(key))
}
