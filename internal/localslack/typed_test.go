package localslack

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTypedText(t *testing.T) {
	t.Parallel()
	s := newStore(newSeed(Config{}, time.Now()), time.Now)
	bot, general := s.BotUserID, s.resolve("#general", "").ID
	for typed, want := range map[string]string{
		"plain":                          "plain",
		"a < b & c > d":                  "a &lt; b &amp; c &gt; d",
		"@mecha hello":                   "<@" + bot + "> hello",
		"<@" + bot + "> hello":           "<@" + bot + "> hello",
		"hi @mecha, hi":                  "hi <@" + bot + ">, hi",
		"@nobody":                        "@nobody",
		"me@mecha":                       "me@mecha",
		"in #general.":                   "in <#" + general + "|general>.",
		"@here now":                      "<!here> now",
		"see https://x.test/a?b=1&c=2.":  "see <https://x.test/a?b=1&amp;c=2>.",
		"(https://x.test)":               "(<https://x.test>)",
		"mail dean@example.edu about":    "mail <mailto:dean@example.edu|dean@example.edu> about",
		"run `curl https://x.test` @bob": "run `curl https://x.test` <@" + s.userByName("bob").ID + ">",
		"```\n@mecha <b>\n```":           "```\n@mecha &lt;b&gt;\n```",
		"<script>":                       "&lt;script&gt;",
		"<https://x.test|a label>":       "&lt;<https://x.test>|a label&gt;",
	} {
		if got := s.typedText(typed); got != want {
			t.Errorf("%q\n got %q\nwant %q", typed, got, want)
		}
	}
}

// Whatever is typed, unescaping the text without its tokens gives it back, and
// the rich_text block says the same.
func TestTypedTextLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(newSeed(Config{}, time.Now()), time.Now)
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.StringOf(rapid.RuneFrom([]rune("ab <>&`\n.,é😀;"))).Draw(t, "typed")
		text := s.typedText(typed)
		if got := unescaper.Replace(text); got != typed {
			t.Fatalf("typed %q, sent %q, read %q", typed, text, got)
		}
		var blocks []struct {
			Elements []struct {
				Elements []struct {
					Text string `json:"text"`
				} `json:"elements"`
			} `json:"elements"`
		}
		if err := json.Unmarshal(richText(text), &blocks); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for _, e := range blocks[0].Elements[0].Elements {
			said.WriteString(e.Text)
		}
		if said.String() != typed {
			t.Fatalf("rich_text says %q, typed was %q", said.String(), typed)
		}
	})
}

func TestTimestamps(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"1767326125.870439": "1767326125.870439", "1767326125": "1767326125.000000", "5.1": "5.100000"} {
		if ts, ok := parseTS(in); !ok || ts.String() != want {
			t.Errorf("%q: %s %v", in, ts, ok)
		}
	}
	for _, in := range []string{"", ".", "x.y", "-1.000001", "1.-00001", "1.0000001", "99999999999999.0"} {
		if ts, ok := parseTS(in); ok {
			t.Errorf("%q was read as %s", in, ts)
		}
	}
	s := newStore(newSeed(Config{}, time.Now()), func() time.Time { return time.Unix(1, 0) })
	last := timestamp(0)
	for range 1000 { // the clock stands still, timestamps don't
		ts := s.nextTS()
		if ts <= last || last != 0 && ts.String() <= last.String() {
			t.Fatalf("%s after %s", ts, last)
		}
		last = ts
	}
}

func TestStreamsMergeAsShown(t *testing.T) {
	t.Parallel()
	var st stream
	st.add([]chunk{{Type: "markdown_text", Text: "a"}, {Type: "markdown_text", Text: "é"}, {Type: "plan_update", Title: "P"}})
	st.add([]chunk{{Type: "task_update", ID: "1", Title: "T", Status: "in_progress", Details: "x"}, {Type: "markdown_text", Text: "c"}})
	st.add([]chunk{{Type: "task_update", ID: "1", Title: "T2", Status: "complete", Details: "y", Output: "o"}, {Type: "plan_update", Title: "Q"}, {Type: "markdown_text", Text: "d"}})
	want := []chunk{{Type: "markdown_text", Text: "aé"}, {Type: "plan_update", Title: "Q"},
		{Type: "task_update", ID: "1", Title: "T2", Status: "complete", Details: "xy", Output: "o"}, {Type: "markdown_text", Text: "cd"}}
	if diff := cmp.Diff(want, st.Chunks); diff != "" || st.chars != 4 || st.text() != "aécd" {
		t.Errorf("%d characters, %q (-want +got):\n%s", st.chars, st.text(), diff)
	}
}
