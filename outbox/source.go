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
					return Source{Status: "found", Text: inside(c.Result), Tool: c.Tool, CallID: c.CallID, Arg: id.arg}, nil
				}
			}
		}
	}
	return Source{Status: "none"}, nil
}

type identifier struct{ arg, value string }

// identifiers are a draft's arguments that name a thing rather than say
// something: *_id, id, thread, message, url.
func identifiers(d Draft) []identifier {
	list, err := members(d.ArgsBefore)
	if err != nil {
		return nil
	}
	var ids []identifier
	for _, m := range list {
		value := scalar(m.raw)
		if value == d.IdempotencyKey || slices.Contains(d.FilledDefaults, m.key) || !identifies(m.key, value) {
			continue
		}
		ids = append(ids, identifier{m.key, value})
	}
	slices.SortFunc(ids, func(a, b identifier) int { return strings.Compare(a.arg, b.arg) })
	return ids
}

// scalar is a text or a number as it reads; "" for anything else.
func scalar(raw json.RawMessage) (s string) {
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		_ = json.Unmarshal(raw, &s) // bad JSON identifies nothing
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		s = string(raw)
	}
	return s
}

// inside is a result without the marks that set a stranger's words apart for
// the model: a person sees them set apart otherwise.
func inside(s string) string {
	if !strings.HasPrefix(s, "<external-") {
		return s
	}
	_, rest, ok := strings.Cut(s, "\n")
	last := strings.LastIndexByte(rest, '\n')
	if !ok || last < 0 || !strings.HasPrefix(rest[last+1:], "</external-") {
		return s
	}
	return rest[:last]
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
	return scalar(m[arg]) == value
}

// inResult asks for enough letters and digits that chance does not join.
func inResult(c PastCall, _, value string) bool {
	return len(value) >= 8 && strings.ContainsAny(value, "0123456789") && strings.Contains(c.Result, value)
}
