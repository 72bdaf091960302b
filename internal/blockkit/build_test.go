package blockkit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyString draws texts from nothing to far over every limit, made of what
// cutting could break.
func anyString() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "word ", "\n", "\r\n", "😀", "é", "e\u0301", "👩\u200d👩\u200d👧", "&amp;", "&lt;", "<@U123>", "<https://example.com/x|label>",
		"```", "```\n", "`", "*", "\x00", "\xff", "\u202e", "\u200b", "…", "\\", "\"", "<", ">", "&", "| a | b |\n",
	})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 3).Draw(t, "pieces") {
			n := rapid.SampledFrom([]int{1, 2, 24, 75, 149, 150, 151, 300, 1999, 3000, 6001, 13000}).Draw(t, "times")
			b.WriteString(strings.Repeat(piece.Draw(t, "piece"), n))
		}
		return b.String()
	})
}

type cardGen struct {
	t   *rapid.T
	ids int
}

func (g *cardGen) text() string { return anyString().Draw(g.t, "text") }
func (g *cardGen) id() string {
	g.ids++
	return fmt.Sprint(g.ids, "-", g.text())
}
func (g *cardGen) n(max int) int { return rapid.IntRange(0, max).Draw(g.t, "n") }

func (g *cardGen) object() Text {
	if rapid.Bool().Draw(g.t, "mrkdwn") {
		return Mrkdwn(g.text())
	}
	return Plain(g.text())
}

func (g *cardGen) options() []Option {
	var out []Option
	for range rapid.SampledFrom([]int{0, 1, 5, 10, 11, 101}).Draw(g.t, "options") {
		out = append(out, Option{"o", g.id(), "d"})
	}
	if len(out) > 0 {
		out[0].Text, out[0].Description = g.text(), g.text()
	}
	return out
}

func (g *cardGen) element(forInput bool) Element {
	opts := g.options()
	initial := "nothing"
	if len(opts) > 0 && rapid.Bool().Draw(g.t, "first chosen") {
		initial = opts[0].Value
	}
	if forInput && rapid.Bool().Draw(g.t, "field") {
		switch g.n(3) {
		case 0:
			return TextInput(g.id(), g.text(), g.text(), true)
		case 1:
			return EmailInput(g.id(), g.text(), g.text())
		case 2:
			return URLInput(g.id(), g.text(), g.text())
		default:
			num := func() string {
				return rapid.SampledFrom([]string{"", "1", "-2.5", "1e9", "x", "0007", "99999999999999999999999", g.text()}).Draw(g.t, "number")
			}
			return NumberInput(g.id(), num(), num(), num(), true)
		}
	}
	switch g.n(5) {
	case 0:
		return Select(g.id(), g.text(), opts, initial)
	case 1:
		return MultiSelect(g.id(), g.text(), opts, initial, initial)
	case 2:
		return Checkboxes(g.id(), opts, initial)
	case 3:
		return Radio(g.id(), opts, initial)
	case 4:
		if forInput {
			return Radio(g.id(), opts, initial)
		}
		return Overflow(g.id(), opts...)
	default:
		if forInput {
			return Select(g.id(), g.text(), opts, initial)
		}
		return Button(g.text(), g.id(), g.text(), Danger, &Confirm{Title: g.text(), Text: g.text(), Confirm: g.text(), Deny: g.text()})
	}
}

func (g *cardGen) block() []Block {
	one := func(b Block) []Block { return []Block{b} }
	switch g.n(13) {
	case 0:
		return one(Header(g.text()).WithID(g.id()))
	case 1:
		return one(Section(g.object()).WithID(g.id()))
	case 2:
		return one(SectionWith(g.object(), g.element(false)))
	case 3:
		var fields []Text
		for range g.n(12) {
			fields = append(fields, g.object())
		}
		return Fields(fields...)
	case 4:
		var texts []Text
		for range g.n(12) {
			texts = append(texts, g.object())
		}
		return one(Context(texts...))
	case 5:
		return one(Divider())
	case 6:
		var elements []Element
		for range g.n(3) {
			elements = append(elements, g.element(false))
		}
		return one(Actions(elements...))
	case 7:
		return one(Preformatted(g.text()).WithID(g.id()))
	case 8:
		return one(Quote(g.text()))
	case 9:
		return one(RichSection(Run{Text: g.text(), Bold: true}, Run{Text: g.text(), Code: true}))
	case 10:
		return one(Markdown(g.text()))
	case 11:
		return one(TaskCard(g.id(), g.text(), Status(g.text()), g.text(), g.text()))
	case 12:
		blocks, _ := Verbatim(g.text(), rapid.SampledFrom([]int{0, 1, 100, 3000, 9000, 1 << 20}).Draw(g.t, "max"))
		return blocks
	default:
		return one(Input(g.id(), g.text(), g.text(), true, g.element(true)))
	}
}

