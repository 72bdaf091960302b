package safehttp

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

const page = `<!doctype html><html><head><title> The   Title </title><style>b{}</style></head><body>
<nav><a href="/home">Home</a></nav>
<article><h1>Heading</h1>
<p>Some <b>bold</b> words and a <a href="/rel?x=1">link</a>. This paragraph is long enough to be what the page is about, with commas, and with more words, so that it counts.</p>
<p>A second paragraph, which is also long enough to count as content of the page, and which mentions <code>code()</code> in passing, twice, for good measure.</p>
<ul><li>one<ul><li>nested</li></ul></li><li>two</li></ul>
<table><thead><tr><th>Name</th><th>Count</th></tr></thead><tbody><tr><td>a</td><td>1</td></tr></tbody></table>
<pre><code>x := 1
y := 2</code></pre>
<img alt="dot" src="data:image/png;base64,AAAA">
<p hidden>HIDDEN-A</p><p style="display: none">HIDDEN-B</p><p style="visibility:hidden">HIDDEN-C</p>
<p style="font-size:0">HIDDEN-D</p><!-- HIDDEN-E --><script>HIDDEN-F</script><template>HIDDEN-G</template><noscript>HIDDEN-H</noscript>
</article></body></html>`

func TestToMarkdown(t *testing.T) {
	base, _ := url.Parse("https://example.com/dir/page")
	title, md, err := ToMarkdown([]byte(page), "text/html; charset=utf-8", base)
	if err != nil {
		t.Fatal(err)
	}
	if title != "The Title" {
		t.Errorf("title %q", title)
	}
	for _, want := range []string{"**bold**", "[link](https://example.com/rel?x=1)", "- one", "nested", "| Name | Count |", "| a | 1 |", "x := 1\ny := 2", "`code()`"} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in:\n%s", want, md)
		}
	}
	for _, not := range []string{"HIDDEN", "data:", "base64", "<p", "AAAA"} {
		if strings.Contains(md, not) {
			t.Errorf("%q in:\n%s", not, md)
		}
	}
}

func TestHiddenTextIsDroppedWhereNothingIsAnArticle(t *testing.T) {
	_, md, err := ToMarkdown([]byte(`<html><body><p>seen</p><p hidden>HIDDEN</p><div style="DISPLAY : none">HIDDEN</div></body></html>`), "text/html", nil)
	if err != nil || !strings.Contains(md, "seen") || strings.Contains(md, "HIDDEN") {
		t.Errorf("%q, %v", md, err)
	}
}

func TestDeepPageBecomesPlainText(t *testing.T) {
	deep := "<html><head><title>Deep</title></head><body>" + strings.Repeat("<div>", 30_000) + "bottom &amp; end<script>SCRIPT</script><style>STYLE</style>" + strings.Repeat("</div>", 30_000)
	title, md, err := ToMarkdown([]byte(deep), "text/html", nil)
	if err != nil || title != "Deep" || md != "bottom & end" {
		t.Errorf("%q, %q, %v", title, md, err)
	}
}

// Pages made to cost: none takes more than a multiple of its own size, and a cell cannot claim a million others.
func TestHostilePagesAreBounded(t *testing.T) {
	const size = 64 << 10
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	pages := map[string]string{
		"one cell over everything": "<table><tr><td colspan=100000000 rowspan=100000000>cell</td></tr></table>",
		"wide cells":               "<table>" + rep("<tr><td colspan=1000>cell</td></tr>"),
		"one wide row":             "<table><tr>" + strings.Repeat("<td>cell", 1000) + rep("<tr><td>x"),
		"one long cell":            "<table><tr><td>cell" + rep("cell") + rep("<tr><td>x"),
		"nested tables":            strings.Repeat("<table><tr><td>cell", 80) + rep("x "),
		"a span that overflows":    "<table><tr><td colspan=99999999999999999999>cell</td></tr></table>",
		"cells":                    "<table><tr>" + rep("<td>cell"),
		"unclosed paragraphs":      rep("<p>a cell, b, c"),
		"misnested":                rep("<font><p>cell"),
		"comments":                 "cell" + rep("<!--"),
		"attributes":               "<p " + rep("a=b ") + ">cell",
		"to be escaped":            "<p>cell" + rep("*_[]()#"),
		"too many elements":        "<p>cell</p>" + strings.Repeat("<br>", maxElements+1),
		"too long":                 "<p>cell</p>" + strings.Repeat("x ", maxHTML/2),
	}
	for name, body := range pages {
		t.Run(name, func(t *testing.T) {
			_, md, err := ToMarkdown([]byte(body), "text/html", nil)
			if err != nil || !strings.Contains(md, "cell") || len(md) > 25*len(body)+1000 {
				t.Errorf("%d bytes of HTML became %d of Markdown, %v", len(body), len(md), err)
			}
		})
	}
}

