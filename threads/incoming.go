package threads

import (
	"encoding/json"
	"time"
)

// Incoming is a message of an owner, as bot's gate let it in.
type Incoming struct {
	App, Team   string
	Channel, TS string
	ThreadTS    string
	Event       string // event id; several events may tell of one message
	User        string
	Text        string
	Files       []InFile // what it brings along
	Quotes      []Quote  // forwarded, unfurled, or quoted text: a third party's words
	// Late: older than an hour when it was found (catch-up); it is listed with
	// Answer, not answered.
	Late bool
}

// InFile is a file that a message brought, before it is fetched.
type InFile struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Size int64  `json:"size"`
	MIME string `json:"mime"`
	URL  string `json:"url"`
}

// Quote is text in an owner's message that its author did not type.
type Quote struct {
	From string `json:"from"`
	Text string `json:"text"`
}

type extra struct {
	Files  []InFile `json:"files,omitempty"`
	Quotes []Quote  `json:"quotes,omitempty"`
}

func (in Incoming) extra() (any, error) {
	if len(in.Files) == 0 && len(in.Quotes) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(extra{in.Files, in.Quotes})
	return string(b), err
}

// Received tells what became of an Incoming.
type Received struct {
	Thread    string
	Duplicate bool // known already: by event, or by channel and ts
	Queued    bool
	At        time.Time
}
