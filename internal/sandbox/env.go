package sandbox

import (
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// systemPath is all that a confined command finds programs in; nothing under the home is mounted.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// confinedEnv is the environment of a confined command: the allowlist, the command's own variables, and HOME and PATH
// as they are inside.
func confinedEnv(cfg Config, cmd Cmd, tmp string) []string {
	set := pairs(cmd.Env)
	set["HOME"] = cmd.Dir
	set["PATH"] = systemPath
	set["TMPDIR"] = tmp
	set["MECHA_WORKSPACE"] = cmd.Dir
	return child.Env(nil, cfg.Env, set)
}

// openEnv is the environment of a command that runs as the user.
func openEnv(cfg Config, cmd Cmd) []string {
	set := pairs(cmd.Env)
	set["MECHA_WORKSPACE"] = cmd.Dir
	return child.Env(nil, cfg.Env, set)
}

func pairs(env []string) map[string]string {
	set := make(map[string]string, len(env)+4)
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			set[k] = v
		}
	}
	return set
}
