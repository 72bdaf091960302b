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
	Schedule        string
	Zone            string
	Prompt          string
	Channel         string // "" = the owner's DM
	State           string // proposed, enabled, disabled, deleted
	Mode            string // read-only, ask, allow
	Tools           []string
	CatchUp         string // always, never, or a duration
	Timeout         time.Duration
	MaxTurns        int
	MaxOutputTokens int
	MaxCost         float64
	Notify          string // a command that gets the answer on stdin
	OnEvent         string
	Pattern         string
	Private         bool // taint that the prompt brings along
	Untrusted       bool
	Sources         []Source
	ProposedIn      string // thread of the proposal
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

// Fire is one row of the ledger: what became of a slot, or a manual run.
type Fire struct {
	ID          int64
	Trigger     string
	Slot        time.Time // zero: manual
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

// Config of the room.
type Config struct {
	Grace     time.Duration // a slot this late still counts as on time; 2 min
	MaxMisses int           // of one outage, noted one by one; 10,000
}

var name = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// Validate refuses what cannot work, and fills in what is unset.
func (t *Trigger) Validate() error {
	if !name.MatchString(t.Name) {
		return fmt.Errorf("a trigger's name is 1 to 63 of a-z 0-9 - _, beginning with a letter or digit, not %q", t.Name)
	}
	if t.Kind == "" {
		t.Kind = "prompt"
	}
	if t.Kind == "prompt" && strings.TrimSpace(t.Prompt) == "" {
		return errors.New("a trigger needs a prompt")
	}
	if len(t.Prompt) > 16<<10 {
		return fmt.Errorf("the prompt is %d bytes long; 16 KB is the most", len(t.Prompt))
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
	if t.Timeout < 0 {
		return errors.New("a timeout cannot be negative")
	}
	_, err := Parse(t.Schedule, t.Zone)
	return err
}

// catches tells whether a slot that is late by d is still run.
func (t Trigger) catches(d, grace time.Duration) bool {
	if d <= grace {
		return true
	}
	switch t.CatchUp {
	case "always":
		return true
	case "never":
		return false
	}
	most, err := time.ParseDuration(t.CatchUp)
	return err == nil && d <= most
}
