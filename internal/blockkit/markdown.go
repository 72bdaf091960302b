package blockkit

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	mdtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/idna"
)

// The parser's cost grows with the square of some hostile texts' length (one
// second for 40 KB of ">"), so it gets maxParsed bytes at a time. What is
// longer than maxMarkdown, which no model answers, is made inert unparsed.
const (
	maxParsed   = 24 << 10
	maxMarkdown = 1 << 20
)

// SafeMarkdown is a model's Markdown, made fit to post as a markdown block:
//
//   - mentions, mass mentions and every other <token> are letters;
//   - remote images are links, so that nothing is fetched (their address could
//     carry data out);
//   - links show their host after the label; a label that is another address
//     is dropped; schemes other than http, https and mailto are removed;
//   - hidden characters are visible, and no line begins with a mark of ours.
//
// Everything is done on the source, between the positions of the parsed
// syntax: code, tables and all other text keep their bytes, but for characters
// that Visible shows and live tokens in code.
func SafeMarkdown(s string) string {
	s, _ = Visible(s, VisibleOptions{KeepSpacing: true})
	switch {
	case len(s) > maxMarkdown:
		return DefuseMarks(inert(s))
	case len(s) > maxParsed:
		// A piece of that many characters may have four times the bytes.
		pieces := SplitMarkdown(s, maxParsed/4)
		for i, p := range pieces {
			pieces[i] = safePiece(p)
		}
		return strings.Join(pieces, "\n\n")
	}
	return safePiece(s)
}

func safePiece(s string) string {
	doc, ok := parseMarkdown(s)
	if !ok {
		return DefuseMarks(inert(s))
	}
	w := &markdownWriter{src: s, spans: doc.spans}
	w.write(0, len(s))
	return w.out.String()
}

// span is a part of the source that is not plain text.
type span struct {
	start, end int
	kind       spanKind

	// Of a link or image: the label's place and the destination, resolved.
	labelStart, labelEnd int
	label                string // as plain text
	dest                 string
}

type spanKind int

const (
	spanCode spanKind = iota
	spanLink
	spanImage
	spanAutoLink
)

type markdownDoc struct {
	root  ast.Node
	src   []byte
	spans []span // by start; a link contains the spans of its label
}

// measured wraps an inline parser to note where what it made begins and ends,
// which the tree itself doesn't say.
type measured struct {
	parser.InlineParser
	found map[ast.Node]span
}

func (m measured) Parse(parent ast.Node, block mdtext.Reader, pc parser.Context) ast.Node {
	_, before := block.Position()
	n := m.InlineParser.Parse(parent, block, pc)
	switch n.(type) {
	case *ast.Link, *ast.Image, *ast.CodeSpan, *ast.AutoLink:
		_, after := block.Position()
		m.found[n] = span{start: before.Start, labelEnd: before.Start, end: after.Start}
	}
	return n
}

// parseMarkdown reads Markdown with tables and without HTML: Slack has no
// HTML, and text that only a HTML block would hide must be looked at.
//
// ok is false where the parser panicked: goldmark 1.8.7 does, among others, on
// a table whose header is "[" and a code fence. Found by the property test.
func parseMarkdown(s string) (doc markdownDoc, ok bool) {
	defer func() {
		if recover() != nil {
			doc, ok = markdownDoc{}, false
		}
	}()
	found := map[ast.Node]span{}
	wrap := func(p parser.InlineParser, priority int) util.PrioritizedValue {
		return util.Prioritized(measured{p, found}, priority)
	}
	table := extension.NewTableParagraphTransformer()
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100), util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500), util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700), util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(
			wrap(parser.NewCodeSpanParser(), 100), wrap(parser.NewLinkParser(), 200),
			wrap(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewEmphasisParser(), 500)),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100), util.Prioritized(table, 200)),
	)
	doc = markdownDoc{src: []byte(s)}
	doc.root = p.Parse(mdtext.NewReader(doc.src))
	// Walk returns only what its function returns, which is never an error.
	_ = ast.Walk(doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			doc.addSpan(n, found)
		}
		return ast.WalkContinue, nil
	})
	slices.SortStableFunc(doc.spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	return doc, true
}

