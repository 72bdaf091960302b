package triggers

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Trigger is a prompt and when it is due. Zone and prompt are frozen as they
// were given.
type Trigger struct {
	Name            string
	Kind            string // prompt, digest
	Schedule        string // "" where a message causes it
	Zone            string
	Prompt          string
	Channel         string // of the answers, "" = the owner's DM; of a message trigger: the one that is watched
	State           string // proposed, enabled, disabled, deleted
	Mode            string // read-only, ask, allow
	Tools           []string
	CatchUp         string // always, never, or a duration
	Timeout         time.Duration
	MaxTurns        int
	MaxOutputTokens int
	MaxCost         float64
	Notify          string // a command that gets the answer on stdin
	OnEvent         string // "" = by the clock; message
	Pattern         string // of a message trigger: a regular expression (RE2)
	Private         bool   // taint that the prompt brings along
	Untrusted       bool
	Sources         []Source
	ProposedIn      string // thread of the proposal; "" once a person has retyped the prompt
	By              string
	Accounted       time.Time // slots up to here are in the ledger
	Version         int64
	Created         time.Time
	Updated         time.Time
}

// Source is a piece of evidence for a trigger's taint, as the proposing
// conversation had it.
type Source struct {
	Leg  string `json:"leg"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	What string `json:"what"`
	Turn int    `json:"turn"`
}

// OnMessage is the OnEvent of a trigger that a message in a watched channel
// causes.
const OnMessage = "message"

const (
	kindPrompt = "prompt"
	kindDigest = "digest"
	// digestName is the built-in's.
	digestName = "digest"

	maxPrompt  = 16 << 10
	maxTimeout = 24 * time.Hour
)

var triggerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// Validate refuses what cannot work, and fills in what is unset.
func (t *Trigger) Validate() error {
	if !triggerName.MatchString(t.Name) {
		return fmt.Errorf("a trigger's name is 1 to 63 of a-z 0-9 - _, beginning with a letter or digit, not %.80q", t.Name)
	}
	if t.Kind == "" {
		t.Kind = kindPrompt
	}
	switch {
	case t.Kind != kindPrompt && t.Kind != kindDigest:
		return fmt.Errorf("a trigger's kind is prompt or digest, not %q", t.Kind)
	case t.Kind == kindPrompt && t.Name == digestName:
		return errors.New("digest is the built-in trigger's name: choose another")
	case t.Kind == kindPrompt && strings.TrimSpace(t.Prompt) == "":
		return errors.New("a trigger needs a prompt")
	case len(t.Prompt) > maxPrompt:
		return fmt.Errorf("the prompt is %d bytes long; 16 KB is the most", len(t.Prompt))
	case strings.ContainsRune(t.Prompt+t.Channel+t.Notify, 0):
		return errors.New("a trigger's texts cannot hold a NUL")
	case len(t.Channel) > 64 || strings.ContainsAny(t.Channel, " \t\r\n"):
		return errors.New("a trigger's channel is given by its id, such as C0123456789")
	case len(t.Notify) > 4096:
		return errors.New("the notify command is longer than 4096 bytes: put it into a script")
	case t.MaxTurns < 0 || t.MaxOutputTokens < 0 || t.MaxCost < 0:
		return errors.New("a trigger's budgets cannot be negative")
	}
	switch t.Mode {
	case "":
		t.Mode = "read-only"
	case "read-only", "ask", "allow":
	default:
		return fmt.Errorf("a trigger's mode is read-only, ask or allow, not %q", t.Mode)
	}
	if t.CatchUp == "" {
		t.CatchUp = "always"
	}
	if t.CatchUp != "always" && t.CatchUp != "never" {
		if d, err := time.ParseDuration(t.CatchUp); err != nil || d <= 0 {
			return fmt.Errorf("catch-up is always, never or a duration such as 2h, not %q", t.CatchUp)
		}
	}
	if t.Timeout == 0 {
		t.Timeout = 20 * time.Minute
	}
	if t.Timeout < time.Second || t.Timeout > maxTimeout {
		return fmt.Errorf("a trigger's timeout lies between 1s and 24h, not at %s", t.Timeout)
	}
	switch t.OnEvent {
	case "":
		if t.Pattern != "" {
			return errors.New("a pattern is for a trigger that a message causes (on = message)")
		}
		_, err := Parse(t.Schedule, t.Zone)
		return err
	case OnMessage:
		return t.validateMessage()
	}
	return fmt.Errorf("a trigger is caused by the clock or by a message, not by %q", t.OnEvent)
}

// catches tells whether a slot that is late by d is still run.
func catches(catchUp string, d, grace time.Duration) bool {
	if d <= grace {
		return true
	}
	switch catchUp {
	case "always":
		return true
	case "never":
		return false
	}
	most, err := time.ParseDuration(catchUp)
	return err == nil && d <= most
}

// Fire is one row of the ledger: what became of a slot, a message or a manual
// run.
type Fire struct {
	ID          int64
	Trigger     string
	Slot        time.Time // zero: by hand, or by a message
	First       time.Time // of a skipped row for several slots: the oldest; else zero
	Slots       int       // how many slots the row accounts for; 1 but for a very long outage
	Event       string    // the message that caused it, channel:ts
	Text        string    // what that message says; not in the record
	Status      string    // running, ok, error, skipped
	Reason      string
	Thread      string
	Run         string
	Turns       int
	Calls       int
	CallErrors  int
	Staged      int
	Blocked     int
	StopCause   string
	Silent      bool
	Summary     string
	NotifyError string
	Started     time.Time
	Finished    time.Time
}
