package triggers

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// notifyTimeout bounds a notify command, its reading of the answer included.
const notifyTimeout = time.Minute

// notify gives a run's answer to the trigger's command, on its stdin, in the
// run's workspace, and says what went wrong ("" = nothing). A failure is
// recorded; it never fails the run. Silence and an empty answer notify nobody.
func (t *Triggers) notify(ctx context.Context, tr Trigger, f Fire, res Result, v verdict) string {
	if res.Silent || res.Answer == "" {
		return ""
	}
	// Anywhere else it would write outside every jail.
	if fi, err := os.Stat(res.Workspace); res.Workspace == "" || err != nil || !fi.IsDir() {
		return "not notified: the run has no workspace to do it in"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, notifyTimeout, fmt.Errorf("it took longer than %s", notifyTimeout))
	defer cancel()
	env := child.Env(nil, nil, map[string]string{
		"MECHA_WORKSPACE": res.Workspace, "MECHA_TRIGGER": tr.Name, "MECHA_TRIGGER_STATUS": v.status, "MECHA_TRIGGER_REASON": line(v.reason, 500), "MECHA_THREAD": res.Thread,
	})
	out, err := child.Run(ctx, child.Spec{
		Path: "sh", Args: []string{"-c", tr.Notify}, Dir: res.Workspace, Env: env, Stdin: strings.NewReader(res.Answer), MaxOutput: 4 << 10, Grace: time.Second,
	})
	said := line(string(out.Stderr), 200)
	switch {
	case err != nil:
		return fmt.Sprintf("notify failed: %v", err)
	case out.ExitCode == 127:
		return fmt.Sprintf("notify failed: a command was not found in PATH=%s; give it with its directory (%s)", path(env), said)
	case out.ExitCode != 0:
		return fmt.Sprintf("notify failed with exit code %d: %s", out.ExitCode, said)
	}
	return ""
}

func path(env []string) string {
	for _, kv := range env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			return p
		}
	}
	return ""
}
