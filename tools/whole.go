package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// whole is an integer argument as JSON Schema means it: 2, 2.0 and 2e0 alike.
type whole int

// UnmarshalJSON reads it; a number too large for any use is the largest one.
func (w *whole) UnmarshalJSON(b []byte) error {
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || f != math.Trunc(f) {
		return fmt.Errorf("%s is not a whole number", n)
	}
	*w = whole(min(max(f, math.MinInt32), math.MaxInt32))
	return nil
}

// decodeArgs reads arguments that were validated already.
func decodeArgs(raw json.RawMessage, into any) error { return json.Unmarshal(raw, into) }
