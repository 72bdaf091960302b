package bot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// TestMissing: wherever a process died, what stands and what is posted after
// the next start are together the whole, and nothing stands twice.
func TestMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts []threads.TurnText
		var whole []string
		for i := range rapid.IntRange(1, 4).Draw(t, "turns") {
			text := rapid.StringMatching(`([A-Za-zäöü]{1,8} |\*\*[a-z]{2,6}\*\* |_[a-z ]{3,9}_ |\x60[a-z]{3}\x60 |\n){8,30}`).Draw(t, "text")
			texts = append(texts, threads.TurnText{Turn: i + 1, Text: text})
			whole = append(whole, blockkit.SafeMarkdown(text))
		}
		all := strings.Join(whole, "\n\n")
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		for cut > 0 && cut < len(all) && all[cut]&0xC0 == 0x80 {
			cut--
		}
		rest := missing(texts, streamBody{}, all[:cut])
		if got, want := squash(all[:cut]+rest), squash(all); got != want {
			t.Fatalf("stands %q\nrest   %q\n%s", all[:cut], rest, cmp.Diff(want, got))
		}
	})
}
