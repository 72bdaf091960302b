package blockkit

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"a < b && c > d": "a &lt; b &amp;&amp; c &gt; d", "<!channel>": "&lt;!channel&gt;", "&lt;": "&amp;lt;", "*b* 'q' \"q\"": "*b* 'q' \"q\"",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func tagged(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(0xE0000 + r)
	}
	return b.String()
}

func TestVisible(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		hidden         int
	}{
		{"plain", "Dear Dean,\n\tthe total is 41,200 €.\r\n", "Dear Dean,\n\tthe total is 41,200 €.\r\n", 0},
		{"zero width space", "pay\u200bpal", "pay‹U+200B›pal", 1},
		{"byte order mark", "\ufeffx", "‹U+FEFF›x", 1},
		{"soft hyphen", "a\u00adb", "a‹U+00AD›b", 1},
		{"direction override", "a\u202egpj.exe\u202c", "a‹U+202E›gpj.exe‹U+202C›", 2},
		{"isolates", "\u2066a\u2069", "‹U+2066›a‹U+2069›", 2},
		{"tag text", "hi" + tagged("send it") + "!", "hi‹7 tag characters: send it›!", 7},
		{"tag controls", string(rune(0xE0001)) + tagged("a"), "‹2 tag characters: \\x01a›", 2},
		{"selectors as bytes", "😀\U000E0100\U000E0101", "😀‹U+E0100›‹U+E0101›", 2},
		{"selector on a letter", "a\ufe0fb", "a‹U+FE0F›b", 1},
		{"a second selector", "✉\ufe0f\ufe0f", "✉\ufe0f‹U+FE0F›", 1},
		{"escape sequence", "\x1b[2J", "‹U+001B›[2J", 1},
		{"nul and c1", "\x00\u009b", "‹U+0000›‹U+009B›", 2},
		{"lone carriage return", "safe\rEVIL", "safe‹U+000D›EVIL", 1},
		{"invalid UTF-8", "a\xffb", "a‹byte FF›b", 1},
		{"private use", "\ue000", "‹U+E000›", 1},
		{"unassigned", "\U000E0FFF", "‹U+E0FFF›", 1},
		{"line separator", "a\u2028b", "a‹U+2028›b", 1},
		{"no-break space", "a\u00a0b", "a‹U+00A0›b", 1},
		{"ideographic space", "a\u3000b", "a‹U+3000›b", 1},
		{"Hangul filler", "a\u3164b", "a‹U+3164›b", 1},
		{"braille blank", "a\u2800b", "a‹U+2800›b", 1},
		{"a run of one", strings.Repeat("\u200b", 40), "‹U+200B ×40›", 40},
		{"padding", "ok" + strings.Repeat(" ", 37) + "and more", "ok‹37 spaces›and more", 37},
		{"tabs", strings.Repeat("\t", 20), "‹20 tabs›", 20},
		{"mixed padding", strings.Repeat(" \t", 20), "‹40 spaces and tabs›", 40},
		{"indentation", "                x", "                x", 0},
		{"blank lines", "top" + strings.Repeat("\n", 14) + "bottom", "top\n‹13 blank lines›\nbottom", 13},
		{"blank lines of spaces", "top" + strings.Repeat("\n  ", 14) + "bottom", "top\n‹13 blank lines›\n  bottom", 13},
		{"blank lines of CRLF", "top" + strings.Repeat("\r\n", 14) + "bottom", "top\n‹13 blank lines›\nbottom", 13},
		{"three blank lines", "a\n\n\n\nb", "a\n\n\n\nb", 0},
		{"accent", "e\u0301", "e\u0301", 0},
		{"flood of marks", "e" + strings.Repeat("\u0301", 30), "e" + strings.Repeat("\u0301", 4) + "‹26 more marks›", 26},
		{"floods apart", strings.Repeat("e\u0301\u0302", 3), strings.Repeat("e\u0301\u0302", 3), 0},
		{"grapheme joiner", "a\u034fb", "a‹U+034F›b", 1},
		{"emoji family", "👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧", 0},
		{"emoji of a skin", "👨\U0001F3FF\u200d🦰", "👨\U0001F3FF\u200d🦰", 0},
		{"heart", "❤\ufe0f", "❤\ufe0f", 0},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3", 0},
		{"Scotland", "🏴" + tagged("gbsct") + "\U000E007F", "🏴" + tagged("gbsct") + "\U000E007F", 0},
		{"no such flag", "🏴" + tagged("rmrf") + "\U000E007F", "🏴‹5 tag characters: rmrf\\x7f›", 5},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم", 0},
		{"joiner between Latin letters", "a\u200db\u200cc", "a‹U+200D›b‹U+200C›c", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, hidden := Visible(tt.in, VisibleOptions{})
			if got != tt.want || hidden != tt.hidden {
				t.Errorf("Visible(%q) = %q, %d; want %q, %d", tt.in, got, hidden, tt.want, tt.hidden)
			}
		})
	}
	if got, n := Visible("a"+strings.Repeat(" ", 50)+"\n\n\n\n\n\nb", VisibleOptions{KeepSpacing: true}); n != 0 {
		t.Errorf("spacing was not kept: %q", got)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a\u200b\u202e", tagged("x"), "\xff\xfe", strings.Repeat("\n", 9), "e\u0301\u0301\u0301\u0301\u0301\u0301", "🏴\U000E0067", "\r\n\r\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown, hidden := Visible(s, VisibleOptions{})
		if (hidden == 0) != (shown == s) {
			t.Fatalf("hidden is %d, but shown equals the text: %v\n%q\n%q", hidden, shown == s, s, shown)
		}
		if !utf8.ValidString(shown) {
			t.Fatal("invalid UTF-8 came out")
		}
		again, more := Visible(shown, VisibleOptions{})
		if more != 0 {
			t.Fatalf("%d characters were left hidden:\n%q\n%q", more, shown, again)
		}
		line := OneLine(s, 80)
		if units(line) > 80 || strings.ContainsAny(line, "\r\n\u2028\u2029\u0085\v\f\u202e\u200b") {
			t.Fatalf("OneLine: %q", line)
		}
		if got := DefuseMarks(DefuseMarks(s)); got != DefuseMarks(s) {
			t.Fatalf("a second pass still found marks: %q", got)
		}
	})
}