func (g *cardGen) blocks() []Block {
	var out []Block
	for range g.n(6) {
		out = append(out, g.block()...)
	}
	if rapid.Bool().Draw(g.t, "many") {
		for range g.n(120) {
			out = append(out, Section(Plain("one of many")))
		}
	}
	return out
}

func TestNoCardExceedsALimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &cardGen{t: t}
		head, body, foot := g.blocks(), g.blocks(), g.blocks()
		msg, _ := Card{Text: g.text(), Head: head, Body: body, Foot: foot}.JSON()
		for _, e := range ValidateMessage(msg) {
			t.Errorf("message: %s: %v", e.Rule, e)
		}
		modal, _ := ModalView{Title: g.text(), Submit: g.text(), Close: g.text(), CallbackID: g.text(), PrivateMetadata: g.text(),
			ExternalID: g.text(), Head: head, Body: body, Foot: foot}.JSON()
		for _, e := range ValidateView(modal) {
			t.Errorf("modal: %s: %v", e.Rule, e)
		}
		home, _ := HomeView{CallbackID: g.text(), PrivateMetadata: g.text(), Head: head, Body: body, Foot: foot}.JSON()
		for _, e := range ValidateView(home) {
			t.Errorf("home: %s: %v", e.Rule, e)
		}
	})
}

// TestUncutMeansWhole: a block that doesn't say it was cut shows every
// character it was given.
func TestUncutMeansWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(anyString().Draw(t, "text"), "?")
		for _, b := range []Block{Section(Plain(s)), Section(Mrkdwn(s)), Header(s), Preformatted(s), Quote(s), Markdown(s), Context(Plain(s))} {
			raw := string(BlocksJSON([]Block{b}))
			want, _ := encode(orEmpty(s))
			if whole := strings.Contains(raw, string(want)); whole == b.Cut() {
				t.Errorf("cut is %v, but the text is whole: %v\n%.300s", b.Cut(), whole, raw)
			}
		}
	})
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		max      int
		want     string
		cut      bool
	}{
		{"fits", "hello", 5, "hello", false},
		{"cut", "hello!", 5, "hell…", true},
		{"astral counts two", "😀😀", 3, "😀…", true},
		{"nothing", "hello", 0, "", true},
		{"one", "hello", 1, "…", true},
		{"empty", "", 0, "", false},
		{"not inside an entity", "a &amp; bcdefgh", 6, "a …", true},
		{"a bare ampersand is text", "a & b c d e f g", 6, "a & b…", true},
		{"not inside a mention", "hi <@U123456> you", 10, "hi …", true},
		{"not inside a link", "see <https://example.com|this> ok", 20, "see …", true},
		{"a less-than sign is text", "1 < 2 and more of it", 10, "1 < 2 and…", true},
		{"an open fence is closed", "```\nabcdefghijkl\n```", 14, "```\nabcde…\n```", true},
		{"a fence without room is left out", "text ```\nabcdef\n```", 12, "text …", true},
		{"a closed fence stays", "```a``` and then some", 14, "```a``` and t…", true},
		{"not inside the fence's own marks", "abcdef```x\ny```", 9, "abcdef…", true},
		{"not inside a combined character", "abcde\u0301\u0302f", 6, "abcd…", true},
		{"not inside a family", "ab👩\u200d👩\u200d👧", 9, "ab…", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, cut := Fit(tt.in, tt.max)
			if got != tt.want || cut != tt.cut {
				t.Errorf("Fit(%q, %d) = %q, %v; want %q, %v", tt.in, tt.max, got, cut, tt.want, tt.cut)
			}
		})
	}
}

