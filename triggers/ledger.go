package triggers

import (
	"context"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Decision is what a tick makes of one slot, or of the oldest slots of a very
// long outage.
type Decision struct {
	Trigger string    `json:"trigger"`
	Slot    time.Time `json:"slot"`
	First   time.Time `json:"first,omitzero"` // where Slots > 1: the oldest
	Slots   int       `json:"slots"`
	Do      string    `json:"do"` // run, skip
	Reason  string    `json:"reason,omitempty"`
	Late    bool      `json:"late,omitempty"`
}

const (
	// chunk is how many rows one commit of the ledger takes: others write too.
	chunk = 500
	// unbelievable is an outage that is a clock gone wrong instead: nothing is
	// run, and nothing noted, for years that have not been.
	unbelievable = 10 * 366 * 24 * time.Hour

	staleReason = "stale: a newer slot was due"
)

// job is one trigger's share of a tick.
type job struct {
	e         *entry
	accounted time.Time // as the record must have it
	decisions []Decision
	flight    *flight // reserved for the newest slot, if it runs
	moved     bool    // the record says otherwise: another look is needed
}

// Tick decides about every slot up to at, once: run, or skipped with its
// reason. dryRun only tells.
func (t *Triggers) Tick(ctx context.Context, at time.Time, dryRun bool) ([]Decision, error) {
	t.ticking.Lock()
	defer t.ticking.Unlock()
	if err := t.refresh(ctx); err != nil {
		return nil, err
	}
	due := t.plan.dueAt(at)
	if len(due) == 0 {
		return nil, nil
	}
	hold, err := t.hold(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []*job
	var all []Decision
	for _, e := range due {
		if at.Sub(e.accounted) > unbelievable {
			if !e.warned {
				e.warned = true
				t.Log.Error("a trigger's last slot is more than ten years ago: the clock is wrong, or the trigger must be enabled anew", "trigger", e.name, "clock", at, "accounted", e.accounted)
			}
			continue
		}
		j := &job{e: e, accounted: e.accounted, decisions: t.judge(e, at, hold.of(e.kind))}
		if !dryRun {
			t.reserveFor(ctx, j)
		}
		jobs = append(jobs, j)
		all = append(all, j.decisions...)
	}
	if dryRun {
		return all, nil
	}
	return t.account(ctx, jobs)
}

// holds are why nothing may run now; "" where nothing keeps it.
type holds struct{ paused, spent string }

// of is why a trigger of a kind may not. A digest asks no model: the day's budget
// does not keep it, and it is what tells that others were kept.
func (h holds) of(kind string) string {
	if kind == kindDigest || h.paused != "" {
		return h.paused
	}
	return h.spent
}

// hold looks for a pause, and at the day's budget.
func (t *Triggers) hold(ctx context.Context) (h holds, err error) {
	if t.Paused != nil {
		paused, err := t.Paused(ctx)
		if err != nil {
			return h, fmt.Errorf("cannot tell whether everything is paused: %w", err)
		}
		if paused {
			h.paused = "paused: everything was"
		}
	}
	if t.Spent != nil {
		why, err := t.Spent(ctx)
		if err != nil {
			return h, fmt.Errorf("cannot tell what may still be spent today: %w", err)
		}
		if why != "" {
			h.spent = "limit: " + why
		}
	}
	return h, nil
}

// judge decides about a trigger's slots up to at: only the newest may run.
func (t *Triggers) judge(e *entry, at time.Time, hold string) []Decision {
	m := e.calendar.missed(e.accounted, at, t.cfg.MaxMisses)
	list := make([]Decision, 0, len(m.newest)+1)
	old := staleReason
	if e.state == "disabled" {
		old = "disabled"
	}
	if m.older > 0 {
		list = append(list, Decision{Trigger: e.name, Slot: m.last, First: m.first, Slots: m.older, Do: "skip", Reason: old, Late: true})
	}
	for i, slot := range m.newest {
		late := at.Sub(slot)
		d := Decision{Trigger: e.name, Slot: slot, Slots: 1, Do: "skip", Reason: old, Late: late > t.cfg.Grace}
		switch {
		case i < len(m.newest)-1 || e.state == "disabled":
		case hold != "":
			d.Reason = hold
		case !catches(e.catchUp, late, t.cfg.Grace):
			d.Reason = fmt.Sprintf("stale: %s late, and catch-up is %s", late.Round(time.Second), e.catchUp)
		case t.busy(e.name):
			d.Reason = overlapReason
		default:
			d.Do, d.Reason = "run", ""
		}
		list = append(list, d)
	}
	return list
}

const overlapReason = "overlap: its last run has not ended"

// reserveFor takes the trigger's place among what runs, so that nothing else
// can start it while its row is written.
func (t *Triggers) reserveFor(ctx context.Context, j *job) {
	last := &j.decisions[len(j.decisions)-1]
	if last.Do != "run" {
		return
	}
	if j.flight = t.reserve(ctx, j.e.name); j.flight == nil {
		last.Do, last.Reason = "skip", overlapReason
	}
}

// account commits each slot's row before anything runs: a crash afterwards
// leaves an open fire, never a slot that is lost or taken twice. It goes by
// chunks; each moves its triggers' accounted along.
func (t *Triggers) account(ctx context.Context, jobs []*job) (done []Decision, err error) {
	type row struct {
		j *job
		d Decision
	}
	var rows []row
	for _, j := range jobs {
		for _, d := range j.decisions {
			rows = append(rows, row{j, d})
		}
	}
	defer func() {
		for _, j := range jobs {
			j.flight.release()
		}
		t.plan.mu.Lock()
		defer t.plan.mu.Unlock()
		for _, j := range jobs {
			if j.accounted.After(j.e.accounted) && t.plan.entries[j.e.name] == j.e {
				j.e.accounted = j.accounted
				t.plan.reckon(j.e)
			}
		}
	}()
	for len(rows) > 0 {
		part := rows[:min(chunk, len(rows))]
		rows = rows[len(part):]
		reached := map[*job]time.Time{}
		moved := map[*job]time.Time{}
		started := map[*job]Fire{}
		prompts := map[*job]Trigger{}
		var noted []Decision
		err := t.db.Write(ctx, func(tx *record.Tx) error {
			for _, r := range part {
				if _, known := reached[r.j]; !known {
					var version, accounted int64
					if err := tx.Row(qTriggerAt, []any{r.j.e.name}, &version, &accounted); err != nil {
						return fmt.Errorf("cannot read trigger %s: %w", r.j.e.name, err)
					}
					reached[r.j] = r.j.accounted
					if version != r.j.e.version || accounted != record.MS(r.j.accounted) {
						moved[r.j] = record.Time(accounted)
					}
				}
				if _, gone := moved[r.j]; gone || r.j.moved {
					continue
				}
				f, fresh, err := noteSlot(tx, r.d)
				if err != nil {
					return err
				}
				reached[r.j] = r.d.Slot
				if fresh && r.d.Do == "run" {
					if prompts[r.j], err = get(tx, r.j.e.name); err != nil {
						return err
					}
					started[r.j] = f
				}
				if fresh {
					noted = append(noted, r.d)
				}
			}
			for j, to := range reached {
				if _, gone := moved[j]; gone || j.moved {
					continue
				}
				if _, err := tx.Exec(qTriggerAccounted, record.MS(to), j.e.name, record.MS(to)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return done, fmt.Errorf("cannot note which slots were due: %w", err)
		}
		done = append(done, noted...)
		for j, at := range moved {
			j.moved = true
			if at.After(j.accounted) {
				j.accounted = at
			}
		}
		for j, to := range reached {
			if !j.moved {
				j.accounted = to
			}
		}
		for j, f := range started {
			late := j.decisions[len(j.decisions)-1].Late
			flight := j.flight
			j.flight = nil
			t.start(flight, prompts[j], f, late)
		}
	}
	return done, nil
}

// noteSlot writes a decision's row.
func noteSlot(tx *record.Tx, d Decision) (f Fire, fresh bool, err error) {
	f = Fire{Trigger: d.Trigger, Slot: d.Slot, First: d.First, Slots: d.Slots, Status: "skipped", Reason: d.Reason, Started: tx.Now()}
	if d.Do == "run" {
		f.Status = "running"
	}
	if f.ID, fresh, err = insertFire(tx, f); err != nil {
		err = fmt.Errorf("cannot note the slot %s of trigger %s: %w", d.Slot.Format(time.RFC3339), d.Trigger, err)
	}
	return f, fresh, err
}

// settleSlots notes as skipped what was due before a change to the trigger, in
// that change's own transaction.
func (t *Triggers) settleSlots(tx *record.Tx, tr Trigger, reason string) error {
	if tr.OnEvent != "" || tr.State != "enabled" && tr.State != "disabled" || tx.Now().Sub(tr.Accounted) > unbelievable {
		return nil
	}
	c, err := t.plan.get(tr.Schedule, tr.Zone)
	if err != nil {
		return nil // it has no slots that anybody could name
	}
	m := c.missed(tr.Accounted, tx.Now(), min(chunk, t.cfg.MaxMisses))
	if m.older > 0 {
		if _, _, err := noteSlot(tx, Decision{Trigger: tr.Name, Slot: m.last, First: m.first, Slots: m.older, Reason: reason}); err != nil {
			return err
		}
	}
	for _, slot := range m.newest {
		if _, _, err := noteSlot(tx, Decision{Trigger: tr.Name, Slot: slot, Slots: 1, Reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

// Settle closes fires that a dead process left open. The next holder of the
// home calls it before Run.
func (t *Triggers) Settle(ctx context.Context) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		open, err := record.Collect(tx, scanFire, qFiresOpen)
		if err != nil {
			return fmt.Errorf("cannot read which runs a dead process left: %w", err)
		}
		for _, f := range open {
			v := verdict{"error", "the process that ran it ended"}
			if f.Reason == askedRun {
				v.reason = "no mecha-slack took it up"
			}
			if err := endFire(tx, f.ID, Result{Thread: f.Thread, Run: f.Run}, v); err != nil {
				return err
			}
		}
		return nil
	})
}