func TestNaughtyStrings(t *testing.T) {
	var list []string
	readJSON(t, shared(t, "corpora", "blns.json"), &list)
	for _, s := range list {
		shown, hidden := Visible(s, VisibleOptions{})
		if (hidden == 0) != (shown == s) {
			t.Errorf("hidden is %d for %q", hidden, s)
		}
		for _, r := range shown {
			if r == 0x202E || r == 0x200B || r == 0xFEFF || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
				t.Errorf("%U is still in %q", r, shown)
			}
		}
		msg, _ := Card{Text: s, Head: []Block{Header(OneLine(s, MaxHeader)), Section(Mrkdwn(Escape(s)))},
			Body: []Block{Preformatted(shown), Markdown(SafeMarkdown(s))}}.JSON()
		for _, e := range ValidateMessage(msg) {
			t.Errorf("%q: %v", s, e)
		}
		checkSafe(t, s)
	}
}

func TestOneLine(t *testing.T) {
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{"Re: budget", 80, "Re: budget"},
		{"a\nb\r\nc", 80, "a ⏎ b ⏎ c"},
		{"a\u2028b", 80, "a‹U+2028›b"},
		{"  padded  ", 80, "padded"},
		{"x" + strings.Repeat(" ", 500) + "evil", 80, "x‹500 spaces›evil"},
		{"x" + strings.Repeat("\n", 500) + "evil", 80, "x ⏎ ‹499 blank lines› ⏎ evil"},
		{strings.Repeat("a", 100), 10, "aaaaaaaaa…"},
		{strings.Repeat("\u200b", 1_000_000), 20, "‹U+200B ×768›…"},
		{"", 10, ""},
	} {
		if got := OneLine(tt.in, tt.max); got != tt.want {
			t.Errorf("OneLine(%.40q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
}

func TestDefuseMarks(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"✓ Sent 09:15", "√ Sent 09:15"},
		{"text\n✉ Draft for you", "text\n@ Draft for you"},
		{"> ✓ quoted", "> √ quoted"},
		{"**✓ Sent**", "**√ Sent**"},
		{"- ✓ item", "- √ item"},
		{"  \u200b✓ hidden lead", "  \u200b√ hidden lead"},
		{"⚠\ufe0f look", "! look"},
		{":warning: look", "! look"},
		{"✔\ufe0f ok", "√ ok"},
		{"? I can't tell", "¿ I can't tell"},
		{"?query=1", "?query=1"},
		{"?", "¿"},
		{"a ✓ inside stays", "a ✓ inside stays"},
		{"a\u2028✓ b", "a\u2028√ b"},
		{"a\r✕ b", "a\r× b"},
		{"▸ run ✕", "› run ✕"},
		{"◌ May I run this?", "○ May I run this?"},
		{"nothing here", "nothing here"},
	} {
		if got := DefuseMarks(tt.in); got != tt.want {
			t.Errorf("DefuseMarks(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestDefusedTextNeverStartsWithAMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"▸", "✓", "✕", "◌", "⚠", "? ", "✉", " ", "\n", "> ", "*", "x", "\u200b", ":warning:", "\ufe0f", "\u2028"})).Draw(t, "parts")
		s := DefuseMarks(strings.Join(parts, ""))
		for _, line := range strings.FieldsFunc(s, isLineEnd) {
			line = strings.TrimLeftFunc(line, leadIn)
			if m := markAt(line); m != "" {
				t.Errorf("a line begins with %q: %q", m, s)
			}
		}
	})
}

func ExampleVisible() {
	shown, n := Visible("billing@examp\u200ble.net", VisibleOptions{})
	fmt.Println(shown, n)
	// Output: billing@examp‹U+200B›le.net 1
}
