package localslack

import (
	"encoding/json"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

const maxMetadata = 16 << 10

// refusal turns a validator's findings into the error that a method answers;
// nil when there are none.
func refusal(errs []blockkit.Error, invalid string) error {
	if len(errs) == 0 {
		return nil
	}
	var messages []string
	for _, e := range errs {
		messages = append(messages, "[ERROR] "+e.Error())
	}
	return &apiError{code: blockkit.MethodError(errs, invalid), messages: messages, extra: map[string]any{"errors": errs}}
}

// checkBlocks judges the blocks of a message.
func checkBlocks(blocks json.RawMessage) error {
	if blocks == nil {
		return nil
	}
	return refusal(blockkit.ValidateBlocks(blocks, blockkit.Message), "invalid_blocks")
}

// checkAttachments judges attachments with whatever blocks they hold.
func checkAttachments(attachments json.RawMessage) error {
	if attachments == nil {
		return nil
	}
	return refusal(blockkit.ValidateMessage(encode(map[string]any{"text": " ", "attachments": attachments})), "invalid_attachments")
}

// checkMetadata judges a message's metadata and drops an empty one.
func checkMetadata(metadata json.RawMessage) (json.RawMessage, error) {
	if metadata == nil {
		return nil, nil
	}
	var m struct {
		EventType    string          `json:"event_type"`
		EventPayload json.RawMessage `json:"event_payload"`
	}
	if json.Unmarshal(metadata, &m) != nil {
		return nil, fail("invalid_metadata_format")
	}
	if m.EventType == "" && isEmptyObject(m.EventPayload) {
		return nil, nil // slack-go sends an empty one along; it means none
	}
	if m.EventType == "" || len(m.EventPayload) == 0 || m.EventPayload[0] != '{' {
		return nil, fail("invalid_metadata_format", "metadata needs an event_type and an event_payload, an object")
	}
	if len(metadata) > maxMetadata {
		return nil, fail("metadata_too_large")
	}
	return metadata, nil
}

func isEmptyObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return isNull(raw) || json.Unmarshal(raw, &m) == nil && len(m) == 0
}

// blocksValidate is blocks.validate: exactly one of blocks, message and view.
func blocksValidate(c *call) (result, error) {
	var given []string
	for _, key := range []string{"blocks", "message", "view"} {
		if c.args.has(key) {
			given = append(given, key)
		}
	}
	if len(given) != 1 {
		return nil, fail("invalid_arguments", "must provide exactly one of `blocks`, `view`, or `message`")
	}
	raw, ok := c.args.json(given[0])
	if !ok || raw == nil {
		return nil, fail("invalid_arguments", "`"+given[0]+"` is not valid JSON")
	}
	if len(raw) > 100_000 {
		return nil, fail("invalid_arguments", "`"+given[0]+"` must be at most 100000 characters")
	}
	var errs []blockkit.Error
	switch given[0] {
	case "blocks":
		errs = blockkit.ValidateBlocks(raw, blockkit.Anywhere)
	case "message":
		errs = blockkit.ValidateMessage(raw)
	case "view":
		errs = blockkit.ValidateView(raw)
	}
	if len(errs) > 0 {
		return nil, &apiError{code: "invalid_" + given[0], extra: map[string]any{"errors": errs}}
	}
	return result{}, nil
}

// withIDs gives every block that lacks one a block_id, and every element in it
// an action_id, as Slack does; all other bytes stay as they were sent.
func withIDs(blocks json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if blocks == nil || json.Unmarshal(blocks, &list) != nil {
		return blocks
	}
	for i, raw := range list {
		var b struct {
			BlockID   string          `json:"block_id"`
			Type      string          `json:"type"`
			Elements  json.RawMessage `json:"elements"`
			Element   json.RawMessage `json:"element"`
			Accessory json.RawMessage `json:"accessory"`
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "actions", "context_actions":
			raw = replaceMember(raw, "elements", elementsWithIDs(b.Elements))
		case "section":
			raw = replaceMember(raw, "accessory", elementWithID(b.Accessory))
		case "input":
			raw = replaceMember(raw, "element", elementWithID(b.Element))
		}
		if b.BlockID == "" {
			raw = prepend(raw, "block_id", newID("", 5))
		}
		list[i] = raw
	}
	return encode(list)
}

func elementsWithIDs(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	changed := false
	for i := range list {
		if with := elementWithID(list[i]); with != nil {
			list[i], changed = with, true
		}
	}
	if !changed {
		return nil
	}
	return encode(list)
}

// elementWithID is nil when the element needs none.
func elementWithID(raw json.RawMessage) json.RawMessage {
	var e struct {
		Type     string `json:"type"`
		ActionID string `json:"action_id"`
	}
	if isNull(raw) || json.Unmarshal(raw, &e) != nil || e.ActionID != "" || e.Type == "image" {
		return nil
	}
	return prepend(raw, "action_id", newID("", 5))
}

// replaceMember puts value in a member's place, when there is a value.
func replaceMember(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	if value == nil {
		return object
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return object
	}
	m[key] = value
	return encode(m)
}
