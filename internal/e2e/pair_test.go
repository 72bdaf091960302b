package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// pair serves a home by `connect`, with its Slack in a process of its own: the
// bot may die alone. The demo mail server is wired as `local` does, and alice
// owns the bot. config goes before the tables that this needs.
func pair(t testing.TB, bin, config string) *product {
	t.Helper()
	ws := &product{t: t, home: t.TempDir(), log: &logTail{}, args: []string{"workspace", "--addr", "127.0.0.1:0"}}
	ws.begin()
	t.Cleanup(ws.stop)

	bot := &product{t: t, bin: bin, home: t.TempDir(), log: &logTail{}, ready: ws.ready}
	bot.ready.Maildir = filepath.Join(t.TempDir(), "mail")
	config += fmt.Sprintf("\n[outbox]\ntools = [\"mail__mail_send\", \"mail__mail_reply\"]\n\n[[mcp]]\nname = \"mail\"\ncommand = %q\nargs = [\"demo-mail\", \"--maildir\", %q]\n", binary, bot.ready.Maildir)
	if err := os.WriteFile(filepath.Join(bot.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	bot.env = []string{"SLACK_BOT_TOKEN=" + ws.ready.BotToken, "SLACK_APP_TOKEN=" + ws.ready.AppToken}
	bot.args = []string{"connect", "--api-url", ws.ready.APIURL}
	bot.begin()
	t.Cleanup(bot.stop)
	return bot
}

// link answers a code that binds an owner.
func (p *product) link() string {
	p.t.Helper()
	out, err := p.run("link")
	if err != nil {
		p.t.Fatalf("link: %v\n%s", err, out)
	}
	code := regexp.MustCompile(`\b[A-HJ-NP-Z2-9]{10}\b`).FindString(out)
	if code == "" {
		p.t.Fatalf("link prints no code: %s", out)
	}
	return code
}