func FuzzFit(f *testing.F) {
	f.Add("a &amp; <@U1> ```go\nx\n``` 😀e\u0301", 7)
	f.Add(strings.Repeat("&", 50)+strings.Repeat("<", 50), 30)
	f.Add(strings.Repeat("\u0301", 100), 9)
	f.Fuzz(func(t *testing.T, s string, max int) {
		if max < 0 || max > 100000 {
			return
		}
		shown, cut := Fit(s, max)
		if units(shown) > max {
			t.Fatalf("%d characters, at most %d are wanted", units(shown), max)
		}
		if !cut {
			if shown != s {
				t.Fatal("changed without saying so")
			}
			return
		}
		head := strings.TrimSuffix(strings.TrimSuffix(shown, "\n```"), ellipsis)
		if max > 0 && (head == shown || !strings.HasPrefix(s, head)) {
			t.Fatalf("%q is not a visible cut of %q", shown, s)
		}
		if strings.Count(shown, "```")%2 != 0 && max >= 5 {
			t.Fatalf("a fence is left open: %q", shown)
		}
	})
}

func TestSplitVerbatimLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyString().Draw(t, "text")
		max := rapid.SampledFrom([]int{2, 10, 2900, 3000}).Draw(t, "max")
		parts := SplitVerbatim(s, max)
		if strings.Join(parts, "") != s {
			t.Fatal("the parts don't join to the text")
		}
		for i, p := range parts {
			if units(p) > max {
				t.Errorf("part of %d characters", units(p))
			}
			if i > 0 && strings.HasPrefix(p, "\n") && strings.HasSuffix(parts[i-1], "\r") && max > 2 {
				t.Error("a CRLF was split")
			}
			if p == "" && s != "" {
				t.Error("an empty part")
			}
		}
	})
}

func TestFootAndHeadSurviveALongBody(t *testing.T) {
	body, whole := Verbatim(strings.Repeat("line of a long draft\n", 2000), 1<<20)
	if !whole {
		t.Fatal("Verbatim cut within its budget")
	}
	card := Card{Text: "Draft", Head: []Block{Header("✉ Draft")}, Body: body,
		Foot: []Block{Actions(Button("Reject…", "reject", "tok", Danger, nil))}}
	blocks, cut := card.Blocks()
	if !cut {
		t.Error("42,000 characters were said to be whole")
	}
	raw := string(BlocksJSON(blocks))
	for _, want := range []string{"✉ Draft", "Reject…", notice, "line of a long draft"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the card lacks %q", want)
		}
	}
}

func TestCardIsOrderedAndUnescaped(t *testing.T) {
	card := Card{Text: "A <draft> & more", Head: []Block{Header("Title").WithID("h")}, Body: []Block{
		Section(Mrkdwn("*To* " + Escape("<a&b>"))), Preformatted("x < y"), {}, Divider(),
	}, Foot: []Block{Actions(Button("Approve", "approve", "tok-1", Primary, &Confirm{Title: "Send?", Text: "It goes out.", Confirm: "Send"}))}}
	got, cut := card.JSON()
	if cut {
		t.Error("said to be cut")
	}
	want := `{"text":"A <draft> & more","blocks":[` +
		`{"type":"header","block_id":"h","text":{"type":"plain_text","text":"Title"}},` +
		`{"type":"section","text":{"type":"mrkdwn","text":"*To* &lt;a&amp;b&gt;","verbatim":true}},` +
		`{"type":"rich_text","elements":[{"type":"rich_text_preformatted","elements":[{"type":"text","text":"x < y"}]}]},` +
		`{"type":"divider"},` +
		`{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Approve"},"action_id":"approve","value":"tok-1","style":"primary",` +
		`"confirm":{"title":{"type":"plain_text","text":"Send?"},"text":{"type":"plain_text","text":"It goes out."},"confirm":{"type":"plain_text","text":"Send"},"deny":{"type":"plain_text","text":"Cancel"}}}]}` +
		`]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestModalWithAnInputHasSubmit(t *testing.T) {
	view, cut := ModalView{Title: "Edit", Body: []Block{Input("b1", "Subject", "", false, TextInput("a", "Re: budget", "", false))}}.JSON()
	if cut {
		t.Error("said to be cut")
	}
	if errs := ValidateView(view); len(errs) > 0 {
		t.Error(errs)
	}
	if !json.Valid(view) || !strings.Contains(string(view), `"submit"`) {
		t.Errorf("no submit button: %s", view)
	}
}

func TestIdentifiersAreNeverCutIntoEachOther(t *testing.T) {
	a, b := Identifier(chars(300)+"a", 255), Identifier(chars(300)+"b", 255)
	if a == b || units(a) > 255 {
		t.Errorf("%q and %q", a, b)
	}
	if got := Identifier("short", 255); got != "short" {
		t.Error(got)
	}
}
