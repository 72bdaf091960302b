package threads

// State of a thread. Each says what resolves it (Resolves).
type State string

const (
	Idle        State = "idle"
	Queued      State = "queued"
	Running     State = "running"
	Awaiting    State = "awaiting"
	Staged      State = "staged"
	Done        State = "done"
	Failed      State = "failed"
	Cancelled   State = "cancelled"
	Interrupted State = "interrupted"
)

// event is what can happen to a thread.
type event string

const (
	evMessage  event = "message"  // something to answer
	evStart    event = "start"    // its turn in the queue
	evWait     event = "wait"     // for a person
	evProceed  event = "proceed"  // the person decided
	evPark     event = "park"     // ended with a question
	evFinish   event = "finish"   // answered, nothing pending
	evStage    event = "stage"    // answered, drafts pending
	evSettle   event = "settle"   // its last draft was decided
	evFail     event = "fail"     //
	evStop     event = "stop"     // by a person
	evCrash    event = "crash"    // the process died
	evShutdown event = "shutdown" // the process ends; the run goes on later
)

// transitions is the whole table. What is not in it does not happen.
var transitions = map[State]map[event]State{
	Idle:        {evMessage: Queued},
	Queued:      {evMessage: Queued, evStart: Running, evStop: Cancelled, evCrash: Queued, evShutdown: Queued},
	Running:     {evMessage: Running, evWait: Awaiting, evPark: Awaiting, evFinish: Done, evStage: Staged, evFail: Failed, evStop: Cancelled, evCrash: Interrupted, evShutdown: Interrupted},
	Awaiting:    {evMessage: Awaiting, evStart: Running, evProceed: Running, evFinish: Done, evStage: Staged, evFail: Failed, evStop: Cancelled, evCrash: Awaiting, evShutdown: Awaiting},
	Staged:      {evMessage: Queued, evSettle: Done},
	Done:        {evMessage: Queued, evStage: Staged},
	Failed:      {evMessage: Queued},
	Cancelled:   {evMessage: Queued},
	Interrupted: {evMessage: Interrupted, evStart: Running, evFail: Failed, evStop: Cancelled, evCrash: Interrupted, evShutdown: Interrupted},
}

// next answers the state after ev; ok is false where ev does not apply.
func (s State) next(ev event) (State, bool) {
	n, ok := transitions[s][ev]
	return n, ok
}

// Resolves says, for a person, what brings a thread out of its state.
func (s State) Resolves() string {
	switch s {
	case Idle:
		return "a message in the thread"
	case Queued:
		return "its place in the queue: it starts when a running thread ends"
	case Running:
		return "its run ends by itself; Stop ends it now"
	case Awaiting:
		return "an answer to the card or the question in the thread; Stop ends it"
	case Staged:
		return "a decision on each of its drafts"
	case Done:
		return "nothing is open; a message goes on"
	case Failed:
		return "a message in the thread tries again"
	case Cancelled:
		return "nothing is open; a message goes on"
	case Interrupted:
		return "a running bot: it takes the run up where its journal ends"
	}
	return ""
}

// Live tells that a run is under way or due.
func (s State) Live() bool {
	switch s {
	case Queued, Running, Awaiting, Interrupted:
		return true
	}
	return false
}
