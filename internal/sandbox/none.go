package sandbox

import "github.com/mecha-slack/mecha-slack/internal/child"

// unconfined runs commands as the user. It exists so that running without a sandbox is a choice with a name.
type unconfined struct{ cfg Config }

func (unconfined) Name() string     { return None }
func (unconfined) NetworkOff() bool { return false }
func (unconfined) Describe() string {
	return "none: commands run unconfined, as you, with your files and your network"
}

func (u unconfined) Command(cmd Cmd) (child.Spec, error) {
	cwd, err := cmd.check(nil)
	if err != nil {
		return child.Spec{}, err
	}
	return child.Spec{Path: cmd.Argv[0], Args: cmd.Argv[1:], Dir: cwd, Env: openEnv(u.cfg, cmd)}, nil
}
