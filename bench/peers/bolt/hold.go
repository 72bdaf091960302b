package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
	"github.com/mecha-slack/mecha-slack/internal/localslack/person"
)

// result is a column of the table.
type result struct {
	name                                 string
	installed                            int64
	start                                time.Duration // from the command to an open socket
	idleMB, usedMB                       float64       // resident, before the first and after the last round
	cpu                                  time.Duration // of a round
	acks, answers, cards, acked, settled []time.Duration
}

// hold starts a peer and holds the conversation with it.
func hold(ctx context.Context, p peer, model, home string, rounds int, rest time.Duration) (r *result, err error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ws, err := localslack.Start(ctx, localslack.Config{RateScale: -1})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	r = &result{name: p.name()}
	if r.installed, err = p.installed(); err != nil {
		return nil, err
	}
	cmd, err := p.command(ws.Ready(), model, home)
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start it: %w", err)
	}
	defer func() {
		cmd.Process.Signal(os.Interrupt)
		done := make(chan struct{})
		go func() { cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-done
		}
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, log.String())
		}
	}()
	a := alice{person.Person{At: ws.Ready(), Name: "alice"}}
	if err := until(ctx, func() error { return a.connected(ctx) }); err != nil {
		return nil, fmt.Errorf("it opened no socket: %w", err)
	}
	r.start = time.Since(began)
	words, err := p.bind(home)
	if err != nil {
		return nil, err
	}
	if words != "" {
		ts, err := a.Say(ctx, "", words)
		if err != nil {
			return nil, err
		}
		if err := a.hears(ctx, ts, 1, "own this bot"); err != nil {
			return nil, err
		}
	}
	<-time.After(5 * time.Second) // what a start leaves behind is given back
	var cpu time.Duration
	if r.idleMB, cpu, err = weigh(cmd.Process.Pid); err != nil {
		return nil, err
	}
	for n := range rounds {
		if err := r.round(ctx, a, home, n, rest); err != nil {
			return nil, fmt.Errorf("round %d: %w", n, err)
		}
	}
	var after time.Duration
	if r.usedMB, after, err = weigh(cmd.Process.Pid); err != nil {
		return nil, err
	}
	r.cpu = (after - cpu) / time.Duration(rounds)
	r.acks, r.acked, err = a.acks(ctx)
	return r, err
}

// round is the conversation: a greeting, then a file that needs an approval.
func (r *result) round(ctx context.Context, a alice, home string, n int, rest time.Duration) error {
	<-time.After(rest)
	began := time.Now()
	thread, err := a.Say(ctx, "", "hello")
	if err != nil {
		return err
	}
	if err := a.hears(ctx, thread, 1, "Hello. I am here."); err != nil {
		return err
	}
	r.answers = append(r.answers, time.Since(began))

	<-time.After(rest)
	began = time.Now()
	file := fmt.Sprintf("note%d.txt", n)
	if _, err := a.Say(ctx, thread, "write "+file+" with words"); err != nil {
		return err
	}
	card, err := a.card(ctx, thread)
	if err != nil {
		return err
	}
	r.cards = append(r.cards, time.Since(began))
	<-time.After(rest)
	began = time.Now()
	if err := a.Press(ctx, card); err != nil {
		return err
	}
	if err := a.hears(ctx, thread, 1, "Done."); err != nil {
		return err
	}
	r.settled = append(r.settled, time.Since(began))
	return until(ctx, func() error {
		for _, pattern := range []string{filepath.Join(home, file), filepath.Join(home, "work", "slack", "*", file)} {
			if found, err := filepath.Glob(pattern); err == nil && len(found) == 1 {
				return nil
			}
		}
		return errors.New("the file was not written")
	})
}

// weigh is a process's resident memory in MB and its processor time.
func weigh(pid int) (mb float64, cpu time.Duration, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("cannot weigh the process: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kB, _ := strconv.ParseFloat(f[1], 64)
			mb = kB / 1024
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("cannot weigh the process: %w", err)
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	user, _ := strconv.Atoi(f[12])
	system, _ := strconv.Atoi(f[13])
	return mb, time.Duration(user+system) * 10 * time.Millisecond, nil
}
