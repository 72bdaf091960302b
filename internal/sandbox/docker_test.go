package sandbox

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// fakeDocker stands for a client and its daemon: it confines with bwrap what it is asked to confine and leaves the rest
// out, so that the preflight can really judge the arguments. It writes down what it was asked.
const fakeDocker = `#!/bin/bash
log=$(dirname "$0")/log
echo "$*" >>"$log"
case $1 in
ps) cat "$(dirname "$0")/ps" 2>/dev/null; exit 0;;
rm) exit 0;;
run) shift;;
*) exit 1;;
esac
args=(--unshare-all --share-net --die-with-parent --clearenv --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev)
binds=()
while [[ $1 == --* ]]; do
  case $1 in
  --rm|--interactive|--init|--read-only) shift;;
  --network) args=("${args[@]/--share-net/--unshare-net}"); shift 2;;
  --tmpfs) args+=(--tmpfs "${2%%:*}"); shift 2;;
  --workdir) args+=(--chdir "$2"); shift 2;;
  --env) k=${2%%=*}; if [[ $2 == *=* ]]; then v=${2#*=}; else v=${!k}; fi; args+=(--setenv "$k" "$v"); shift 2;;
  --mount) p=${2#type=bind,src=}; p=${p%%,*}; if [[ $2 == *,readonly ]]; then binds+=(--ro-bind "$p" "$p"); else binds+=(--bind "$p" "$p"); fi; shift 2;;
  --entrypoint) entry=$2; shift 2;;
  *) shift 2;;
  esac
done
shift # the image
exec bwrap "${args[@]}" "${binds[@]}" -- "$entry" "$@"
`

// installDocker puts the fake first in PATH and returns a function that reads its log.
func installDocker(t *testing.T, script string) (dir string, log func() string) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, "bwrap is not installed")
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir, func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "log"))
		return string(b)
	}
}

func TestDocker(t *testing.T) {
	h, ws := home(t)
	installDocker(t, fakeDocker)
	b, _, err := Select(t.Context(), Config{Kind: Docker, MemoryMB: 512, CPUs: 2}, []string{h})
	if err != nil {
		t.Fatal(err)
	}
	if !b.NetworkOff() || !strings.Contains(b.Describe(), DefaultImage) {
		t.Errorf("%v, %s", b.NetworkOff(), b.Describe())
	}
	spill := filepath.Join(h, "spill")
	if err := os.Mkdir(spill, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(spill, "f"), "spilled")
	cmd := Cmd{Dir: ws, ReadOnly: []string{spill}, Env: []string{"TOKEN=xoxb-secret", "HOME=/root"}}
	res := bash(t, b, cmd, `echo $TOKEN $HOME $MECHA_CHILD $(cat `+spill+`/f); (echo x >`+spill+`/f) 2>/dev/null || echo no; exit 4`)
	if got, want := string(res.Stdout), "xoxb-secret "+ws+" 1 spilled\nno\n"; got != want || res.ExitCode != 4 {
		t.Errorf("got %q, exit %d; want %q, exit 4 (%s)", got, res.ExitCode, want, res.Stderr)
	}

	cmd.Argv = []string{"true"}
	spec, err := b.Command(cmd)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(spec.Args, " ")
	for _, want := range []string{
		"--cap-drop ALL", "--security-opt no-new-privileges", "--read-only", "--network none", "--pull never", "--memory 512m --memory-swap 512m",
		"--cpus 2", "--pids-limit", "--user ", "src=" + spill + ",dst=" + spill + ",readonly", "--env TOKEN ",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %s", want, line)
		}
	}
	if strings.Contains(line, "xoxb-secret") {
		t.Error("a variable's value is on the command line")
	}
	if slices.Contains(spec.Env, "HOME="+ws) {
		t.Error("the client would read its configuration from the workspace")
	}
	for _, bad := range []string{ws + ",src=/etc", ws + `"`} {
		if err := os.MkdirAll(bad, 0o755); err == nil {
			if _, err := b.Command(Cmd{Argv: []string{"true"}, Dir: bad}); err == nil {
				t.Errorf("%q was accepted as a mount", bad)
			}
		}
	}
}

func TestDockerContainerEndsWithAKilledClient(t *testing.T) {
	h, ws := home(t)
	_, log := installDocker(t, fakeDocker)
	b, _, err := Select(t.Context(), Config{Kind: Docker}, []string{h})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := b.Command(Cmd{Dir: ws, Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	spec.Grace = 50 * time.Millisecond
	p, err := child.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	<-p.Done()
	name := spec.Args[slices.Index(spec.Args, "--name")+1]
	if !strings.Contains(log(), "rm --force "+name) {
		t.Errorf("the container was not removed:\n%s", log())
	}
}

func TestDockerSweepsWhatAKilledOwnerLeft(t *testing.T) {
	h, _ := home(t)
	dir, log := installDocker(t, fakeDocker)
	gone := child.Self()
	gone.Started--
	ours, _ := json.Marshal(child.Self())
	theirs, _ := json.Marshal(gone)
	write(t, filepath.Join(dir, "ps"), "aaa "+string(ours)+"\nbbb "+string(theirs)+"\nccc not-json\n")
	if _, _, err := Select(t.Context(), Config{Kind: Docker}, []string{h}); err != nil {
		t.Fatal(err)
	}
	if l := log(); !strings.Contains(l, "rm --force bbb") || strings.Contains(l, "rm --force aaa") || strings.Contains(l, "rm --force ccc") {
		t.Errorf("swept the wrong ones:\n%s", l)
	}
}

func TestDockerThatDoesNotConfineIsSeenThrough(t *testing.T) {
	h, _ := home(t)
	installDocker(t, strings.Replace(fakeDocker, "--network) args=", "--network) true || args=", 1))
	if _, _, err := Select(t.Context(), Config{Kind: Docker}, []string{h}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "TCP") {
		t.Errorf("got %v, want a refusal that names TCP", err)
	}
}

func TestDockerWithoutADaemon(t *testing.T) {
	h, _ := home(t)
	installDocker(t, "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
	if _, _, err := Select(t.Context(), Config{Kind: Docker}, []string{h}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "Cannot connect") {
		t.Errorf("got %v", err)
	}
}
