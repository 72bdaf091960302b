package mcp

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// The policies for tools that declare nothing about the outside world ([tools] unannotated_mcp).
const (
	UnannotatedClosed = "closed" // absent hints are false; the default
	UnannotatedOpen   = "open"   // absent openWorldHint is true: untrusted, and a send
)

// annotations are a server's hints about one of its tools. A hint may be absent.
type annotations struct {
	ReadOnly    hint `json:"readOnlyHint"`
	Destructive hint `json:"destructiveHint"`
	OpenWorld   hint `json:"openWorldHint"`
}

// hint is a bool that may be absent. Servers write "true" and 1 as well; whatever is neither true nor false counts as
// absent.
type hint struct{ set, value bool }

func (h *hint) UnmarshalJSON(b []byte) error {
	switch string(bytes.ToLower(bytes.Trim(b, `"`))) {
	case "true", "1":
		*h = hint{set: true, value: true}
	case "false", "0":
		*h = hint{set: true}
	default:
		*h = hint{}
	}
	return nil
}

// label is what a tool is declared to do, and who said so.
type label struct {
	caps       tools.Capabilities
	readOnly   bool
	unlabelled bool // nobody said whether the tool reaches the open world
	hints      tools.Hints
}

// labelOf makes annotations into capabilities by the seed's rule and widens them with what the table of known servers
// and the configuration say.
//
// Any server tool is assumed to return private data; most of them exist to do that. It is not assumed to reach the open
// world, because that would arm the interlock on every call. readOnlyHint holds unless something other than the server
// forces destructive: narrowing it for any other reason would make every look-up a question to a person.
func labelOf(a annotations, known *knownTool, server, tool Widening, unannotated string) label {
	open := a.OpenWorld.value
	unlabelled := !a.OpenWorld.set && known == nil && !server.labels() && !tool.labels()
	if !a.OpenWorld.set && unannotated == UnannotatedOpen {
		open = true
	}
	l := label{unlabelled: unlabelled}
	l.caps = tools.Capabilities{PrivateData: true, UntrustedInput: open, Destructive: a.Destructive.value}
	if open {
		l.caps.Egress = tools.Chosen
	}
	forced := server.Capabilities().Union(tool.Capabilities())
	if known != nil {
		forced = forced.Union(known.caps)
		l.hints = known.hints
	}
	l.caps = l.caps.Union(forced)
	l.readOnly = a.ReadOnly.value && !forced.Destructive
	return l
}

// Words in a name, and names of arguments, that a tool has which sends something somewhere.
var (
	sendingWords = []string{"send", "post", "create", "share", "reply", "publish", "invite", "notify", "forward", "upload", "tweet", "email"}
	sendingArgs  = []string{"url", "uri", "to", "recipient", "recipients", "channel", "channel_id", "cc", "bcc", "email", "webhook", "attendees"}
	wordBreak    = regexp.MustCompile(`[^A-Za-z0-9]+|([a-z0-9])([A-Z])`)
)

// looksLikeSending says what about a tool looks as if it sent something: words for a warning, never for a decision.
func looksLikeSending(name string, schema json.RawMessage) string {
	words := strings.Fields(strings.ToLower(wordBreak.ReplaceAllString(name, "$1 $2")))
	for _, w := range words {
		if slices.Contains(sendingWords, w) {
			return "its name says \"" + w + "\""
		}
	}
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	for _, arg := range sendingArgs {
		if _, ok := s.Properties[arg]; ok {
			return "it takes \"" + arg + "\""
		}
	}
	return ""
}
