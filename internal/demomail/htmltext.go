package demomail

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText turns a mail's HTML into text: paragraphs become lines, list items
// get a dash, links show their address, scripts and styles are dropped. It is
// a tokenizer's single pass, so nesting costs nothing. What a style would
// hide stays visible: hidden text in a mail is exactly what should be seen.
func htmlText(src string) string {
	var w textLines
	skip := 0
	href := ""
	z := html.NewTokenizer(strings.NewReader(src))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return w.String()
		case html.TextToken:
			if skip == 0 {
				w.words(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			switch tok.DataAtom {
			case atom.Script, atom.Style, atom.Title:
				if tok.Type == html.StartTagToken {
					skip++
				}
			case atom.Br, atom.Tr, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4:
				w.breakLine()
			case atom.P, atom.Table, atom.Blockquote, atom.Ul, atom.Ol:
				w.breakParagraph()
			case atom.Li:
				w.breakLine()
				w.words("- ")
			case atom.A:
				href = attribute(tok, "href")
			case atom.Img:
				if alt := attribute(tok, "alt"); alt != "" {
					w.words("[" + alt + "]")
				}
			}
		case html.EndTagToken:
			tok := z.Token()
			switch tok.DataAtom {
			case atom.Script, atom.Style, atom.Title:
				if skip > 0 {
					skip--
				}
			case atom.P, atom.Table, atom.Blockquote, atom.Ul, atom.Ol, atom.H1, atom.H2, atom.H3, atom.H4:
				w.breakParagraph()
			case atom.Div, atom.Tr:
				w.breakLine()
			case atom.A:
				if strings.HasPrefix(href, "http") && !strings.HasSuffix(w.b.String(), href) {
					w.words(" (" + href + ")")
				}
				href = ""
			}
		}
	}
}

func attribute(tok html.Token, key string) string {
	for _, a := range tok.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// textLines joins words with single spaces and lines with at most one blank
// line between them.
type textLines struct {
	b     strings.Builder
	lines int  // line breaks owed before the next word
	space bool // a space owed before the next word
}

func (t *textLines) words(s string) {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		t.space = t.space || s != ""
		return
	}
	if t.b.Len() > 0 {
		if t.lines > 0 {
			t.b.WriteString(strings.Repeat("\n", t.lines))
		} else if t.space || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
			t.b.WriteByte(' ')
		}
	}
	t.lines = 0
	t.b.WriteString(strings.Join(fields, " "))
	last := s[len(s)-1]
	t.space = last == ' ' || last == '\n' || last == '\t' || last == '\r'
}

func (t *textLines) breakLine()      { t.lines = max(t.lines, 1) }
func (t *textLines) breakParagraph() { t.lines = 2 }
func (t *textLines) String() string  { return t.b.String() }
