package tools

import "fmt"

// Egress says whether data can leave, and who picks where to.
type Egress uint8

const (
	None   Egress = iota // nothing leaves
	Blind                // it leaves, but only to where configuration points
	Chosen               // the model names the recipient: a URL, a "to", a channel
)

func (e Egress) String() string {
	switch e {
	case None:
		return "none"
	case Blind:
		return "blind"
	case Chosen:
		return "chosen"
	}
	return fmt.Sprintf("egress(%d)", uint8(e))
}

// MarshalText writes the word of CONTRACT.md's `tools --json`.
func (e Egress) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads it back.
func (e *Egress) UnmarshalText(b []byte) error {
	for _, v := range []Egress{None, Blind, Chosen} {
		if v.String() == string(b) {
			*e = v
			return nil
		}
	}
	return fmt.Errorf("egress is none, blind or chosen, not %q", b)
}

// Capabilities are a tool's declared dangers; three of them are the legs of
// the lethal trifecta (seed, Tools: Capabilities).
type Capabilities struct {
	PrivateData    bool   `json:"private_data"`    // returns what the owner considers private
	UntrustedInput bool   `json:"untrusted_input"` // returns what a third party can influence
	Egress         Egress `json:"egress"`
	Destructive    bool   `json:"destructive"` // may destroy or overwrite
}

// Union is the only way to combine capabilities: it never narrows.
func (c Capabilities) Union(d Capabilities) Capabilities {
	return Capabilities{
		PrivateData:    c.PrivateData || d.PrivateData,
		UntrustedInput: c.UntrustedInput || d.UntrustedInput,
		Egress:         max(c.Egress, d.Egress),
		Destructive:    c.Destructive || d.Destructive,
	}
}
