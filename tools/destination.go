package tools

// Origin tells where a destination first appeared in a conversation
// (DESIGN.md §5).
type Origin string

const (
	FromOwner      Origin = "owner"       // the owner's own words
	FromPrivate    Origin = "private"     // private data that no stranger can write to
	FromConfig     Origin = "config"      // configuration
	FromThirdParty Origin = "third_party" // a stranger's text
	FromNowhere    Origin = "unknown"     // nowhere; counts as third-party once a stranger's text is there
)

// Kind of a destination. IDs to change or delete are asked about, never red.
type DestinationKind string

const (
	ToURL     DestinationKind = "url"
	ToAddress DestinationKind = "address" // a recipient
	ToChannel DestinationKind = "channel"
	ToAccount DestinationKind = "account"
	ToPath    DestinationKind = "path" // outside the jail
	ToID      DestinationKind = "id"
)

// Destination is one place that a call would send to or destroy at.
type Destination struct {
	Kind   DestinationKind `json:"kind"`
	Arg    string          `json:"arg"`   // pointer into the arguments
	Value  string          `json:"value"` // as it stands in the arguments
	Origin Origin          `json:"origin"`
	// Suspect: only a stranger's text named it, or nothing did while a
	// stranger's text was there (DESIGN.md §5). Trace sets it.
	Suspect bool   `json:"suspect"`
	Call    string `json:"call_id"` // where it first appeared
	Tool    string `json:"tool"`
}

// Words is something that the conversation has held, and whose it is: the raw
// material in which a destination's origin is looked up, oldest first.
type Words struct {
	Origin Origin // FromOwner, FromPrivate, FromConfig, FromThirdParty
	Text   string
	Call   string
	Tool   string
}
