package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxName is the longest name that every provider takes.
const maxName = 64

// offeredName is the name under which a tool is offered to the model: SERVER__tool, or the tool's own name. Characters
// that a provider refuses become underscores and what is too long is cut; both then end in a hash of the whole, so that
// two names never meet: names that differ at the ninetieth character, or in a dot for a slash, stay two.
//
// It is a pure function of the two names. A name that depended on its neighbours would move when they do, and with it
// every rule, route and pin that says it.
func offeredName(server, tool string, prefixed bool) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, tool)
	full := clean
	if prefixed {
		full = server + "__" + clean
	}
	if clean == tool && tool != "" && len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:4])
	room := maxName - len(suffix)
	if prefixed && len(full) > room {
		// The prefix gives way first: the tool's own name tells more.
		keep := max(8, room-len("__")-len(clean))
		full = server[:min(len(server), keep)] + "__" + clean
	}
	return full[:min(len(full), room)] + suffix
}

// argumentName is what every provider takes for the name of an argument.
var argumentName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// refusedArguments are the names of arguments, such as $filter, for which a provider may refuse the whole request. They
// are offered as they are all the same: renamed, they would not be what the server takes.
func refusedArguments(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !argumentName.MatchString(name) && len(bad) < 5 {
			bad = append(bad, "`"+strings.ReplaceAll(oneLine(name, 40), "`", "'")+"`")
		}
	}
	return bad
}
