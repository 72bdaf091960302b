package outbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// keyOf is a draft's idempotency key: the same for every attempt, so that a
// tool that takes one can tell a second try from a second message.
func keyOf(id string) string { return "mecha-" + id }

// keyArg is the argument that takes the idempotency key, where a policy or the
// tool's hints name one.
func (o *Outbox) keyArg(t tools.Tool) string {
	if k := o.cfg.policy(t.Name()).KeyArg; k != "" {
		return k
	}
	if h, ok := t.(tools.Addressed); ok {
		return h.Hints().KeyArg
	}
	return ""
}

// withKey pins the key into the named argument of an object. Every other byte
// stays; a key that is there already changes nothing.
func withKey(args json.RawMessage, arg, key string) (json.RawMessage, error) {
	if arg == "" {
		return args, nil
	}
	list, err := members(args)
	if err != nil {
		return nil, err
	}
	value := []byte(text(key))
	at := slices.IndexFunc(list, func(m member) bool { return m.key == arg })
	switch {
	case at >= 0 && sameString(list[at].raw, key):
		return args, nil
	case at >= 0:
		return slices.Concat(args[:list[at].from], value, args[list[at].to:]), nil
	}
	end := strings.LastIndexByte(string(args), '}')
	pinned := slices.Concat([]byte(text(arg)), []byte{':'}, value)
	if len(list) > 0 {
		pinned = slices.Concat([]byte{','}, pinned)
	}
	return slices.Concat(args[:end], pinned, args[end:]), nil
}

// takesKey proves that the tool's schema has room for the key that would be
// pinned: a policy that names a wrong argument must fail at staging, not in
// front of the person who has just approved.
func takesKey(t tools.Tool, args json.RawMessage, arg, key string) error {
	if arg == "" {
		return nil
	}
	args, err := withKey(args, arg, key)
	if err != nil {
		return err
	}
	if _, _, err := tools.ParseArgs(t, args); err != nil {
		return fmt.Errorf("`%s` is configured to take the idempotency key (key_arg), and `%s` does not accept it there: %w", arg, t.Name(), err)
	}
	return nil
}

func sameString(raw json.RawMessage, want string) bool {
	var s string
	return len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil && s == want
}