func TestCharsets(t *testing.T) {
	tests := []struct {
		name        string
		body        []byte
		contentType string
		want        string
	}{
		{"utf-8", []byte("héllo"), "text/plain; charset=utf-8", "héllo"},
		{"utf-8 that nobody declared", []byte("héllo"), "text/plain", "héllo"},
		{"utf-8 cut in half", []byte("h\xc3"), "text/plain", "h\uFFFD"},
		{"a byte order mark", []byte("\xef\xbb\xbfhello"), "text/plain", "hello"},
		{"latin-1 declared", []byte("h\xe9llo"), "text/plain; charset=iso-8859-1", "héllo"},
		{"latin-1 undeclared", []byte("h\xe9llo"), "text/plain", "héllo"},
		{"windows-1251", []byte("\xcf\xf0\xe8\xe2\xe5\xf2"), "text/plain; charset=windows-1251", "Привет"},
		{"shift_jis", []byte("\x93\xfa\x96\x7b"), "text/plain; charset=Shift_JIS", "日本"},
		{"utf-16 with a mark", []byte("\xff\xfeh\x00i\x00"), "text/plain", "hi"},
		{"declared in the page", []byte(`<meta charset="windows-1251"><p>` + "\xcf\xf0\xe8\xe2\xe5\xf2"), "text/html", "Привет"},
		{"json", []byte(`{"a":"é"}`), "application/json", `{"a":"é"}`},
		{"svg is xml", []byte(`<svg/>`), "image/svg+xml", `<svg/>`},
		{"an unknown charset", []byte("hello"), "text/plain; charset=klingon", "hello"},
		{"no type at all", []byte("plain words"), "", "plain words"},
		{"an ill-formed type", []byte("x"), "text/plain; charset", "x"},
	}
	for _, tt := range tests {
		got, ok := Text(tt.body, tt.contentType)
		if !ok || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, ok, tt.want)
		}
	}
}

func TestBinaryIsNeverText(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	for _, ct := range []string{"image/png", "", "text/html", "application/octet-stream", "text/plain; charset=utf-8"} {
		if got, ok := Text(png, ct); ok {
			t.Errorf("as %q it reads as %q", ct, got)
		}
		if _, md, err := ToMarkdown(png, ct, nil); !errors.Is(err, ErrNotText) || md != "" {
			t.Errorf("as %q: %q, %v", ct, md, err)
		}
	}
}

func TestOtherTextComesAsItIs(t *testing.T) {
	for _, ct := range []string{"text/plain", "application/json", "text/markdown"} {
		body := "a <b>not html</b>\n\n  kept"
		if title, md, err := ToMarkdown([]byte(body), ct, nil); title != "" || md != body || err != nil {
			t.Errorf("%s: %q, %q, %v", ct, title, md, err)
		}
	}
}

func TestTitleIsOneBoundedLine(t *testing.T) {
	body := "<title>a\n\u202eb" + strings.Repeat("c", 1000) + "</title><p>x</p>"
	title, _, err := ToMarkdown([]byte(body), "text/html", nil)
	if err != nil || strings.ContainsAny(title, "\n\u202e") || len(title) > 310 {
		t.Errorf("%q, %v", title, err)
	}
}

func FuzzToMarkdown(f *testing.F) {
	f.Add([]byte(page), "text/html")
	f.Add([]byte("<table><tr><td colspan=9999999>x"), "text/html")
	f.Add([]byte("\xff\xfe<\x00p\x00"), "text/html; charset=utf-16")
	f.Add([]byte("<svg><title><math><mi></svg>"), "")
	f.Add(bytes.Repeat([]byte("<b><i>"), 600), "application/xhtml+xml")
	base, _ := url.Parse("https://example.com/")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		title, md, err := ToMarkdown(body, contentType, base)
		if err != nil && !errors.Is(err, ErrNotText) {
			t.Errorf("%v", err)
		}
		if !utf8.ValidString(md) || !utf8.ValidString(title) {
			t.Errorf("not UTF-8: %q %q", title, md)
		}
	})
}

func BenchmarkToMarkdown(b *testing.B) {
	body := []byte(strings.Replace(page, "</article>", strings.Repeat("<p>More words, and again more words, until the page is big.</p>", 3000)+"</article>", 1))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, _, err := ToMarkdown(body, "text/html", nil); err != nil {
			b.Fatal(err)
		}
	}
}
