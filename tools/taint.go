package tools

// Leg is one of the two that a conversation carries.
type Leg string

const (
	Private   Leg = "private"
	Untrusted Leg = "untrusted"
)

// Mark is a piece of evidence: what armed a leg. Call and Tool are empty where
// no call did (a file that the owner's message brought along).
type Mark struct {
	Leg  Leg    `json:"leg"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	What string `json:"what"`
	Turn int    `json:"turn"`
}

// Taint belongs to a conversation and only grows: turns, compaction, resume and
// delegation keep it. Marks are in the order in which they came.
type Taint struct {
	Private   bool   `json:"private"`
	Untrusted bool   `json:"untrusted"`
	Marks     []Mark `json:"sources"`
}

// Armed tells that private data and a stranger's text have met.
func (t Taint) Armed() bool { return t.Private && t.Untrusted }

// With is t with the marks added.
func (t Taint) With(marks ...Mark) Taint {
	if len(marks) == 0 {
		return t
	}
	t.Marks = append([]Mark(nil), t.Marks...)
	t.Add(marks...)
	return t
}

// Add adds the marks in place, for who owns t and its Marks: a conversation has
// as many as calls, and copying them for each would cost as much as it is long.
func (t *Taint) Add(marks ...Mark) {
	t.Marks = append(t.Marks, marks...)
	for _, m := range marks {
		switch m.Leg {
		case Private:
			t.Private = true
		case Untrusted:
			t.Untrusted = true
		}
	}
}

// Held is t for somebody else to keep: neither sees what the other adds.
func (t Taint) Held() Taint {
	t.Marks = t.Marks[:len(t.Marks):len(t.Marks)]
	return t
}

// First is the mark that armed the leg; ok is false where none did.
func (t Taint) First(leg Leg) (m Mark, ok bool) {
	for _, m := range t.Marks {
		if m.Leg == leg {
			return m, true
		}
	}
	return Mark{}, false
}

// By tells whether a call brought a stranger's text in.
func (t Taint) By(call string) bool {
	for _, m := range t.Marks {
		if m.Leg == Untrusted && m.Call == call && call != "" {
			return true
		}
	}
	return false
}

// Arm tells which marks a finished call leaves: private by declaration, even on
// an error; untrusted only if the result really came from outside, and then by
// the tool's declaration or the content's own origin.
func Arm(c Capabilities, out Output, call, tool, what string, turn int) []Mark {
	var marks []Mark
	if c.PrivateData {
		marks = append(marks, Mark{Private, call, tool, what, turn})
	}
	if out.External && (c.UntrustedInput || out.Stranger) {
		marks = append(marks, Mark{Untrusted, call, tool, what, turn})
	}
	return marks
}
