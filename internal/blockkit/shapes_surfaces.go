package blockkit

import (
	"encoding/json"
	"fmt"
)

// Whole payloads: views, messages, attachments and stream chunks.

var viewTitle = func(name string) check { return quietly(plainText("view."+name, MaxViewTitle)) }

var homeFields = []field{
	typ,
	need("blocks", func(*checker, place, any) {}),
	may("private_metadata", str("view.private_metadata", 0, MaxPrivateMetadata)),
	may("callback_id", str("view.callback_id", 0, MaxCallbackID)),
	may("external_id", str("view.external_id", 0, 255)),
}

var (
	homeView  = &shape{name: "view", fields: homeFields}
	modalView = &shape{name: "view", fields: append([]field{
		need("title", viewTitle("title")),
		may("close", viewTitle("close")), may("submit", viewTitle("submit")),
		may("clear_on_close", boolean), may("notify_on_close", boolean), may("submit_disabled", boolean),
	}, homeFields...)}
)

func (c *checker) view(p place, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(p, "view.type", "object", "must be an object")
		return
	}
	switch typeOf(v) {
	case "home":
		c.surface = Home
		homeView.check(c, p, v)
	case "modal", "workflow_step":
		modalView.check(c, p, v)
	default:
		c.fail(p.field("type"), "view.type", []string{"home", "modal"}, "unsupported type: %s", shorten(typeOf(v)))
		return
	}
	if !has(m, "blocks") {
		return
	}
	at := p.field("blocks")
	if list, ok := m["blocks"].([]any); ok && len(list) == 0 && c.surface == Modal {
		c.fail(at, "view.blocks.min_items", 1, "no fewer than 1 items allowed")
	}
	c.blockArray(at, m["blocks"])
	if c.hasInput && c.surface == Modal && !has(m, "submit") && typeOf(v) == "modal" {
		c.fail(p.field("submit"), "view.submit.required", nil, "submit is required when a view has an input block")
	}
	c.sums(at)
}

// message checks a message's blocks, attachments and metadata. A body with a
// member that only a response_url or webhook takes is judged as such: there,
// Slack compares no block_ids and reads no metadata.
func (c *checker) message(p place, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(p, "message.type", "object", "must be an object")
		return
	}
	response := has(m, "response_type") || has(m, "replace_original") || has(m, "delete_original")
	c.looseIDs = response
	if text := m["text"]; text != nil {
		stringValue(c, p.field("text"), text, "message.text", 0, 0)
	}
	if blocks := m["blocks"]; blocks != nil {
		c.blockArray(p.field("blocks"), blocks)
	}
	if list := m["attachments"]; list != nil {
		c.attachments(p.field("attachments"), list)
	}
	if meta := m["metadata"]; meta != nil && !response {
		c.metadata(p.field("metadata"), meta)
	}
	if !truth(m["delete_original"]) && !hasContent(m) {
		c.add(Error{Code: CodeNoText, Message: "a message needs text, blocks or attachments", Pointer: p.pointer(),
			Rule: "message.content", Constraint: Constraint{"required", []string{"text", "blocks", "attachments"}}})
	}
	c.sums(p.field("blocks"))
}

func truth(v any) bool { b, _ := v.(bool); return b }

func hasContent(m map[string]any) bool {
	if s, ok := m["text"].(string); ok && s != "" {
		return true
	}
	if s, ok := m["markdown_text"].(string); ok && s != "" {
		return true
	}
	for _, name := range []string{"blocks", "attachments"} {
		if list, ok := m[name].([]any); ok && len(list) > 0 {
			return true
		}
	}
	return false
}

// attachments are checked for number and for the blocks in them; their legacy
// members pass.
func (c *checker) attachments(p place, v any) {
	list, ok := v.([]any)
	if !ok {
		c.fail(p, "attachments.type", "array", "must be an array")
		return
	}
	if len(list) > MaxAttachments {
		c.add(Error{Code: CodeAttachments, Message: fmt.Sprintf("no more than %d attachments are allowed", MaxAttachments),
			Field: p.name, Pointer: p.pointer(), Rule: "attachments.max_items", Constraint: Constraint{"max_items", MaxAttachments}})
	}
	for i, a := range list {
		at := p.item(i)
		m, ok := a.(map[string]any)
		if !ok {
			c.fail(at, "attachments.type", "object", "must be an object")
			continue
		}
		if blocks := m["blocks"]; blocks != nil {
			c.blockArray(at.field("blocks"), blocks)
		}
	}
}

// metadata is {event_type, event_payload}, or work objects in entities.
func (c *checker) metadata(p place, v any) {
	m, ok := v.(map[string]any)
	bad := func(format string, args ...any) {
		c.add(Error{Code: CodeMetadata, Message: fmt.Sprintf(format, args...), Field: p.name, Pointer: p.pointer(),
			Rule: "metadata.format", Constraint: Constraint{"required", []string{"event_type", "event_payload"}}})
	}
	if !ok {
		bad("metadata must be an object")
		return
	}
	if !has(m, "entities") {
		if s, _ := m["event_type"].(string); s == "" {
			bad("metadata needs an event_type")
		}
		if _, ok := m["event_payload"].(map[string]any); !ok {
			bad("metadata needs an event_payload, an object")
		}
	}
	// Marshalling what was just decoded cannot fail.
	raw, _ := json.Marshal(m)
	if len(raw) > MaxMetadataBytes {
		c.add(Error{Code: CodeMetadataSize, Message: fmt.Sprintf("metadata is %d bytes; %d are allowed", len(raw), MaxMetadataBytes),
			Field: p.name, Pointer: p.pointer(), Rule: "metadata.max_bytes", Constraint: Constraint{"max_bytes", MaxMetadataBytes}})
	}
}

var chunkKinds = choose("chunk.type",
	ofType("markdown_text", need("text", func(c *checker, p place, v any) {
		if s, ok := stringValue(c, p, v, "chunk.text", 0, MaxStreamAppend); ok {
			c.markdown += length(s)
		}
	})),
	ofType("task_update",
		need("id", str("task_update.id", 1, 0)),
		need("title", str("task_update.title", 1, MaxTaskField)),
		need("status", enum("task_update.status", taskStatuses...)),
		may("details", str("task_update.details", 0, MaxTaskField)),
		may("output", str("task_update.output", 0, MaxTaskField)),
		may("sources", listOf("task_update.sources", 0, 0, choose("task_update.sources", urlSource).check)),
	),
	ofType("plan_update", need("title", str("plan_update.title", 1, MaxTaskField))),
	ofType("blocks", need("blocks", func(c *checker, p place, v any) { c.blockArray(p, v) })),
)
