package agent

import "encoding/json"

// wireCall is a Call as the record keeps it. A model may write arguments that
// are no JSON at all; as a RawMessage they would make the whole turn impossible
// to store, so they are kept as a string beside.
type wireCall struct {
	ID     string          `json:"id"`
	WireID string          `json:"wire_id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args,omitempty"`
	Broken *string         `json:"broken_args,omitempty"`
}

// MarshalJSON keeps every byte of the arguments, also of broken ones.
func (c Call) MarshalJSON() ([]byte, error) {
	w := wireCall{ID: c.ID, WireID: c.WireID, Tool: c.Tool}
	if json.Valid(c.Args) {
		w.Args = c.Args
	} else {
		s := string(c.Args)
		w.Broken = &s
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads it back.
func (c *Call) UnmarshalJSON(b []byte) error {
	var w wireCall
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*c = Call{ID: w.ID, WireID: w.WireID, Tool: w.Tool, Args: w.Args}
	if w.Broken != nil {
		c.Args = json.RawMessage(*w.Broken)
	}
	return nil
}
