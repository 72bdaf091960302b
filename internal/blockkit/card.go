package blockkit

import (
	"encoding/json"
	"fmt"
)

// Card is a message in three parts, within the limits of a whole message. Head
// and foot (what it is; what can be done) are kept; the body gives way: its
// last blocks are shortened or left out, and a line says so.
type Card struct {
	// Text is the notification, and all that a screen reader or an old client
	// gets. It is cut to what chat.update takes.
	Text string

	Head, Body, Foot []Block
}

// notice is the line under a body that was cut.
const notice = "… this is not all of it"

// Blocks are the card's blocks, and whether anything was cut anywhere.
func (c Card) Blocks() (blocks Blocks, cut bool) {
	return assemble(c.Head, c.Body, c.Foot, MaxMessageBlocks, MaxMessageChars)
}

// JSON is the message's body, {"text", "blocks"}, for the posting method's
// other arguments to be added to.
func (c Card) JSON() (msg json.RawMessage, cut bool) {
	blocks, cut := c.Blocks()
	text, _ := Fit(orEmpty(c.Text), MaxUpdateText)
	o := newObject("", "text", text)
	if len(blocks) > 0 {
		o.set("blocks", blocks)
	}
	return mustEncode(o), cut
}

// Blocks are the blocks of one message, as Card.Blocks fits them.
type Blocks []Block

// JSON encodes the blocks as an array, leaving out the zero ones.
func (bs Blocks) JSON() json.RawMessage {
	kept := []Block{}
	for _, b := range bs {
		if !b.IsZero() {
			kept = append(kept, b)
		}
	}
	return mustEncode(kept)
}

// MarshalJSON is JSON.
func (bs Blocks) MarshalJSON() ([]byte, error) { return bs.JSON(), nil }

// Cut reports whether any of the blocks was cut.
func (bs Blocks) Cut() bool {
	for _, b := range bs {
		if b.cut {
			return true
		}
	}
	return false
}

// BlocksJSON encodes blocks as an array, leaving out the zero ones.
func BlocksJSON(blocks []Block) json.RawMessage { return Blocks(blocks).JSON() }

// assemble fits three parts into a number of blocks and characters. The foot
// may take half of either, the head half of what is left, the body the rest.
func assemble(head, body, foot []Block, maxBlocks, maxChars int) (out []Block, cut bool) {
	noticeBlock := Context(Plain(notice))
	foot, n, cutFoot := take(foot, maxBlocks/2, maxChars/2)
	maxBlocks, maxChars = maxBlocks-len(foot), maxChars-n
	head, n, cutHead := take(head, maxBlocks/2, maxChars/2)
	maxBlocks, maxChars = maxBlocks-len(head), maxChars-n
	whole, _, cutBody := take(body, maxBlocks, maxChars)
	dropped := cutBody || cutHead || cutFoot
	if dropped {
		whole, _, _ = take(body, maxBlocks-1, maxChars-noticeBlock.chars)
	}
	out = append(append(out, head...), whole...)
	if dropped {
		out = append(out, noticeBlock)
	}
	out = append(out, foot...)
	return out, dropped || Blocks(out).Cut()
}

// take keeps blocks while they fit, shortening the first that doesn't.
func take(blocks []Block, maxBlocks, maxChars int) (kept []Block, chars int, cut bool) {
	for _, b := range blocks {
		if b.IsZero() {
			continue
		}
		if len(kept) >= maxBlocks {
			return kept, chars, true
		}
		if chars+b.chars > maxChars {
			// Under forty characters a stump says less than nothing.
			if b.shrink != nil && maxChars-chars >= 40 {
				if b = b.shrink(maxChars - chars); !b.IsZero() && chars+b.chars <= maxChars {
					kept, chars = append(kept, b), chars+b.chars
				}
			}
			return kept, chars, true
		}
		kept, chars = append(kept, b), chars+b.chars
	}
	return kept, chars, false
}

// ModalView is a modal. Its metadata and ids pass through Identifier; its texts
// are cut to their limits.
type ModalView struct {
	Title, Submit, Close        string
	CallbackID, PrivateMetadata string
	ExternalID                  string
	NotifyOnClose, ClearOnClose bool

	Head, Body, Foot []Block
}

// JSON is the view for views.open, views.push and views.update.
func (m ModalView) JSON() (view json.RawMessage, cut bool) {
	title, _ := Plain(m.Title).within(MaxViewTitle)
	return viewJSON(m.Head, m.Body, m.Foot, title.cut, func(blocks []Block) object {
		o := newObject("modal", "title", title, "blocks", blocks)
		submit := m.Submit
		for _, b := range blocks {
			if b.input && submit == "" {
				submit = "Submit"
			}
		}
		for _, part := range []struct{ name, text string }{{"submit", submit}, {"close", m.Close}} {
			if part.text != "" {
				t, _ := Plain(part.text).within(MaxViewTitle)
				o.set(part.name, t)
			}
		}
		o.set("callback_id", Identifier(m.CallbackID, MaxCallbackID))
		o.set("private_metadata", Identifier(m.PrivateMetadata, MaxPrivateMetadata))
		o.set("external_id", Identifier(m.ExternalID, 255))
		o.set("notify_on_close", m.NotifyOnClose)
		o.set("clear_on_close", m.ClearOnClose)
		return o
	})
}

// HomeView is the Home tab.
type HomeView struct {
	CallbackID, PrivateMetadata string

	Head, Body, Foot []Block
}

// JSON is the view for views.publish.
func (h HomeView) JSON() (view json.RawMessage, cut bool) {
	return viewJSON(h.Head, h.Body, h.Foot, false, func(blocks []Block) object {
		return newObject("home", "blocks", blocks,
			"callback_id", Identifier(h.CallbackID, MaxCallbackID), "private_metadata", Identifier(h.PrivateMetadata, MaxPrivateMetadata))
	})
}

// viewJSON fits the parts into a view's number of blocks and bytes. Bytes are
// what can't be known before encoding, so the characters allowed are halved
// until the bytes fit.
func viewJSON(head, body, foot []Block, cutTitle bool, build func([]Block) object) (json.RawMessage, bool) {
	head, body, foot = forView(head), forView(body), forView(foot)
	for chars := MaxViewBytes; ; chars /= 2 {
		blocks, cut := assemble(head, body, foot, MaxViewBlocks, chars)
		if len(blocks) == 0 {
			blocks = []Block{Section(Plain(Empty))}
		}
		view := mustEncode(build(blocks))
		if len(view) <= MaxViewBytes {
			return view, cut || cutTitle
		}
		if chars < 1000 {
			// Menus, whose options don't count as text, can fill a view by
			// themselves: an honest line is better than no view.
			return mustEncode(build([]Block{Section(Plain(fmt.Sprintf("This view would be %d kB; Slack takes %d.", len(view)/1000, MaxViewBytes/1000)))})), true
		}
	}
}

func forView(blocks []Block) (out []Block) {
	for _, b := range blocks {
		if b.inView == nil {
			out = append(out, b)
			continue
		}
		for _, r := range b.inView() {
			r.cut = r.cut || b.cut
			out = append(out, r)
		}
	}
	return out
}
