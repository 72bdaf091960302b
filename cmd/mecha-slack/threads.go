package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

// maxListed bounds how many threads are looked through.
const maxListed = 10_000

// threadView is a thread as `threads --json` tells it (CONTRACT.md).
type threadView struct {
	Key        string      `json:"key"`
	Team       string      `json:"team"`
	Channel    string      `json:"channel"`
	ThreadTS   string      `json:"thread_ts"`
	Title      string      `json:"title"`
	Kind       string      `json:"kind"`
	State      string      `json:"state"`
	ResolvedBy string      `json:"resolved_by"`
	Mode       string      `json:"mode"`
	Workspace  string      `json:"workspace"`
	Taint      tools.Taint `json:"taint"`
	Turns      int         `json:"turns"`
	Note       string      `json:"note,omitempty"`
	Updated    time.Time   `json:"updated"`
}

func viewThread(th threads.Thread) threadView {
	if th.Taint.Marks == nil {
		th.Taint.Marks = []tools.Mark{}
	}
	return threadView{th.Key, th.Team, th.Channel, th.ThreadTS, th.Title, th.Kind, string(th.State), th.State.Resolves(), string(th.Mode), th.Workspace, th.Taint, th.Turn, th.Note, th.Updated}
}

func (c *cli) threadsCmd() *cobra.Command {
	list := func(cmd *cobra.Command) *cobra.Command {
		var asJSON bool
		var limit int
		cmd.Args = cobra.NoArgs
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		cmd.Flags().IntVar(&limit, "limit", 200, "at most this many, newest first")
		cmd.PreRunE = func(*cobra.Command, []string) error {
			if limit < 1 {
				return usagef("--limit is at least 1")
			}
			return nil
		}
		cmd.RunE = c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.threadsList(ctx, d, limit, asJSON) })
		return cmd
	}
	cmd := list(&cobra.Command{Use: "threads", Short: "Threads, their states, and what resolves each"})
	cmd.AddCommand(list(&cobra.Command{Use: "list", Short: "Threads, newest first"}), c.threadsShowCmd(), c.threadsExportCmd())
	return cmd
}

func (c *cli) threadsList(ctx context.Context, d *desk, limit int, asJSON bool) error {
	list, err := d.threads.List(ctx, limit)
	if err != nil {
		return err
	}
	views := make([]threadView, 0, len(list))
	for _, th := range list {
		if asJSON { // with the evidence of its taint
			if th, err = d.threads.Thread(ctx, th.Key); err != nil {
				return err
			}
		}
		views = append(views, viewThread(th))
	}
	if asJSON {
		return c.printJSON(map[string]any{"threads": views})
	}
	if len(views) == 0 {
		fmt.Fprintln(c.Stdout, "There are no threads yet.")
		return nil
	}
	rows := make([][]string, 0, len(views))
	for _, v := range views {
		rows = append(rows, []string{v.Key, v.State, v.Mode, ago(v.Updated), plain(v.Title, 40) + taintWords(v.Taint), "→ " + v.ResolvedBy})
	}
	return c.table(rows)
}

func taintWords(t tools.Taint) string {
	switch {
	case t.Armed():
		return "  ⚠ private + third-party"
	case t.Private:
		return "  private"
	case t.Untrusted:
		return "  third-party"
	}
	return ""
}

// thread finds a thread by its key, or by any part of a key that names one.
func (d *desk) thread(ctx context.Context, part string) (threads.Thread, error) {
	list, err := d.threads.List(ctx, maxListed)
	if err != nil {
		return threads.Thread{}, err
	}
	var found []string
	for _, th := range list {
		if th.Key == part {
			found = []string{th.Key}
			break
		}
		if strings.HasPrefix(th.Key, part) || strings.HasSuffix(th.Key, part) {
			found = append(found, th.Key)
		}
	}
	switch len(found) {
	case 0:
		return threads.Thread{}, fmt.Errorf("there is no thread %q; `mecha-slack threads` lists them", part)
	case 1:
		return d.threads.Thread(ctx, found[0])
	}
	return threads.Thread{}, refusedf("%q names several threads: %s", part, strings.Join(found, ", "))
}

func (c *cli) threadsShowCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "One thread: its state, its runs, its transcript",
		Args:  cobra.ExactArgs(1),
		RunE: c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			th, err := d.thread(ctx, args[0])
			if err != nil {
				return err
			}
			tr, err := d.transcript(ctx, th)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(tr)
			}
			return c.writeTranscript(c.Stdout, tr)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) threadsExportCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "export KEY",
		Short: "A thread's whole transcript as JSON, secrets hidden",
		Args:  cobra.ExactArgs(1),
		RunE: c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			th, err := d.thread(ctx, args[0])
			if err != nil {
				return err
			}
			tr, err := d.transcript(ctx, th)
			if err != nil {
				return err
			}
			for i := range tr.Messages {
				tr.Messages[i].redact(d.home.mask.String)
			}
			return c.printJSON(tr)
		}),
	}
}

// transcript is a thread with all that was said in it.
type transcript struct {
	threadView
	Runs     []runView     `json:"runs"`
	Messages []messageView `json:"messages"`
}

