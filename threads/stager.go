package threads

import (
	"context"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

// stager keeps routed calls: the draft, its card and the call's result are one
// commit, so that neither can be there without the others.
type stager struct {
	t    *Threads
	j    *journal
	th   Thread
	jail *jail.Jail
}

var _ agent.Stager = (*stager)(nil)

func (s *stager) Routed(t tools.Tool) bool { return s.t.Outbox != nil && s.t.Outbox.Routed(t) }

func (s *stager) Stage(ctx context.Context, st agent.Staging) (agent.Result, error) {
	// Files are hashed where the tool would run, which is where a release and
	// every reader of the draft look for them.
	where := s.jail
	if h, ok := st.Tool.(tools.Homed); ok && h.Home() != "" {
		home, err := jail.Open(h.Home())
		if err != nil {
			return agent.Result{}, fmt.Errorf("cannot open the directory of `%s`: %w", st.Tool.Name(), err)
		}
		defer home.Close()
		where = home
	}
	prep, err := s.t.Outbox.Prepare(ctx, st.Tool, st.Call.Args, where)
	if err != nil {
		return agent.Result{}, err
	}
	workspace := where.Path()
	var r agent.Result
	err = s.j.write(ctx, func(tx *record.Tx) error {
		staged, err := s.t.Outbox.Stage(tx, outbox.Staging{
			Tool: st.Tool, Args: st.Call.Args, Filled: st.Filled, Prepared: prep,
			Taint: st.Taint, Destinations: st.Destinations, Workspace: workspace,
			Team: s.th.Team, Thread: s.th.Key, Run: s.j.run, Call: st.Call.ID, Requester: s.th.Owner,
		})
		if err != nil {
			return err
		}
		r = agent.Result{CallID: st.Call.ID, WireID: st.Call.WireID, Tool: st.Call.Tool, Content: staged.Text, Outcome: agent.CallStaged, Draft: staged.ID}
		if err := s.j.result(tx, r); err != nil {
			return err
		}
		if staged.Already {
			return nil
		}
		th, err := getThread(tx, s.th.Key)
		if err != nil {
			return err
		}
		_, err = insertPost(tx, Post{Thread: th.Key, Kind: PostDraft, Ref: staged.ID, Place: th.Surface})
		return err
	})
	return r, err
}
