package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// serving is a bot that runs: what local and connect share. The two differ in
// where its Slack is, and in nothing else.
type serving struct {
	app      *app
	bot      *bot.Bot
	triggers *triggers.Triggers
	hold     *record.Hold
	wg       sync.WaitGroup
	cancel   context.CancelCauseFunc
	done     chan struct{}
	failed   error
}

// slackAt is where the bot connects to.
type slackAt struct {
	apiURL, botToken, appToken string
	trusted                    []string
	owners                     []bot.Person // seeded: the local workspace's
}

// held is a home that we hold: its lock, and its open record.
type held struct {
	db   *record.DB
	hold *record.Hold
}

// holdHome takes the home before anything else is started: a second start says
// at once who holds it.
func (h *home) holdHome(ctx context.Context) (held, error) {
	if err := checkHome(h); err != nil {
		return held{}, err
	}
	db, hold, err := h.openRecord(ctx, true)
	return held{db, hold}, err
}

func (x held) release() error { return errors.Join(x.db.Close(), x.hold.Release()) }

// serve assembles everything over a held home and begins to serve. ready is
// called once a message would be answered. stop ends it and gives the home
// back; where serve fails, it does.
func (c *cli) serve(ctx context.Context, h *home, own held, at slackAt, model chosen, flags runFlags, ready func()) (s *serving, err error) {
	db, hold := own.db, own.hold
	a := c.rooms(h, db, flags)
	s = &serving{app: a, hold: hold, done: make(chan struct{})}
	defer func() {
		if err != nil {
			a.stop()
			err = errors.Join(err, own.release())
		}
	}()
	people := bot.People{DB: db, Approvers: h.config.Slack.Approvers}
	for _, o := range at.owners {
		if err := people.Bind(ctx, o, "seed"); err != nil {
			return nil, err
		}
	}
	a.models = &models{start: model, named: func(ctx context.Context, provider, model string) (chosen, error) {
		return c.provider(ctx, h, provider, model)
	}}
	a.tokens = []string{at.botToken, at.appToken}
	cfg := h.config.Slack
	s.triggers = triggers.New(db, triggers.Config{}, triggers.Deps{Paused: a.threads.Paused, Spent: a.spentToday, Log: h.log, Runner: runner{s}, Digest: func(ctx context.Context) error { return s.bot.Digest(ctx) }})
	a.triggerNamed = s.triggers.Get
	s.bot, err = bot.New(bot.Config{
		APIURL: at.apiURL, BotToken: at.botToken, AppToken: at.appToken,
		Streaming: cfg.Streaming, FlushChars: cfg.StreamFlushChars, FlushEvery: time.Duration(cfg.StreamFlushMS) * time.Millisecond,
		MaxUploadBytes: int64(cfg.MaxUploadMB) << 20, TrustedChannels: append(append([]string{}, cfg.TrustedChannels...), at.trusted...),
		Approvers: cfg.Approvers, DigestChannel: h.config.Digest.Channel, DigestWhenEmpty: h.config.Digest.WhenEmpty,
	}, bot.Deps{DB: db, Threads: a.threads, Outbox: a.outbox, Triggers: s.triggers, Log: h.log,
		Health: func() string { return a.health(model) },
		Doctor: func() []string { return c.doctorLines(ctx, a) },
	})
	if err != nil {
		return nil, err
	}
	a.extra = s.bot.Tools()
	if err := s.bot.Connect(ctx); err != nil {
		return nil, err
	}
	if n, err := a.outbox.Settle(ctx); err != nil {
		return nil, err
	} else if n > 0 {
		a.warnings = append(a.warnings, fmt.Sprintf("%d draft(s) were being sent when the last run ended: nobody knows whether they arrived (mecha-slack outbox)", n))
	}
	if err := s.triggers.Settle(ctx); err != nil {
		return nil, err
	}
	if err := a.start(ctx, c); err != nil {
		return nil, err
	}
	zone, err := h.zone(ctx, people)
	if err != nil {
		return nil, err
	}
	if z := firstOf(h.config.Digest.Timezone, zone); z != "" {
		if err := s.triggers.EnsureDigest(ctx, h.config.Digest.Schedule, z); err != nil {
			return nil, err
		}
	}
	a.inZone(zone)
	run, cancel := context.WithCancelCause(ctx)
	s.cancel = cancel
	a.threads.Sink = s.bot.Sink(run)
	a.threads.Fetch = s.bot.Fetch
	a.threads.Uptime = s.bot.Uptime
	a.threads.Queued = func(key string, place int) { s.bot.Queued(run, key, place) }
	part := func(what string, fn func(context.Context) error) {
		s.wg.Go(func() {
			if err := fn(run); err != nil && run.Err() == nil {
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	part("the record", db.PollOthers)
	part("memory", func(ctx context.Context) error { return giveBack(ctx, db) })
	part("the threads", a.threads.Run)
	part("the outbox", a.outbox.Run)
	part("the MCP servers", a.tellServers)
	part("the triggers", s.triggers.Run)
	part("Slack", func(ctx context.Context) error { return s.bot.Run(ctx, ready) })
	go func() {
		<-run.Done()
		s.wg.Wait()
		if err := context.Cause(run); !errors.Is(err, context.Canceled) && ctx.Err() == nil {
			s.failed = err
		}
		close(s.done)
	}()
	return s, nil
}

// stop ends everything at a safe point and waits for it.
func (s *serving) stop() error {
	s.cancel(nil)
	<-s.done
	s.app.stop()
	return errors.Join(s.failed, s.app.db.Close(), s.hold.Release())
}

// zone is the owner's time zone: new triggers take it, the digest where nothing
// else is configured, and days begin by it. It is the first owner's, as Slack
// tells it, else the configured one; "" where none is known.
func (h *home) zone(ctx context.Context, p bot.People) (string, error) {
	owners, err := p.Owners(ctx, "")
	if err != nil {
		return "", err
	}
	for _, o := range owners {
		if o.Zone != "" {
			return o.Zone, nil
		}
	}
	return h.config.Agent.Timezone, nil
}

// runner joins triggers to the sessions: a prompt runs in a thread of its own
// in the owner's DM, and can be talked back to.
type runner struct{ s *serving }

func (r runner) Run(ctx context.Context, t triggers.Trigger, f triggers.Fire) (res triggers.Result, err error) {
	s := r.s
	owners, err := bot.People{DB: s.app.db}.Owners(ctx, "")
	if err != nil {
		return res, err
	}
	if len(owners) == 0 {
		return res, errors.New("nobody owns this bot yet: run `mecha-slack link`")
	}
	owner := owners[0]
	for _, o := range owners {
		if o.User == t.By {
			owner = o
		}
	}
	when := ""
	if !f.Slot.IsZero() {
		loc, err := time.LoadLocation(t.Zone)
		if err == nil {
			when = " · " + f.Slot.In(loc).Format("Mon 2 Jan 15:04 MST")
		}
	}
	place, err := s.bot.OpenThread(ctx, owner.User, t.Channel, "▸ "+t.Name+when)
	if err != nil {
		return res, fmt.Errorf("cannot open a thread for it: %w", err)
	}
	run, err := s.app.threads.Begin(ctx, planOf(t, f, owner, place))
	if err != nil {
		return res, err
	}
	key := threads.Key(place.Team, place.Channel, place.ThreadTS, "")
	if err := s.triggers.Began(ctx, f.ID, key, run); err != nil {
		s.app.log.Warn("cannot note where a trigger's run can be watched", "trigger", t.Name, "error", err)
	}
	info, text, err := s.app.threads.Await(ctx, run)
	if err != nil {
		// Timed out or cancelled: the run stops at a safe point, what it said stays.
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		if _, stopErr := s.app.threads.Stop(late, threads.Who{Team: place.Team, User: "trigger " + t.Name, Surface: "clock"}, key); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		if after, said, lateErr := s.app.threads.Await(late, run); lateErr == nil {
			info, text = after, said
		}
	}
	res = triggers.Result{Thread: key, Run: run, Turns: info.Turns, Calls: info.Calls, CallErrors: info.CallErrors, Staged: info.Staged, Blocked: info.Blocked, StopCause: string(info.Cause), Summary: firstWords(text), Answer: text}
	if th, thErr := s.app.threads.Thread(context.WithoutCancel(ctx), key); thErr == nil {
		res.Workspace = th.Workspace
	}
	if err != nil {
		return res, err
	}
	if info.Error != "" {
		res.Failed = info.Error
	}
	calls, err := s.app.threads.Calls(ctx, run)
	if err != nil {
		return res, err
	}
	return quieted(res, calls), nil
}

// stopGrace is how long a stopped run has for its last words.
const stopGrace = 5 * time.Second

func firstWords(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(line); len(r) > 200 {
		return string(r[:199]) + "…"
	}
	return line
}