func (d *markdownDoc) addSpan(n ast.Node, found map[ast.Node]span) {
	sp, ok := found[n]
	switch n := n.(type) {
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			d.spans = append(d.spans, span{start: line.Start, end: line.Stop, kind: spanCode})
		}
		return
	case *ast.CodeSpan:
		// Over several lines, another reader may see a block begin inside it.
		if ok && strings.ContainsAny(string(d.src[sp.start:min(sp.end, len(d.src))]), "\n\r") {
			return
		}
		sp.kind = spanCode
	case *ast.AutoLink:
		sp.kind, sp.dest = spanAutoLink, string(n.URL(d.src))
	case *ast.Link:
		sp.kind, sp.start, sp.dest = spanLink, n.Pos(), resolve(n.Destination)
		sp.labelStart, sp.label = n.Pos()+1, wordsOf(n, d.src)
	case *ast.Image:
		sp.kind, sp.start, sp.dest = spanImage, n.Pos(), resolve(n.Destination)
		sp.labelStart, sp.label = n.Pos()+2, wordsOf(n, d.src)
	default:
		return
	}
	if ok && sp.start >= 0 && sp.start < sp.end && sp.end <= len(d.src) && sp.labelEnd <= sp.end {
		d.spans = append(d.spans, sp)
	}
}

// resolve is a link's destination as a browser would read it.
func resolve(dest []byte) string {
	dest = util.UnescapePunctuations(dest)
	dest = util.ResolveNumericReferences(dest)
	return string(util.ResolveEntityNames(dest))
}

// wordsOf is the text under n without its markup.
func wordsOf(n ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// markdownWriter writes a range of the source, span by span.
type markdownWriter struct {
	src   string
	spans []span
	out   strings.Builder
}

// write copies src[start:end]; the spans from here on lie in or after it.
func (w *markdownWriter) write(start, end int) {
	for len(w.spans) > 0 && w.spans[0].start < end {
		sp := w.spans[0]
		w.spans = w.spans[1:]
		if sp.start < start || sp.end > end {
			continue // not nested as it should be: leave it to be text
		}
		w.text(start, sp.start)
		switch sp.kind {
		case spanCode:
			w.out.WriteString(liveToken.ReplaceAllString(w.src[sp.start:sp.end], "‹$1"))
		case spanAutoLink:
			w.autoLink(sp)
		default:
			w.link(sp)
		}
		start = sp.end
	}
	w.text(start, end)
}

// text writes what is neither code nor a link.
func (w *markdownWriter) text(start, end int) {
	if start >= end {
		return
	}
	lineStart := strings.TrimLeftFunc(w.src[strings.LastIndexAny(w.src[:start], "\n\r")+1:start], leadIn) == ""
	w.out.WriteString(defuse(inert(w.src[start:end]), lineStart))
}

// inert text has no token, no mass mention, and nothing that another reader of
// Markdown might still take for a link, an image or a link's definition.
func inert(s string) string {
	return massMention.ReplaceAllString(textEscaper.Replace(s), "$1＠$2")
}

var (
	textEscaper = strings.NewReplacer("<", "&lt;", "](", "]\\(", "]:", "]\\:", "][", "]\\[", "![", "!\\[")
	massMention = regexp.MustCompile(`(?i)(^|[^a-z0-9/])@(channel|here|everyone|group)\b`)
	// liveToken is what Slack would act on even inside code.
	liveToken = regexp.MustCompile(`<([!@#][A-Za-z])`)
)

func (w *markdownWriter) autoLink(sp span) {
	address, _, ok := showable(sp.dest)
	if !ok {
		w.out.WriteString(inert(w.src[sp.start:sp.end]))
		return
	}
	// A mailbox is its own best name; Slack links it by itself.
	w.out.WriteString(strings.TrimPrefix(address, "mailto:"))
}

// link writes a link or an image as a link that shows its host.
func (w *markdownWriter) link(sp span) {
	var inner []span // of the label
	for len(w.spans) > 0 && w.spans[0].start < sp.end {
		inner = append(inner, w.spans[0])
		w.spans = w.spans[1:]
	}
	var label string
	if sp.labelStart <= sp.labelEnd {
		// Inside a link there is no other: nested images are their own words.
		inner = slices.DeleteFunc(inner, func(s span) bool { return s.kind != spanCode })
		lw := &markdownWriter{src: w.src, spans: inner}
		lw.write(sp.labelStart, sp.labelEnd)
		label = strings.Join(strings.Fields(lw.out.String()), " ")
	}
	if sp.kind == spanImage {
		label = strings.TrimSpace("image: " + label)
	}
	address, host, ok := showable(sp.dest)
	switch {
	case !ok && isRelative(sp.dest):
		fmt.Fprintf(&w.out, "%s (%s)", label, inert(OneLine(sp.dest, 200)))
	case !ok:
		fmt.Fprintf(&w.out, "%s (link removed)", label)
	case label == "" || saysOtherAddress(sp.label, host):
		fmt.Fprintf(&w.out, "[%s](%s)", host, address)
	case strings.Contains(strings.ToLower(sp.label), host):
		fmt.Fprintf(&w.out, "[%s](%s)", label, address)
	default:
		fmt.Fprintf(&w.out, "[%s (%s)](%s)", label, host, address)
	}
}

// showable is an address that may be a link, and the host (or mailbox) to show
// for it.
func showable(dest string) (address, host string, ok bool) {
	dest = strings.TrimSpace(dest)
	if strings.ContainsFunc(dest, func(r rune) bool { return isHidden(r) || r == '\n' || r == '\t' }) {
		return "", "", false
	}
	if !strings.Contains(dest, ":") && strings.Contains(dest, "@") && !strings.ContainsAny(dest, "/ ") {
		dest = "mailto:" + dest
	}
	u, err := url.Parse(dest)
	if err != nil {
		return "", "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		// The name as it is looked up: look-alike letters show as xn--….
		if host, err = idna.Lookup.ToASCII(u.Hostname()); err != nil || host == "" {
			if host = strings.ToLower(u.Hostname()); host == "" || !plainHost.MatchString(host) {
				return "", "", false
			}
		}
		if port := u.Port(); port != "" {
			host += ":" + port
		}
	case "mailto":
		mailbox, err := url.PathUnescape(u.Opaque)
		if err != nil || !plainMailbox.MatchString(mailbox) {
			return "", "", false
		}
		// Without its query, which could add readers and words of its own.
		return "mailto:" + mailbox, strings.ToLower(mailbox), true
	default:
		return "", "", false
	}
	return addressEscaper.Replace(dest), strings.ToLower(host), true
}

var (
	plainMailbox   = regexp.MustCompile(`^[A-Za-z0-9.!#$%&'+/=?^{}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
	plainHost      = regexp.MustCompile(`^[a-z0-9_.:-]+$`)
	addressEscaper = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\\", "%5C",
		"`", "%60", "|", "%7C", "[", "%5B", "]", "%5D", "\"", "%22", "*", "%2A")
	otherAddress = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]*://|www\.)[^\s]*`)
)

