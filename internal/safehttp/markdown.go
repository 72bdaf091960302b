package safehttp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// What the libraries take grows with the square of what a hostile page holds, and nothing can stop them half-way. A page
// above these is given as plain text, which one pass over its tokens makes.
const (
	maxHTML     = 2 << 20 // bytes
	maxArticle  = 20_000  // elements, for finding what the page is about
	maxElements = 60_000  // elements, for Markdown at all
	maxSpan     = 20      // columns or rows that one table cell may claim: each becomes a cell
	maxCells    = 50_000  // of one table, with every row as wide as the widest
)

var errTooBig = errors.New("the page is too big to convert")

// ErrNotText is returned for bodies that are not text.
var ErrNotText = errors.New("not text")

// ToMarkdown makes a body readable. HTML becomes Markdown of what the page is about, with absolute links, tables, its
// title, and without scripts, data: images and text that a reader would not see. A page that no parser takes (too deep,
// too strange) comes as plain text. Other text comes as it is, in UTF-8. What is not text is ErrNotText.
func ToMarkdown(body []byte, contentType string, page *url.URL) (title, md string, err error) {
	text, ok := Text(body, contentType)
	if !ok {
		return "", "", ErrNotText
	}
	if !isHTML(contentType, text) {
		return "", text, nil
	}
	if page == nil {
		page = &url.URL{}
	}
	if title, md, err = convert(text, page); err == nil {
		return title, md, nil
	}
	title, md = plain(text)
	return title, md, nil
}

func isHTML(contentType, text string) bool {
	ct := strings.ToLower(contentType)
	if strings.Contains(ct, "html") {
		return true
	}
	if ct != "" && !strings.HasPrefix(ct, "text/plain") {
		return false
	}
	head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 512)]))
	return strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html")
}

// convert does the work of three libraries on bytes from outside; a panic of one of them is an error of this page.
func convert(text string, page *url.URL) (title, md string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("converting the page: %v", p)
		}
	}()
	if len(text) > maxHTML {
		return "", "", errTooBig
	}
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", "", err
	}
	elements := prune(doc)
	if elements > maxElements || hasBoundlessTable(doc) {
		return "", "", errTooBig
	}
	title = titleOf(doc)
	if elements <= maxArticle {
		if article, err := readability.FromDocument(doc, page); err == nil && article.Node != nil {
			if title == "" {
				title = oneLine(article.Title())
			}
			if main, err := render(article.Node, page); err == nil && main != "" {
				return title, main, nil
			}
		}
	}
	whole, err := render(doc, page) // readability worked on a copy
	return title, whole, err
}

func render(n *html.Node, page *url.URL) (string, error) {
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	out, err := conv.ConvertNode(n, converter.WithDomain(page.String()))
	return strings.TrimSpace(string(out)), err
}

// prune removes what a reader does not see, which is a favourite place for words meant for a model, and counts the
// elements that stay.
func prune(n *html.Node) (elements int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.CommentNode, c.Type == html.ElementNode && unseen(c):
			n.RemoveChild(c)
		default:
			if c.Type == html.ElementNode {
				elements++
				c.Attr = slices.DeleteFunc(c.Attr, boundlessSpan)
			}
			elements += prune(c)
		}
		c = next
	}
	return elements
}

// hasBoundlessTable finds a table whose rows, filled up to the widest as Markdown needs them, make too many cells.
func hasBoundlessTable(doc *html.Node) bool {
	for n := range doc.Descendants() {
		if n.DataAtom != atom.Table {
			continue
		}
		rows, widest := 0, 0
		for r := range n.Descendants() {
			if r.DataAtom != atom.Tr {
				continue
			}
			rows++
			width := 0
			for c := r.FirstChild; c != nil; c = c.NextSibling {
				width += span(c, "colspan")
				rows += span(c, "rowspan") - 1
			}
			widest = max(widest, width)
		}
		if rows*widest > maxCells {
			return true
		}
	}
	return false
}

func span(n *html.Node, key string) int {
	for _, a := range n.Attr {
		if a.Key == key {
			if v, err := strconv.Atoi(strings.TrimSpace(a.Val)); err == nil && v > 0 {
				return v
			}
		}
	}
	return 1
}

func boundlessSpan(a html.Attribute) bool {
	if a.Key != "colspan" && a.Key != "rowspan" {
		return false
	}
	n, err := strconv.Atoi(strings.TrimSpace(a.Val))
	return err != nil || n > maxSpan
}

func unseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas:
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			s := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			for _, hide := range [...]string{"display:none", "visibility:hidden", "opacity:0;", "font-size:0"} {
				if strings.Contains(s+";", hide) {
					return true
				}
			}
		case "type":
			if n.DataAtom == atom.Input && strings.EqualFold(a.Val, "hidden") {
				return true
			}
		case "src":
			if n.DataAtom == atom.Img && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "data:") {
				return true
			}
		}
	}
	return false
}

func titleOf(doc *html.Node) string {
	var find func(n *html.Node) string
	find = func(n *html.Node) string {
		if n.Type == html.ElementNode && n.DataAtom == atom.Title && n.Namespace == "" {
			if n.FirstChild != nil {
				return oneLine(n.FirstChild.Data)
			}
			return ""
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if t := find(c); t != "" {
				return t
			}
		}
		return ""
	}
	return find(doc)
}

func oneLine(s string) string { return clip(strings.Join(strings.Fields(s), " ")) }

// plain takes the text out of a page that could not be parsed, token by token, without recursion.
func plain(text string) (title, out string) {
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(1 << 20)
	var b strings.Builder
	skip, inTitle := "", false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return title, strings.TrimSpace(collapse(b.String()))
		case html.StartTagToken:
			name, _ := z.TagName()
			switch s := string(name); s {
			case "script", "style", "template", "noscript":
				skip = s
			case "title":
				inTitle = true
			case "p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table", "ul", "ol", "section":
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if string(name) == skip {
				skip = ""
			}
			inTitle = false
		case html.TextToken:
			switch t := string(z.Text()); {
			case skip != "":
			case inTitle:
				if title == "" {
					title = oneLine(html.UnescapeString(t))
				}
			default:
				b.WriteString(html.UnescapeString(t))
			}
		}
	}
}

// collapse joins spaces within lines and drops empty lines.
func collapse(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if f := strings.Fields(line); len(f) > 0 {
			b.WriteString(strings.Join(f, " "))
			b.WriteByte('\n')
		}
	}
	return b.String()
}
