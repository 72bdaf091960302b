package e2e

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestConnect: the bot in one process, its Slack in another, bound by a link
// code: the same product as `local`, without a branch.
func TestConnect(t *testing.T) {
	t.Parallel()
	bot := pair(t, binary, "[slack]\ntrusted_channels = [\"#general\"]\n")

	// Nobody owns it yet: nobody is answered. The code binds whoever sends it.
	bot.dm("hello?")
	code := bot.link()
	bot.dm("ABCDEFGH23").contains("not a code")
	bot.dm(strings.ToLower(code)).contains("You own this bot")
	bot.dm(code).answered(0)

	a := bot.dm("write one.txt with uno")
	a.decide("Approve")
	a.answered(1)
	d := bot.say("alice", bot.channel("general"), "", "<@"+bot.ready.BotUserID+"> draft a mail to dean@example.edu about the budget")
	d.answered(1)
	d.decide("Approve")
	eventually(t, patience, "the mail", func() error {
		if len(bot.sent()) != 1 {
			return errNone
		}
		return nil
	})

	// What is said while nobody listens is answered by the next start.
	bot.kill()
	b := bot.dm("what files are here?")
	w := bot.dm("status")
	a.say("what files are here?")
	bot.begin()
	b.answered(1)
	if got := a.answered(2); !strings.Contains(got, "one.txt") {
		t.Errorf("the answer is %q", got)
	}
	w.contains("under way")
}

// TestStartAgain: a second start of one home says what holds it.
func TestStartAgain(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	out, err := p.run("local", "--addr", "127.0.0.1:0", "--offline")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() == 0 || len(strings.Split(strings.TrimSpace(out), "\n")) != 1 {
		t.Errorf("a second start: %v\n%s", err, out)
	}
	var st json.RawMessage
	if out, err := p.run("status", "--json"); err != nil || json.Unmarshal([]byte(out), &st) != nil {
		t.Errorf("status: %v\n%s", err, out)
	}
	began := time.Now()
	p.cmd.Process.Signal(syscall.SIGINT)
	<-p.ended
	p.ended <- nil
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("Ctrl-C took %v", d)
	}
}
