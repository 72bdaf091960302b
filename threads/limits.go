package threads

import (
	"context"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Limits bound what several runs may use together: [agent.thread] those of one
// conversation, [agent.day] all of one day. Zero means no bound.
type Limits struct {
	MaxTurns        int     `toml:"max_turns"`
	MaxOutputTokens int     `toml:"max_output_tokens"`
	MaxCostUSD      float64 `toml:"max_cost_usd"`  // counts what has a price
	MaxWallSecs     int     `toml:"max_wall_secs"` // waiting for people excepted
}

func (l Limits) validate(table string) error {
	if l.MaxTurns < 0 || l.MaxOutputTokens < 0 || l.MaxCostUSD < 0 || l.MaxWallSecs < 0 {
		return fmt.Errorf("[%s]: a limit is not negative; 0 or left out means none", table)
	}
	return nil
}

// Spending is what was used of a limit, for people: the footer, status, doctor.
type Spending struct {
	Scope string  `json:"scope"` // conversation, day
	What  string  `json:"what"`  // turns, output tokens, cost, time
	Used  float64 `json:"used"`  // time in seconds, cost in USD
	Limit float64 `json:"limit"`
}

// Share is how much of the limit is used: 1 is all of it.
func (s Spending) Share() float64 { return s.Used / s.Limit }

func (s Spending) String() string {
	of := map[string]string{"day": "today's", "conversation": "this conversation's"}[s.Scope]
	switch s.What {
	case "cost":
		return fmt.Sprintf("$%.2f of %s $%.2f", s.Used, of, s.Limit)
	case "time":
		return fmt.Sprintf("%s of %s %s", seconds(s.Used), of, seconds(s.Limit))
	}
	return fmt.Sprintf("%.0f of %s %.0f %s", s.Used, of, s.Limit, s.What)
}

func seconds(s float64) time.Duration {
	return (time.Duration(s) * time.Second).Round(time.Second)
}

// over names the setting by which a limit can be changed.
func (s Spending) over() (agent.Cause, string) {
	who, table := "all runs of today together", "agent.day"
	if s.Scope == "conversation" {
		who, table = "this conversation", "agent.thread"
	}
	switch s.What {
	case "turns":
		return agent.MaxTurns, fmt.Sprintf("%s may take %.0f turns and took %.0f ([%s] max_turns)", who, s.Limit, s.Used, table)
	case "output tokens":
		return agent.OutOfTokens, fmt.Sprintf("%s may write %.0f tokens and wrote %.0f ([%s] max_output_tokens)", who, s.Limit, s.Used, table)
	case "cost":
		return agent.OutOfMoney, fmt.Sprintf("%s may cost $%.2f and cost $%.2f ([%s] max_cost_usd)", who, s.Limit, s.Used, table)
	}
	return agent.OutOfTime, fmt.Sprintf("%s may take %s and took %s ([%s] max_wall_secs)", who, seconds(s.Limit), seconds(s.Used), table)
}

// used is what counts against limits, as the record has it.
type used struct {
	turns, out int
	cost       float64
	wall       int64 // ms
}

func (l Limits) spendings(scope string, u used) (list []Spending) {
	for _, s := range []Spending{
		{scope, "cost", u.cost, l.MaxCostUSD}, {scope, "output tokens", float64(u.out), float64(l.MaxOutputTokens)},
		{scope, "turns", float64(u.turns), float64(l.MaxTurns)}, {scope, "time", float64(u.wall) / 1000, float64(l.MaxWallSecs)},
	} {
		if s.Limit > 0 {
			list = append(list, s)
		}
	}
	return list
}

// Spent answers what was used of the limits that are set: of a conversation's,
// where key names one, and of this day's.
func (t *Threads) Spent(ctx context.Context, key string) (list []Spending, err error) {
	return t.spent(ctx, key, day(t.Now(), t.zone(Thread{Key: key})), 0)
}

func (t *Threads) spent(ctx context.Context, key, day string, unbooked int64) (list []Spending, err error) {
	if t.cfg.Thread == (Limits{}) && t.cfg.Day == (Limits{}) {
		return nil, nil
	}
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list = nil
		for _, scope := range []struct {
			name, query, of string
			limits          Limits
		}{{"conversation", qThreadUsed, key, t.cfg.Thread}, {"day", qDayUsed, day, t.cfg.Day}} {
			if scope.limits == (Limits{}) || scope.of == "" {
				continue
			}
			var u used
			if err := tx.Row(scope.query, []any{scope.of}, &u.turns, &u.out, &u.cost, &u.wall); err != nil {
				return fmt.Errorf("cannot read what the %s has used: %w", scope.name, err)
			}
			u.wall += unbooked
			list = append(list, scope.limits.spendings(scope.name, u)...)
		}
		return nil
	})
	return list, err
}

// ceiling tells a run which limit over several runs is used up. It is asked before
// each turn, since others run beside it.
func (t *Threads) ceiling(th Thread, j *journal) func(context.Context) (agent.Cause, string) {
	if t.cfg.Thread == (Limits{}) && t.cfg.Day == (Limits{}) {
		return nil
	}
	return func(ctx context.Context) (agent.Cause, string) {
		list, err := t.spent(ctx, th.Key, day(t.Now(), j.loc), j.clock.since(t.Now()))
		if err != nil {
			if ctx.Err() != nil {
				return "", "" // the run is ending anyway
			}
			t.Log.Error("cannot read what was used of the limits", "thread", th.Key, "error", err)
			return agent.Failed, "the record cannot be read, so what may still be used is not known"
		}
		for _, s := range list {
			if s.Share() >= 1 {
				return s.over()
			}
		}
		return "", ""
	}
}

// day is the date on the owner's wall: the key of a day's usage.
func day(now time.Time, loc *time.Location) string { return now.In(loc).Format(time.DateOnly) }
