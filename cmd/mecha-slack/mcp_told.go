package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
)

// settingServers is where a running bot tells how its MCP servers are doing: a
// command beside it would otherwise start them all over only to look, and would
// see others than the ones that fail.
const settingServers = "mcp_servers"

// tellEvery is how fresh that is.
const tellEvery = 500 * time.Millisecond

// tellServers keeps it up to date until ctx ends, and writes only what changed.
func (a *app) tellServers(ctx context.Context) error {
	if a.servers == nil {
		return a.threads.SetSetting(ctx, settingServers, "")
	}
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	var told []byte
	for {
		now, err := outbox.Pretty(a.servers.Standing())
		if err != nil {
			return fmt.Errorf("cannot write how the MCP servers are doing: %w", err)
		}
		if !bytes.Equal(now, told) {
			if err := a.threads.SetSetting(ctx, settingServers, string(now)); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				a.log.Warn("cannot note how the MCP servers are doing", "error", err)
			} else {
				told = now
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// toldServers is what a running bot tells of its servers; ok is false where none
// runs, or it has not told yet.
func (c *cli) toldServers(ctx context.Context) (list []mcp.ServerStatus, pid int, ok bool) {
	d, err := c.openDesk(ctx)
	if err != nil {
		return nil, 0, false
	}
	defer d.close()
	pid, running := d.botPID()
	if !running {
		return nil, 0, false
	}
	told, err := d.threads.Setting(ctx, settingServers)
	if err != nil || told == "" || json.Unmarshal([]byte(told), &list) != nil {
		return nil, pid, false
	}
	mcp.Measure(list)
	return list, pid, true
}

// serverStatus asks a running bot, or starts the servers for looking.
func (c *cli) serverStatus(ctx context.Context) (list []mcp.ServerStatus, of string, err error) {
	if list, pid, ok := c.toldServers(ctx); ok {
		return list, fmt.Sprintf("as the running bot has them (process %d)", pid), nil
	}
	a, end, err := c.lookAt(ctx, runFlags{})
	if err != nil {
		return nil, "", err
	}
	defer end()
	list = []mcp.ServerStatus{}
	if a.servers != nil {
		list = a.servers.Status()
	}
	return list, "started for looking; no bot runs on this home", nil
}

// since and memory are a server's columns.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "since " + t.Local().Format("2 Jan 15:04:05")
}

func megabytes(kb int64) string {
	if kb == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MB", float64(kb)/1024)
}