// runView is one run.
type runView struct {
	ID         string     `json:"id"`
	Thread     string     `json:"thread"`
	State      string     `json:"state"`
	StopCause  string     `json:"stop_cause"`
	Error      string     `json:"error,omitempty"`
	Model      string     `json:"model"`
	Trigger    string     `json:"trigger,omitempty"`
	Turns      int        `json:"turns"`
	Calls      int        `json:"calls"`
	CallErrors int        `json:"call_errors"`
	Staged     int        `json:"staged"`
	Blocked    int        `json:"blocked"`
	InTokens   int        `json:"in_tokens"`
	OutTokens  int        `json:"out_tokens"`
	Cost       *float64   `json:"cost"`
	Started    time.Time  `json:"started"`
	Ended      *time.Time `json:"ended"`
	Seconds    float64    `json:"seconds"` // its own time: waiting for people excepted
	// How it went.
	Denied      int `json:"denied"`
	Unknown     int `json:"unknown"`
	BadCalls    int `json:"bad_calls"`
	Nudges      int `json:"nudges"`
	Repeats     int `json:"repeats"`
	Compactions int `json:"compactions"`
	Retries     int `json:"retries"`
}

func viewRun(u threads.RunInfo) runView {
	q := u.Quality
	return runView{
		ID: u.ID, Thread: u.Thread, State: u.State, StopCause: string(u.Cause), Error: u.Error, Model: u.Model, Trigger: u.Trigger,
		Turns: u.Turns, Calls: u.Calls, CallErrors: u.CallErrors, Staged: u.Staged, Blocked: u.Blocked,
		InTokens: u.Usage.In, OutTokens: u.Usage.Out, Cost: u.Usage.Cost, Started: u.Started, Ended: rfc(u.Ended), Seconds: u.Wall.Seconds(),
		Denied: u.Denied, Unknown: q.Unknown, BadCalls: q.BadCalls, Nudges: q.Nudges, Repeats: q.Repeats, Compactions: q.Compactions, Retries: q.Retries,
	}
}

// messageView is one message; a call's arguments are text, since a model's need
// not parse.
type messageView struct {
	Turn     int        `json:"turn"`
	Run      string     `json:"run,omitempty"`
	Role     string     `json:"role"`
	Author   string     `json:"author"`
	Text     string     `json:"text"`
	Calls    []callView `json:"calls,omitempty"`
	CallID   string     `json:"call_id,omitempty"`
	Tool     string     `json:"tool,omitempty"`
	IsError  bool       `json:"is_error,omitempty"`
	External bool       `json:"external,omitempty"`
	Dropped  bool       `json:"dropped,omitempty"` // compacted away; kept on record
	Created  time.Time  `json:"created"`
}

type callView struct {
	ID   string          `json:"id"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

func (m *messageView) redact(mask func(string) string) {
	m.Text = mask(m.Text)
	for i, call := range m.Calls {
		if masked := mask(string(call.Args)); json.Valid([]byte(masked)) {
			m.Calls[i].Args = json.RawMessage(masked)
		} else {
			m.Calls[i].Args = jsonString(masked)
		}
	}
}

// jsonString is text as a JSON string.
func jsonString(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always encodes
	return b
}

func (d *desk) transcript(ctx context.Context, th threads.Thread) (transcript, error) {
	t := transcript{threadView: viewThread(th), Runs: []runView{}, Messages: []messageView{}}
	runs, err := d.threads.Runs(ctx, th.Key)
	if err != nil {
		return t, err
	}
	for _, u := range runs {
		t.Runs = append(t.Runs, viewRun(u))
	}
	list, err := d.threads.Transcript(ctx, th.Key)
	if err != nil {
		return t, err
	}
	for _, e := range list {
		m := messageView{e.Turn, e.Run, string(e.Role), string(e.Author), e.Text, nil, e.CallID, e.Tool, e.IsError, e.External, e.Dropped, e.Created}
		for _, call := range e.Calls {
			args := call.Args
			if !json.Valid(args) {
				args = jsonString(string(args))
			}
			m.Calls = append(m.Calls, callView{call.ID, call.Tool, args})
		}
		t.Messages = append(t.Messages, m)
	}
	return t, nil
}

// writeTranscript prints a conversation to be read: others' words behind a
// gutter, so that none of them can pass for a line of ours.
func (c *cli) writeTranscript(out io.Writer, t transcript) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s   %s, mode %s\n", t.Key, t.State, t.Mode)
	fmt.Fprintf(w, "  title      %s\n  workspace  %s\n  next       %s\n", plain(t.Title, 100), c.short(t.Workspace), t.ResolvedBy)
	if t.Note != "" {
		fmt.Fprintf(w, "  note       %s\n", plain(t.Note, 300))
	}
	for _, m := range t.Taint.Marks {
		fmt.Fprintf(w, "  %-9s  %s %s (turn %d)\n", m.Leg, m.Tool, plain(m.What, 100), m.Turn)
	}
	run := ""
	for _, m := range t.Messages {
		if m.Run != run && m.Run != "" {
			run = m.Run
			fmt.Fprintf(w, "\n── run %s, %s ──\n", run, m.Created.Format("2006-01-02 15:04"))
		}
		head := m.Author
		switch {
		case m.Role == string(agent.ToolRole):
			head = "← " + m.Tool
			if m.IsError {
				head += " (failed)"
			}
			if m.External {
				head += " (third-party content)"
			}
		case m.Author == string(agent.ByOwner):
			head = "you"
		}
		if m.Dropped {
			head += "   (compacted away)"
		}
		fmt.Fprintf(w, "\n%s\n", head)
		shown, _ := visible(strings.TrimRight(m.Text, "\n"))
		if shown != "" {
			for line := range strings.Lines(shown) {
				fmt.Fprintf(w, "  ┊ %s\n", strings.TrimRight(line, "\r\n"))
			}
		}
		for _, call := range m.Calls {
			args, _ := visible(string(call.Args))
			fmt.Fprintf(w, "  ▸ %s %s\n", call.Tool, oneLine(args))
		}
	}
	return w.Flush()
}
