package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Source finds the message that a draft answers, in the transcript of the
// conversation that drafted it, never live: the text that the draft was written
// from. It joins on identifiers: a string argument that looks like one, under
// the same name and with the same value, in an earlier call; or such a value in
// an earlier call's result. Defaults that we pinned join nothing.
func (o *Outbox) Source(ctx context.Context, d Draft) (Source, error) {
	if o.Transcript == nil {
		return Source{Status: "pruned"}, nil
	}
	calls, err := o.Transcript.PastCalls(ctx, d.Thread)
	if errors.Is(err, ErrPruned) {
		return Source{Status: "pruned"}, nil
	}
	if err != nil {
		return Source{}, err
	}
	end := slices.IndexFunc(calls, func(c PastCall) bool { return c.CallID == d.CallID })
	if end < 0 {
		return Source{Status: "pruned"}, nil
	}
	ids := identifiers(d)
	if len(ids) == 0 {
		return Source{Status: "none"}, nil
	}
	// A call that was made for this very thing beats a list that mentions it;
	// among those, the newest.
	for _, match := range []func(PastCall, string, string) bool{sameArgument, inResult} {
		for i := end - 1; i >= 0; i-- {
			c := calls[i]
			if !c.Answered || !c.External {
				continue
			}
			for _, id := range ids {
				if match(c, id.arg, id.value) {
					return Source{Status: "found", Text: c.Result, Tool: c.Tool, CallID: c.CallID, Arg: id.arg}, nil
				}
			}
		}
	}
	return Source{Status: "none"}, nil
}

type identifier struct{ arg, value string }

// identifiers are a draft's string arguments that name a thing rather than say
// something: *_id, id, thread, message, url.
func identifiers(d Draft) []identifier {
	var m map[string]json.RawMessage
	if json.Unmarshal(d.ArgsBefore, &m) != nil {
		return nil
	}
	var list []identifier
	for k, raw := range m {
		var s string
		if slices.Contains(d.FilledDefaults, k) || json.Unmarshal(raw, &s) != nil || !identifies(k, s) {
			continue
		}
		list = append(list, identifier{k, s})
	}
	slices.SortFunc(list, func(a, b identifier) int { return strings.Compare(a.arg, b.arg) })
	return list
}

func identifies(key, value string) bool {
	k := strings.ToLower(key)
	named := k == "id" || strings.HasSuffix(k, "_id") || strings.HasSuffix(k, "id") && k != "paid" ||
		slices.Contains([]string{"thread", "message", "url", "uri", "event", "ref", "in_reply_to"}, k)
	return named && value != "" && len(value) <= 512 && !strings.ContainsAny(value, " \n\t")
}

func sameArgument(c PastCall, arg, value string) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(c.Args, &m) != nil {
		return false
	}
	var s string
	return json.Unmarshal(m[arg], &s) == nil && s == value
}

// inResult asks for enough letters and digits that chance does not join.
func inResult(c PastCall, _, value string) bool {
	return len(value) >= 8 && strings.ContainsAny(value, "0123456789") && strings.Contains(c.Result, value)
}
