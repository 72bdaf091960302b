package bot

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// markdownText draws what models write: prose, markup that runs over lines,
// links, tables, code, and text that only looks like them.
func markdownText() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{"the", "budget", "a", "*bold*", "**very**", "_so_", "`code`", "``a`b``", "<b>", "</b>", "<!channel>", "<@U1>", "&amp;", "&", "@here", "!",
		"[link](https://example.org/x)", "[label][ref]", "[x]", "https://example.com/a?b=c", "www.example.com", "mail@example.edu", "~~gone~~", "|", "\\*", "1.", "-", "#", ">", "…", "äöü", "👩‍💻", "✓", "⚠"})
	line := rapid.Custom(func(t *rapid.T) string {
		prefix := rapid.SampledFrom([]string{"", "", "", "- ", "1. ", "> ", "# ", "    ", "  ", "| ", "✓ ", "▸ "}).Draw(t, "prefix")
		return prefix + strings.Join(rapid.SliceOfN(word, 0, 8).Draw(t, "words"), " ")
	})
	special := rapid.SampledFrom([]string{"", "```go", "```", "~~~", "---", "===", "| a | b |\n|---|---|\n| 1 | <x> |", "[ref]: https://example.net", "<div>", "</div>", "***"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(line, line, line, special), 0, 12).Draw(t, "lines"), "\n")
	})
}

// feed gives text to a composer in chunks and answers the pieces that came out
// while it arrived, and all of them.
func feed(t *rapid.T, text string) (early, all []string) {
	var c composer
	drain := func(into *[]string) {
		for {
			piece, commit := c.next(rapid.IntRange(8, 400).Draw(t, "limit"))
			if piece == "" {
				return
			}
			commit()
			*into = append(*into, piece)
		}
	}
	for rest := text; rest != ""; {
		n := rapid.IntRange(1, max(1, min(len(rest), 24))).Draw(t, "chunk")
		c.delta(rest[:n])
		rest = rest[n:]
		if rapid.Bool().Draw(t, "look") {
			drain(&early)
		}
	}
	all = append(all, early...)
	c.whole(text)
	drain(&all)
	if text != "" && c.shown() != 1 {
		t.Fatalf("%d turns count as shown, want 1", c.shown())
	}
	return early, all
}

func TestPiecesAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := markdownText().Draw(t, "text")
		early, all := feed(t, text)
		want := blockkit.SafeMarkdown(text)
		if got := strings.Join(all, ""); got != want {
			t.Fatalf("text   %q\nearly  %q\ngot    %q\nwant   %q", text, strings.Join(early, ""), got, want)
		}
	})
}
