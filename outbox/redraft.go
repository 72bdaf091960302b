package outbox

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// identical finds the draft that the very same call has made already: against
// what the agent drafted, whatever a person made of it since. The key that was
// pinned into it is not the agent's.
func identical(open []row, args json.RawMessage, keyArg string) *row {
	for i := range open {
		d := &open[i]
		if pinned, err := withKey(args, keyArg, d.IdempotencyKey); err == nil && bytes.Equal(pinned, d.ArgsBefore) {
			return d
		}
	}
	return nil
}

// redrafted finds the draft, of the same tool in the same conversation and not
// decided yet, that this call is a new version of.
func redrafted(open []row, args json.RawMessage, keyArg string) *row {
	for i := range open {
		d := &open[i]
		if d.SupersededBy != "" {
			continue
		}
		if pinned, err := withKey(args, keyArg, d.IdempotencyKey); err == nil && sameMatter(d.ArgsBefore, pinned) {
			return d
		}
	}
	return nil
}

// openFor is how long an editor counts as open that nobody closed: a form whose
// closing never reached us must not keep a draft for ever.
const openFor = 24 * time.Hour

// replaceable: the agent may take back its own draft, never one that a person
// edited, approved or has open, nor one that may have gone out: then both stay.
func replaceable(d *row, now time.Time) bool {
	open := d.opened > now.Add(-openFor).UnixMilli()
	return d.State == Pending && d.Revision == 1 && !open && len(d.Approvals) == 0 && len(d.Attempts) == 0
}

// Arguments that say whom a message is for, and what it is about.
var (
	targets  = []string{"to", "cc", "bcc", "recipient", "recipients", "channel", "channel_id", "chat_id", "url", "account", "calendar_id", "bundle", "path"}
	subjects = []string{"subject", "title", "summary", "thread_id", "thread", "thread_ts", "in_reply_to", "message_id", "event_id", "start"}
)

// sameMatter tells whether two calls are versions of one message: the same
// recipients and the same subject. Two mails to one person are two matters.
// Where nothing says what it is about (a chat's text), the texts tell.
func sameMatter(a, b json.RawMessage) bool {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	said := func(keys []string) (same, some bool) {
		for _, k := range keys {
			if !bytes.Equal(x[k], y[k]) {
				return false, true
			}
			some = some || len(x[k]) > 0
		}
		return true, some
	}
	sameTarget, someTarget := said(targets)
	sameSubject, someSubject := said(subjects)
	if !sameTarget || !sameSubject || !someTarget && !someSubject {
		return false
	}
	return someSubject || alike(wordsOf(x), wordsOf(y))
}

// wordsOf are the different words of a call's texts, but for whom they are for.
func wordsOf(m map[string]json.RawMessage) map[string]bool {
	words := map[string]bool{}
	for k, raw := range m {
		var s string
		if slices.Contains(targets, k) || json.Unmarshal(raw, &s) != nil {
			continue
		}
		for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			words[w] = true
		}
	}
	return words
}

// alike: a shorter or longer version shares most of the shorter one's words.
func alike(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	shared := 0
	for w := range a {
		if b[w] {
			shared++
		}
	}
	return len(a) > 0 && 2*shared > len(a)
}
