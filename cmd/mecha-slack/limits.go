package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/threads"
)

// inZone makes days begin where the owner lives; an unknown zone is UTC.
func (a *app) inZone(name string) {
	if loc, err := time.LoadLocation(name); err == nil {
		a.threads.Zone = func(threads.Thread) *time.Location { return loc }
	}
}

// health is the line of `status`: the model, and how far today's limits are used.
func (a *app) health(m chosen) string {
	lines := []string{"model " + m.line}
	list, err := a.threads.Spent(context.Background(), "")
	if err != nil {
		return strings.Join(append(lines, "what today has used cannot be read: "+err.Error()), "\n")
	}
	for _, s := range list {
		lines = append(lines, "used "+s.String())
	}
	return strings.Join(lines, "\n")
}

// spentToday says which of the day's limits is used up, for what begins by
// itself; "" where none is.
func (a *app) spentToday(ctx context.Context) (string, error) {
	list, err := a.threads.Spent(ctx, "")
	for _, s := range list {
		if s.Share() >= 1 {
			return s.String() + " are used ([agent.day])", err
		}
	}
	return "", err
}

// nearly is the share of a limit from which doctor speaks of it.
const nearly = 0.8

// checkLimits tells of a day's limit that is nearly or quite used up.
func (a *app) checkLimits(ctx context.Context, f *findings) {
	list, err := a.threads.Spent(ctx, "")
	if err != nil {
		f.fail("limits", "cannot read what today has used: "+err.Error(), "")
		return
	}
	for _, s := range list {
		switch {
		case s.Share() >= 1:
			f.warn("limits", fmt.Sprintf("used up: %s; no run begins until tomorrow", s), "raise it in [agent.day], or wait")
		case s.Share() >= nearly:
			f.warn("limits", fmt.Sprintf("nearly used up: %s", s), "raise it in [agent.day], if today has more to do")
		}
	}
}