// saysOtherAddress reports whether a label is itself an address, of another
// host than the link's.
func saysOtherAddress(label, host string) bool {
	for _, a := range otherAddress.FindAllString(label, -1) {
		if !strings.Contains(a, "://") {
			a = "http://" + a
		}
		if u, err := url.Parse(a); err != nil || !strings.EqualFold(u.Host, host) {
			return true
		}
	}
	return false
}

// isRelative reports whether dest has no scheme: a path in someone's
// repository, shown as what it is.
func isRelative(dest string) bool {
	u, err := url.Parse(dest)
	return err == nil && u.Scheme == "" && u.Host == "" && dest != ""
}

// PlainFallback is Markdown as the plain words of a notification: no markup,
// links as label (host), nothing live. It is escaped for a message's text
// argument.
func PlainFallback(md string) string {
	// A notification shows a few lines: what is far behind need not be read.
	if len(md) > maxParsed {
		md = prefix(md, MaxUpdateText)
	}
	md, _ = Visible(md, VisibleOptions{KeepSpacing: true})
	doc, ok := parseMarkdown(md)
	if !ok {
		return Escape(DefuseMarks(massMention.ReplaceAllString(md, "$1＠$2")))
	}
	var b strings.Builder
	_ = ast.Walk(doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(doc.src))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte('\n')
				}
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.URL(doc.src))
			}
		case *ast.Link:
			if _, host, ok := showable(resolve(n.Destination)); !entering && ok {
				fmt.Fprintf(&b, " (%s)", host)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(doc.src))
			}
		}
		if !entering && n.Type() == ast.TypeBlock {
			if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
				b.WriteByte(cellEnd(n))
			}
		}
		return ast.WalkContinue, nil
	})
	shown, _ := Visible(strings.TrimSpace(b.String()), VisibleOptions{})
	return Escape(DefuseMarks(massMention.ReplaceAllString(shown, "$1＠$2")))
}

// cellEnd separates the cells of a table row by spaces, all else by lines.
func cellEnd(n ast.Node) byte {
	if n.Kind().String() == "TableCell" && n.NextSibling() != nil {
		return ' '
	}
	return '\n'
}
