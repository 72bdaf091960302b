package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestHeadline(t *testing.T) {
	for in, want := range map[string]string{
		`{"content":"x","path":"notes/a.md"}`:     "notes/a.md",
		`{"command":"ls\n-la\u202e"}`:             "ls -la",
		`{"body":"b","to":["a@b.org","c@d.org"]}`: "a@b.org, c@d.org",
		`{"b":"two","a":"one"}`:                   "one",
		`{"n":7,"flag":true}`:                     "7",
		`{}`:                                      "",
		`[1]`:                                     "",
		`{"path`:                                  "",
		`{"query":"` + strings.Repeat("y", 300) + `"}`: strings.Repeat("y", 80) + "…",
	} {
		if got := Headline(json.RawMessage(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
