package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/threads"
)

// help is what `help` answers.
const help = "I work in threads: every thread is a session with a directory of its own.\n" +
	"• Ask me to read, write, edit, run, fetch or search; what changes something asks you first.\n" +
	"• What would go to other people becomes a draft: read it, then Approve, Edit or Reject it.\n" +
	"• `digest` what waits for you · `status` what runs · `stop` ends this thread's run\n" +
	"• `pause` stops everything, `resume` goes on · `doctor` what is wrong · `triggers` what runs on a clock\n" +
	"• `mode ask`, `mode allow`, `mode read-only` by the button in the thread's `status`\n" +
	"• `/mecha new …` begins a session in our DM, *Ask mecha about this* on a message brings it in; `/mecha goal …` proposes what your newest thread here is for, `/mecha plan` has it plan first; `/mecha outbox` and `/mecha approvals` walk through what waits; `/mecha why` explains the last refusal"

// word answers what a person did who typed a command word; false where the text
// is none. Command words are exact: a sentence that holds one is for the model.
func (b *Bot) word(e event, text string) (p Press, ok bool) {
	ev := e.Event
	root := ev.ThreadTS
	if root == "" {
		root = ev.TS
	}
	p = Press{Kind: gestureWord, Team: e.Team, User: ev.User, Channel: ev.Channel, TS: ev.TS, ThreadTS: root, Text: strings.ToLower(strings.TrimSuffix(text, "."))}
	return p, b.verb(p.Text, p) != nil
}

// command takes /mecha WORD; it may stand in no thread.
func (b *Bot) command(ctx context.Context, p Press) {
	r, err := b.role(ctx, p.Team, p.User)
	if err != nil || r == Stranger {
		b.desk().refuse(ctx, presser{Press: p, role: r}, "command", p.Callback, "command", "a stranger", "This is not yours to use: ask an owner of this bot.")
		return
	}
	if b.order(ctx, p, r) {
		return
	}
	text := strings.ToLower(strings.TrimSpace(p.Text))
	switch text {
	case "", "help":
		b.tell(ctx, p, help)
		return
	}
	switch run := b.verb(text, p); {
	case run == nil:
	case r == Owner || text == "digest" || text == "pause" || text == "stop" || text == "status":
		run(ctx)
		return
	default:
		b.desk().refuse(ctx, presser{Press: p, role: r}, "command", p.Callback, text, "not theirs", "This is not yours to use: only an owner may say `"+text+"`.")
		return
	}
	b.tell(ctx, p, fmt.Sprintf("There is no %s %s. %s", p.Callback, short(text, 40), help))
}

func (b *Bot) verb(word string, p Press) func(context.Context) {
	at := threads.Place{Team: p.Team, Channel: p.Channel, ThreadTS: p.ThreadTS}
	say := func(ctx context.Context, text string) {
		if err := b.noteOnce(ctx, at, p.ID, text); err != nil {
			b.Log.Error("cannot answer a command word", "word", word, "error", err)
		}
	}
	who := threads.Who{Team: p.Team, User: p.User, Surface: "slack"}
	switch word {
	case "help", "?":
		return func(ctx context.Context) { say(ctx, help) }
	case "digest":
		return func(ctx context.Context) {
			if err := b.digestNow(ctx, p.Team, p.User, p.Channel, true); err != nil {
				say(ctx, "I cannot make the digest: "+err.Error())
			}
		}
	case "stop":
		return func(ctx context.Context) { b.stopAt(ctx, p.Team, p.User, p.Channel, p.ThreadTS) }
	case "pause", "pause everything":
		return func(ctx context.Context) {
			n, err := b.Threads.Pause(ctx, who)
			if err != nil {
				say(ctx, "I cannot pause: "+err.Error())
				return
			}
			say(ctx, fmt.Sprintf("Paused. %s stopped, and nothing is released until somebody says `resume`.", count(n, "run", "runs")))
		}
	case "resume":
		return func(ctx context.Context) {
			if err := b.Threads.Resume(ctx, who); err != nil {
				say(ctx, "I cannot resume: "+err.Error())
				return
			}
			say(ctx, "Going on.")
		}
	case "status":
		return func(ctx context.Context) {
			if err := b.showStatus(ctx, at); err != nil {
				b.Log.Error("cannot answer a command word", "word", word, "error", err)
			}
		}
	case "doctor":
		return func(ctx context.Context) {
			if b.Doctor == nil {
				say(ctx, "Run `mecha-slack doctor` on the machine.")
				return
			}
			say(ctx, strings.Join(b.Doctor(), "\n"))
		}
	case "triggers":
		return func(ctx context.Context) { say(ctx, b.triggersText(ctx)) }
	}
	return nil
}

// statusText says what this thread does, and what runs elsewhere.
func (b *Bot) statusText(ctx context.Context, at threads.Place) string {
	var lines []string
	if key, ok, err := b.Threads.KeyOf(ctx, at); err == nil && ok {
		if th, err := b.Threads.Thread(ctx, key); err == nil {
			lines = append(lines, fmt.Sprintf("This thread is %s, mode %s. What resolves it: %s.", th.State, th.Mode, th.State.Resolves()))
		}
	}
	live, err := b.Threads.Live(ctx)
	if err != nil {
		return "I cannot read the record: " + err.Error()
	}
	lines = append(lines, fmt.Sprintf("%s under way.", count(len(live), "thread", "threads")))
	if paused, err := b.Threads.Paused(ctx); err == nil && paused {
		lines = append(lines, "Everything is paused: `resume` goes on.")
	}
	if b.Health != nil {
		lines = append(lines, b.Health())
	}
	return strings.Join(lines, "\n")
}

func (b *Bot) triggersText(ctx context.Context) string {
	if b.Triggers == nil {
		return "There are no triggers here."
	}
	list, err := b.Triggers.List(ctx)
	if err != nil {
		return "I cannot read the triggers: " + err.Error()
	}
	var lines []string
	for _, t := range list {
		next := ""
		if n := b.Triggers.Next(t, 1, b.Now()); len(n) > 0 && t.State == "enabled" {
			next = ", next " + n[0].Format("Mon 2 Jan 15:04 MST")
		}
		lines = append(lines, fmt.Sprintf("• %s: %s (%s), %s%s", t.Name, t.Schedule, t.Zone, t.State, next))
	}
	if len(lines) == 0 {
		return "There are no triggers. Say, for instance: every weekday at 7 look at my mail."
	}
	return strings.Join(lines, "\n")
}

// stopAt stops the run of the thread that a place belongs to.
func (b *Bot) stopAt(ctx context.Context, team, user, channel, threadTS string) {
	at := threads.Place{Team: team, Channel: channel, ThreadTS: threadTS}
	key, ok, err := b.Threads.KeyOf(ctx, at)
	if err != nil || !ok {
		return
	}
	stopped, err := b.Threads.Stop(ctx, threads.Who{Team: team, User: user, Surface: "slack"}, key)
	switch {
	case err != nil:
		b.Log.Error("cannot stop a run", "thread", key, "error", err)
	case !stopped:
		b.tell(ctx, Press{User: user, Channel: channel, ThreadTS: threadTS}, "Nothing runs in this thread.")
	}
}
