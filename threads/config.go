package threads

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds the sessions: the part of [slack] and [agent] that this room
// reads. Zero values take the defaults.
type Config struct {
	MaxConcurrent   int           // runs at once; 3
	ApprovalTimeout time.Duration // of a call's card, while connected; 10 min
	DefaultMode     Mode          // ask
	MaxTurns        int           // a run; 40
	MaxCost         float64       // USD a run; 0: no bound
	MaxWall         time.Duration // a run, waiting for people excepted; 0: no bound
	Thread, Day     Limits        // over all runs of a conversation, of a day
	MaxOutputTokens int           // a run; 0: no bound
	TurnTokens      int           // asked of the model per turn; 0: its default
	IdleAfter       time.Duration // until an actor is put to bed; 5 min
	OutputBudget    int           // bytes that a turn's results share; 0: derived
	CompactAt       int
	KeepRecent      int             // 6
	Trusted         map[string]bool // channels in which private data may be shown
}

// WithDefaults fills in what is unset.
func (c Config) WithDefaults() Config {
	if c.MaxConcurrent == 0 {
		c.MaxConcurrent = 3
	}
	if c.ApprovalTimeout == 0 {
		c.ApprovalTimeout = 10 * time.Minute
	}
	if c.DefaultMode == "" {
		c.DefaultMode = ModeAsk
	}
	if c.MaxTurns == 0 {
		c.MaxTurns = 40
	}
	if c.IdleAfter == 0 {
		c.IdleAfter = 5 * time.Minute
	}
	if c.KeepRecent == 0 {
		c.KeepRecent = 6
	}
	return c
}

// Validate refuses what cannot work.
func (c Config) Validate() error {
	if c.MaxConcurrent < 0 || c.MaxConcurrent > 1000 {
		return fmt.Errorf("[slack] max_concurrent is 1 to 1000, not %d", c.MaxConcurrent)
	}
	if _, err := ParseMode(string(c.DefaultMode)); c.DefaultMode != "" && err != nil {
		return fmt.Errorf("[slack] default_mode: %w", err)
	}
	return errors.Join(c.Thread.validate("agent.thread"), c.Day.validate("agent.day"))
}
