package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

// peer is a bot that can be started on a workspace.
type peer interface {
	name() string
	// command starts it in a home of its own; bind says, where there is one,
	// what alice has to say first.
	command(at localslack.Ready, model, home string) (*exec.Cmd, error)
	bind(home string) (words string, err error)
	// installed is what has to lie on the disk, in bytes, the runtime apart.
	installed() (int64, error)
}

type ours struct{ bin string }

func (ours) name() string { return "mecha-slack" }

func (o ours) command(at localslack.Ready, model, home string) (*exec.Cmd, error) {
	config := fmt.Sprintf("[providers.main]\nkind = \"openai\"\nbase_url = %q\nmodel = \"peer\"\napi_key = \"none\"\ncontext_window = 100000\n", model)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(o.bin, "connect", "--api-url", at.APIURL, "--home", home)
	cmd.Env = append(os.Environ(), "SLACK_BOT_TOKEN="+at.BotToken, "SLACK_APP_TOKEN="+at.AppToken, "MECHA_NO_DISCOVERY=1")
	return cmd, nil
}

func (o ours) bind(home string) (string, error) {
	out, err := exec.Command(o.bin, "link", "--home", home).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("link: %w: %s", err, out)
	}
	code := regexp.MustCompile(`\b[A-HJ-NP-Z2-9]{10}\b`).FindString(string(out))
	if code == "" {
		return "", fmt.Errorf("link prints no code: %s", out)
	}
	return code, nil
}

func (o ours) installed() (int64, error) {
	st, err := os.Stat(o.bin)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

type bolt struct{}

func (bolt) name() string { return "Bolt" }

func (bolt) command(at localslack.Ready, model, home string) (*exec.Cmd, error) {
	cmd := exec.Command("node", filepath.Join(dir, "app.cjs"))
	cmd.Env = append(os.Environ(), "API_URL="+at.APIURL, "BOT_TOKEN="+at.BotToken, "APP_TOKEN="+at.AppToken, "TEAM_ID="+at.TeamID, "MODEL_URL="+model, "WORK="+home)
	return cmd, nil
}

func (bolt) bind(string) (string, error) { return "", nil }

func (bolt) installed() (n int64, err error) {
	err = filepath.WalkDir(filepath.Join(dir, "node_modules"), func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err == nil {
			n += i.Size()
		}
		return err
	})
	return n, err
}
