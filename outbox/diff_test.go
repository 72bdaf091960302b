package outbox

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	for _, tc := range []struct {
		name, before, after, want string
		lines                     int
	}{
		{"nothing", `{"a":"x"}`, `{"a":"x"}`, "", 0},
		{"only its spelling", `{"a":"x"}`, `{ "a": "x" }`, "", 0},
		{"a line", `{"a":"x\ny"}`, `{"a":"x\nz"}`, "a:\n- y\n+ z\n", 1},
		{"a recipient", `{"to":["a","b"]}`, `{"to":["a"]}`, "to:\n- b\n", 1},
		{"a type", `{"n":5}`, `{"n":"5"}`, "n:\n- 5\n+ \"5\"\n", 1},
		{"an argument that went", `{"cc":""}`, `{}`, "cc:\n- \"\"\n", 1},
		{"an argument that came", `{}`, `{"cc":"c"}`, "cc:\n+ c\n", 1},
		{"one word", `{"a":"The total is 12 % under plan."}`, `{"a":"The total is 12 % below plan."}`, "a:\n~ The total is 12 % [-under-]{+below+} plan.\n", 1},
		{"words side by side", `{"a":"I would be very grateful for it."}`, `{"a":"Please send it to us, I would be grateful."}`,
			"a:\n~ {+Please send it to us, +}I would be[- very-] grateful[- for it-].\n", 1},
		{"a figure", `{"a":"It is 41,200 €."}`, `{"a":"It is 41,300 €."}`, "a:\n~ It is [-41,200-]{+41,300+} €.\n", 1},
		{"a time", `{"a":"at 09:15, 2.5 h"}`, `{"a":"at 09:45, 2.5 h"}`, "a:\n~ at [-09:15-]{+09:45+}, 2.5 h\n", 1},
		{"a line put between", `{"a":"Dear Dean,\nthe total is below plan."}`, `{"a":"Dear Dean,\nthank you.\nthe total is far below plan."}`,
			"a:\n+ thank you.\n~ the total is{+ far+} below plan.\n", 2},
		{"a line put last", `{"a":"x"}`, `{"a":"x\ny"}`, "a:\n+ y\n", 1},
		{"the last line's end", `{"a":"x"}`, `{"a":"x\n"}`, "a:\n~ x{+⏎+}\n", 1},
		{"an empty line", `{"a":"x\ny"}`, `{"a":"x\n\ny"}`, "a:\n+ ⏎\n", 1},
		{"space", `{"a":"one two"}`, `{"a":"one  two"}`, "a:\n~ one[-␣-]{+␣␣+}two\n", 1},
		{"line ends", `{"a":"one\r\ntwo"}`, `{"a":"one\ntwo"}`, "a:\n~ one[-\r-]\n", 1},
		{"something hidden", `{"a":"one two"}`, "{\"a\":\"one\u200b two\"}", "a:\n~ one{+\u200b+} two\n", 1},
		{"a NUL", `{"a":"one two\nx"}`, `{"a":"one\u0000 two\nx"}`, "a:\n~ one{+\x00+} two\n", 1},
		{"no spaces between words", `{"a":"明日の会議は十時です"}`, `{"a":"明日の会議は九時です"}`, "a:\n~ 明日の会議は[-十-]{+九+}時です\n", 1},
		{"in their order", `{"to":"a","body":"b","cc":"c"}`, `{"body":"bb","to":"aa"}`, "body:\n- b\n+ bb\nto:\n- a\n+ aa\ncc:\n- c\n", 3},
		{"nested", `{"o":{"a":1,"b":[1,2]}}`, `{"o":{"a":1,"b":[1,3]}}`, "o:\n~ {\"a\":1,\"b\":[1,[-2-]{+3+}]}\n", 1},
		{"no object", `[1]`, `[2]`, "", 0},
	} {
		d := Draft{ArgsBefore: json.RawMessage(tc.before), Args: json.RawMessage(tc.after)}
		if got := Diff(d); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if got := EditedLines(Changes(d)); got != tc.lines {
			t.Errorf("%s: %d lines, want %d", tc.name, got, tc.lines)
		}
	}
}

// One changed word of a long paragraph is not lost among the others.
func TestDiffLeavesOutWhatStandsFarAway(t *testing.T) {
	long := strings.Repeat("word ", 300)
	d := Draft{ArgsBefore: body(long + "under plan " + long), Args: body(long + "below plan " + long)}
	got := Diff(d)
	if len(got) > 300 || !strings.Contains(got, "[-under-]{+below+} plan word") || strings.Count(got, "…") != 2 {
		t.Errorf("%q", got)
	}
}

func body(s string) json.RawMessage {
	b, err := json.Marshal(map[string]string{"body": s})
	if err != nil {
		panic(err)
	}
	return b
}

// Whatever changes: taking the pieces apart again gives both texts, word for
// word (where nothing is left out), and a difference is never empty.
func TestDiffTellsEverything(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab \t\n\r.é明\u200b\x00")), 0, 60, -1)
	rapid.Check(t, func(t *rapid.T) {
		x, y := text.Draw(t, "before"), text.Draw(t, "after")
		d := Draft{ArgsBefore: body(x), Args: body(y)}
		lines := Changes(d)
		if (len(lines) == 0) != (x == y) {
			t.Fatalf("%q to %q: %+v", x, y, lines)
		}
		for _, c := range lines {
			for _, l := range c.Lines {
				if len(l) == 0 {
					t.Fatal("an empty line of a difference")
				}
				for i, p := range l {
					if p.Text == "" || strings.Contains(p.Text, "\n") || i > 0 && p.Kind == l[i-1].Kind {
						t.Fatalf("piece %d of %+v", i, l)
					}
				}
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOfN(rapid.RuneFrom([]rune("ab  .é明\u200b")), 0, 40, -1)
		x, y := line.Draw(t, "before"), line.Draw(t, "after")
		if x == y {
			return
		}
		var back, forth strings.Builder
		for _, p := range changedWords(x, y) {
			s := p.Text
			if p.Kind != Kept && strings.Trim(s, "␣") == "" {
				s = strings.ReplaceAll(s, "␣", " ")
			}
			if p.Kind != In {
				back.WriteString(s)
			}
			if p.Kind != Out {
				forth.WriteString(s)
			}
		}
		if back.String() != x || forth.String() != y {
			t.Fatalf("%q to %q: %q and %q", x, y, back.String(), forth.String())
		}
	})
}

// The longest draft there is, changed everywhere, is compared in half a second; the
// bound is for a busy machine under the race detector, and far below what comparing
// each with each would take.
func TestDiffIsQuick(t *testing.T) {
	line := "Every line of this letter is as long as the one before it"
	x := strings.Repeat(line+"\n", maxArgs/len(line))
	y := strings.ReplaceAll(x, "letter", "long letter")
	one := strings.Repeat("word ", maxArgs/5)
	for _, d := range []Draft{{ArgsBefore: body(x), Args: body(y)}, {ArgsBefore: body(one), Args: body(strings.ReplaceAll(one, "word word word", "word a word"))}, {ArgsBefore: body(one), Args: body(strings.Repeat("other ", maxArgs/6))}} {
		if took := fastest(2, func() { Changes(d) }); took > 10*time.Second {
			t.Errorf("%s", took)
		} else {
			t.Logf("%s", took)
		}
	}
}
