package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/tools"
)

// The table itself: what is final never changes, and only an attempt leads to
// released.
func TestTransitions(t *testing.T) {
	for s, acts := range transitions {
		for a, next := range acts {
			if next == Released && a != actDeliver && a != actArrived {
				t.Errorf("%s: %s releases", s, a)
			}
			if s == Releasing && next == Approved || s == Uncertain && (next == Approved || next == Releasing) {
				t.Errorf("%s: %s sends again without a review", s, a)
			}
			if _, known := transitions[next]; !known && !next.final() {
				t.Errorf("%s leads to %s, which leads nowhere and is not final", s, next)
			}
		}
	}
	for _, s := range []State{Released, Rejected, Superseded, Expired} {
		if !s.final() {
			t.Errorf("%s is not final", s)
		}
	}
}

// model is what a draft must be, in a few words.
type model struct {
	state     State
	revision  int
	approvals int
	attempts  int
	rounds    int // attempts and reconciliations
	real      int // deliveries that happened
	body      string
	due       time.Time // an approved one's hold ends
	touched   time.Time // drafted, or edited last
	opened    time.Time // in somebody's editor since then; zero: in nobody's
}

func (m model) open(now time.Time) bool { return m.opened.After(now.Add(-openFor)) }

// Random interleavings of what people, the agent, the network and crashes do,
// against the model: the state follows the table, a delivery needs an approval
// of its own, and nothing is delivered twice that was not established to be
// missing.
func TestInterleavings(t *testing.T) {
	const need, hold, expires = 2, time.Minute, 48 * time.Hour
	rapid.Check(t, func(rt *rapid.T) {
		b := newBenchIn(t, Config{ExpireAfter: Duration(expires), Policies: []Policy{{Tool: "mail__mail_send", MinApprovals: need, Hold: Duration(hold)}}}, memory(t))
		defer b.db.Close()
		dieAt := -1
		steps := 0
		step := func(at string) {
			if steps++; dieAt >= 0 && steps-1 == dieAt {
				panic(killed{at})
			}
		}
		o := b.other(step)
		defer func() { o.db.Close() }()
		models := map[string]*model{}
		ids := []string{}
		shown := map[string]Draft{} // what somebody's screen shows, perhaps of long ago
		answer := tools.OK("Sent.")
		var lost error
		b.mail.call = func(_ context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
			if !answer.IsError {
				for _, id := range ids {
					if keyOf(id) == env.IdempotencyKey {
						models[id].real++
					}
				}
			}
			return answer, lost
		}
		one := func(rt *rapid.T) string {
			if len(ids) == 0 {
				rt.Skip("no draft")
			}
			return rapid.SampledFrom(ids).Draw(rt, "draft")
		}
		get := func(id string) Draft {
			d, err := o.Get(ctx, id)
			if err != nil {
				rt.Fatal(err)
			}
			return d
		}
		// try runs one operation, in which the process may die. ok: it went through.
		try := func(rt *rapid.T, id string, op func() error) (ok, died bool, err error) {
			steps, dieAt = 0, rapid.IntRange(-12, 6).Draw(rt, "dies at")
			func() {
				defer func() {
					p := recover()
					if p == nil {
						return
					}
					if _, is := p.(killed); !is {
						panic(p)
					}
					died = true
				}()
				err = op()
			}()
			dieAt = -1
			if !died {
				return err == nil, false, err
			}
			// The next process finds what is on the record, and settles.
			o.db.Close()
			o = b.other(step)
			if _, err := o.Settle(ctx); err != nil {
				rt.Fatal(err)
			}
			return false, true, nil
		}
		// is brings the model of a draft to one of the states that it may be in.
		is := func(rt *rapid.T, id, what string, died bool, may ...model) {
			d := get(id)
			m := models[id]
			if !died {
				may = may[len(may)-1:]
			}
			for _, x := range may {
				x.real = m.real
				if x.state == d.State && x.revision == d.Revision && x.approvals == len(d.Approvals) && x.attempts == len(d.Attempts) && x.rounds == d.rounds() && (x.body == "" || string(d.Args) == x.body) {
					*m = x
					return
				}
			}
			rt.Fatalf("after %s (died: %v) draft %s is %s at revision %d with %d approvals and %d attempts (%d rounds), which is none of %+v", what, died, id, d.State, d.Revision, len(d.Approvals), len(d.Attempts), d.rounds(), may)
		}
		n := 0
		rt.Repeat(map[string]func(*rapid.T){
			"stage": func(rt *rapid.T) {
				n++
				raw := args(fmt.Sprintf("text %d", n))
				if rapid.Bool().Draw(rt, "another matter") {
					raw = fmt.Sprintf(`{"to":["dean@example.edu"],"subject":"matter %d","body":"x"}`, n)
				}
				var st Staged
				s := b.staging(raw)
				_, died, err := try(rt, "", func() (err error) { st, err = stageWith(ctx, o, s); return err })
				if err != nil {
					rt.Fatal(err)
				}
				list, err := o.List(ctx, Filter{All: true})
				if err != nil {
					rt.Fatal(err)
				}
				fresh := ""
				for _, d := range list {
					if models[d.ID] == nil {
						fresh = d.ID
					}
				}
				if fresh == "" {
					if !died {
						rt.Fatalf("an acknowledged draft %s is lost", st.ID)
					}
					if len(list) != len(ids) {
						rt.Fatal("a draft is lost")
					}
					return
				}
				d := get(fresh)
				ids = append(ids, fresh)
				models[fresh] = &model{state: Pending, revision: 1, body: raw, touched: b.clock.now()}
				shown[fresh] = d
				is(rt, fresh, "stage", false, *models[fresh])
				if old := models[d.Supersedes]; old != nil {
					m := *old
					if m.state == Pending && m.revision == 1 && m.approvals == 0 && m.attempts == 0 && !m.open(b.clock.now()) {
						m.state = Superseded
					}
					is(rt, d.Supersedes, "a new version", false, m)
				}
			},
			"look": func(rt *rapid.T) {
				id := one(rt)
				shown[id] = get(id)
			},
			"approve": func(rt *rapid.T) {
				id := one(rt)
				by := rapid.SampledFrom([]string{"U1", "U2", "U3"}).Draw(rt, "by")
				old, d, m := shown[id], get(id), *models[id]
				ok, died, err := try(rt, id, func() error { _, err := o.Approve(ctx, second(old, by)); return err })
				next := m
				next.approvals++
				if next.approvals == need {
					next.state, next.due = Approved, b.clock.now().Add(hold)
				}
				double := false
				for _, a := range d.Approvals {
					double = double || a.By == by
				}
				may := m.state == Pending && old.Seal() == d.Seal() && old.Revision == d.Revision && !double
				switch {
				case died && may:
					is(rt, id, "approve", true, m, next)
				case may != ok && !died:
					rt.Fatalf("approving %+v with what was shown of %d: %v", m, old.Revision, err)
				case ok:
					is(rt, id, "approve", false, next)
				default:
					is(rt, id, "a refused approval", false, m)
				}
			},
			"edit": func(rt *rapid.T) {
				id := one(rt)
				m := *models[id]
				n++
				raw := args(fmt.Sprintf("edited %d", n))
				ok, died, err := try(rt, id, func() error { _, err := o.Edit(ctx, id, m.revision, json.RawMessage(raw), "U1", "slack"); return err })
				next := m
				next.revision, next.approvals, next.body, next.touched, next.opened = m.revision+1, 0, raw, b.clock.now(), time.Time{}
				switch {
				case died && m.state == Pending:
					is(rt, id, "edit", true, m, next)
				case ok != (m.state == Pending) && !died:
					rt.Fatalf("editing %+v: %v", m, err)
				case ok:
					is(rt, id, "edit", false, next)
				default:
					is(rt, id, "a refused edit", false, m)
				}
			},
			"reject": func(rt *rapid.T) {
				id := one(rt)
				m := *models[id]
				_, died, _ := try(rt, id, func() error { _, err := o.Reject(ctx, id, "U1", "slack", "no"); return err })
				next := m
				if to, ok := m.state.next(actReject); ok {
					next.state = to
				}
				is(rt, id, "reject", died, m, next)
			},
			"cancel": func(rt *rapid.T) {
				id := one(rt)
				m := *models[id]
				_, died, _ := try(rt, id, func() error { _, err := o.Cancel(ctx, id, "U1", "slack"); return err })
				next := m
				if m.state == Approved {
					next.state, next.approvals = Pending, 0
				}
				is(rt, id, "cancel", died, m, next)
			},
			"release": func(rt *rapid.T) {
				id := one(rt)
				if rapid.IntRange(0, 3).Draw(rt, "in its hold") > 0 {
					b.clock.move(2 * hold)
				}
				m := *models[id]
				next := m
				next.attempts, next.rounds = m.attempts+1, m.rounds+1
				unknown := next
				unknown.state = Uncertain
				answer, lost = tools.OK("Sent."), nil
				switch rapid.SampledFrom([]string{"delivered", "failed", "lost"}).Draw(rt, "outcome") {
				case "delivered":
					next.state = Released
				case "failed":
					answer = tools.Fail("no such user")
					next.state, next.approvals = Pending, 0
				case "lost":
					lost = errors.New("EOF")
					next.state = Uncertain
				}
				before := m.real
				_, died, err := try(rt, id, func() error { _, err := o.Dispatch(ctx, id); return err })
				if m.state != Approved || m.due.After(b.clock.now()) {
					is(rt, id, "a release of what is not approved", false, m)
					if models[id].real != before {
						rt.Fatalf("%s was sent: %v", m.state, err)
					}
					return
				}
				is(rt, id, "release", died, m, unknown, next)
				if models[id].state == Approved && models[id].real != before {
					rt.Fatal("it was handed over, and the record knows nothing of it")
				}
			},
			"reconcile": func(rt *rapid.T) {
				id := one(rt)
				m := *models[id]
				next := m
				outcome := "not-delivered"
				if m.real > 0 { // people look
					outcome = "delivered"
				}
				if m.state == Uncertain {
					next.rounds++
					if next.state = Released; m.real == 0 {
						next.state, next.approvals = Pending, 0
					}
				}
				_, died, _ := try(rt, id, func() error { _, err := o.Reconcile(ctx, id, outcome, "looked", "U1", "slack"); return err })
				is(rt, id, "reconcile", died, m, next)
			},
			"time passes": func(rt *rapid.T) {
				b.clock.move(rapid.SampledFrom([]time.Duration{time.Second, 40 * time.Second, 2 * time.Minute, 13 * time.Hour, expires}).Draw(rt, "how long"))
			},
			"open or close an editor": func(rt *rapid.T) {
				id := one(rt)
				m := models[id]
				open := rapid.Bool().Draw(rt, "open")
				if err := o.Opened(ctx, id, open); err != nil {
					rt.Fatal(err)
				}
				if m.state == Pending {
					if m.opened = (time.Time{}); open {
						m.opened = b.clock.now()
					}
				}
			},
			"expire": func(rt *rapid.T) {
				now := b.clock.now()
				_, died, err := try(rt, "", func() error { _, err := o.Expire(ctx); return err })
				if err != nil {
					rt.Fatal(err)
				}
				for _, id := range ids {
					m := *models[id]
					next := m
					if m.state == Pending && !m.open(now) && !m.touched.After(now.Add(-expires)) {
						next.state = Expired
					}
					is(rt, id, "expire", died, m, next)
				}
			},
			"": func(rt *rapid.T) {
				for id, m := range models {
					if m.real > 1 {
						rt.Fatalf("draft %s was delivered %d times", id, m.real)
					}
					if m.state == Released && m.real != 1 {
						rt.Fatalf("draft %s is released and was delivered %d times", id, m.real)
					}
				}
			},
		})
	})
}
