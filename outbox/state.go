package outbox

// act is what can happen to a draft.
type act string

const (
	actApprove    act = "approve" // the last needed approval
	actCancel     act = "cancel"
	actEdit       act = "edit"
	actReject     act = "reject"
	actSupersede  act = "supersede"
	actExpire     act = "expire"
	actDispatch   act = "dispatch" // the attempt row is committed
	actDeliver    act = "deliver"
	actFail       act = "fail" // a known failure
	actLose       act = "lose" // no trustworthy answer, or the process died
	actArrived    act = "reconcile as delivered"
	actNotArrived act = "reconcile as not delivered"
)

// transitions is the whole table of DESIGN.md §7. What is not in it does not
// happen.
var transitions = map[State]map[act]State{
	Pending: {actApprove: Approved, actEdit: Pending, actReject: Rejected, actSupersede: Superseded, actExpire: Expired},
	// fail: a draft that was never dispatched (its tool is gone, a file changed).
	Approved:  {actCancel: Pending, actDispatch: Releasing, actFail: Pending, actReject: Rejected},
	Releasing: {actDeliver: Released, actFail: Pending, actLose: Uncertain},
	// deliver: a late answer, while nobody has reconciled it. A late error may
	// only say that the call was given up.
	Uncertain: {actArrived: Released, actNotArrived: Pending, actDeliver: Released},
}

func (s State) next(a act) (State, bool) {
	n, ok := transitions[s][a]
	return n, ok
}

// final states never change again.
func (s State) final() bool { return len(transitions[s]) == 0 }
