package blockkit

// Blocks. docs.slack.dev/reference/block-kit/blocks

// block is a shape with the members that every block has.
func block(name string, fields ...field) *shape {
	return ofType(name, append([]field{may("block_id", blockID)}, fields...)...)
}

var blockKinds = choose("block.type",
	block("actions",
		need("elements", listOf("actions.elements", 1, MaxActions, actionElements.check)),
	).with(actionIDsDiffer),
	block("alert",
		need("text", anyText("alert.text", MaxAlert)),
		may("level", enum("alert.level", "default", "info", "warning", "error", "success")),
	).only(Modal),
	card,
	block("carousel",
		need("elements", listOf("carousel.elements", 1, MaxCarousel, choose("carousel.elements", card).check)),
	).only(Message, StreamChunk),
	block("container",
		need("title", anyText("container.title", MaxContainerTitle)),
		may("subtitle", anyText("container.subtitle", MaxContainerTitle)),
		may("icon", image.check),
		need("child_blocks", listOf("container.child_blocks", 1, MaxContainerChildren, childBlock)),
		may("width", str("container.width", 1, 0)),
		may("is_collapsible", boolean), may("default_collapsed", boolean), may("has_header_divider", boolean),
	),
	block("context",
		need("elements", listOf("context.elements", 1, MaxContext, contextElements.check)),
	),
	block("context_actions",
		need("elements", listOf("context_actions.elements", 1, MaxContextActions, contextActionElements.check)),
	).only(Message, StreamChunk).with(actionIDsDiffer),
	dataTable,
	dataVisualization,
	block("divider"),
	block("file",
		need("external_id", str("file.external_id", 1, 0)),
		need("source", enum("file.source", "remote")),
	).only(Message, StreamChunk),
	block("header",
		need("text", plainText("header.text", MaxHeader)),
		may("level", integer("header.level", 1, 4)),
	),
	block("image", append([]field{may("title", plainText("image.title", MaxImageTitle))}, imageFields...)...).with(imageSource),
	block("input",
		need("label", plainText("input.label", MaxInputLabel)),
		need("element", inputElements.check),
		may("hint", plainText("input.hint", MaxInputLabel)),
		may("optional", boolean), may("dispatch_action", boolean),
	).with(func(c *checker, _ place, _ map[string]any) { c.hasInput = true }),
	block("markdown",
		need("text", func(c *checker, p place, v any) {
			if s, ok := stringValue(c, p, v, "markdown.text", 1, MaxMarkdown); ok {
				c.chars += length(s)
				c.markdown += length(s)
			}
		}),
	).only(Message, StreamChunk),
	block("plan",
		need("title", shown("plan.title", 1, 0)),
		may("tasks", listOf("plan.tasks", 0, 0, planTask.check)),
	).only(Message, StreamChunk),
	richText,
	block("section",
		may("text", anyText("section.text", MaxSection)),
		may("fields", listOf("section.fields", 1, MaxFields, sectionField)),
		may("accessory", sectionElements.check),
		may("expand", boolean),
	).with(func(c *checker, p place, m map[string]any) {
		if !has(m, "text") && !has(m, "fields") {
			c.fail(p, "section.content", []string{"text", "fields"}, "text or fields is required")
		}
	}),
	tableBlock,
	block("task_card", taskFields...).only(Message, StreamChunk),
	block("video",
		need("alt_text", str("video.alt_text", 1, MaxVideoText)),
		need("title", plainText("video.title", MaxVideoText)),
		need("video_url", str("video.video_url", 1, 0)),
		need("thumbnail_url", str("video.thumbnail_url", 1, 0)),
		may("title_url", str("video.title_url", 0, 0)),
		may("description", plainText("video.description", MaxVideoText)),
		may("author_name", str("video.author_name", 0, MaxVideoAuthor)),
		may("provider_name", str("video.provider_name", 0, MaxVideoAuthor)),
		may("provider_icon_url", str("video.provider_icon_url", 0, 0)),
	),
)

var card = block("card",
	may("hero_image", image.check), may("icon", image.check),
	may("slack_icon", ofType("icon", need("name", str("slack_icon.name", 1, 0))).check),
	may("title", anyText("card.title", MaxCardTitle)),
	may("subtitle", anyText("card.subtitle", MaxCardTitle)),
	may("body", anyText("card.body", MaxCardBody)),
	may("subtext", anyText("card.subtext", MaxCardBody)),
	may("actions", listOf("card.actions", 0, MaxCardActions, choose("card.actions", button).check)),
).only(Message, StreamChunk)

var taskFields = []field{
	need("task_id", str("task_card.task_id", 1, 0)),
	need("title", shown("task_card.title", 1, 0)),
	may("details", richText.check),
	may("output", richText.check),
	may("sources", listOf("task_card.sources", 0, 0, choose("task_card.sources", urlSource).check)),
	need("status", enum("task_card.status", taskStatuses...)),
}

var taskStatuses = []string{"pending", "in_progress", "complete", "error"}

// planTask is a task card inside a plan, where it needs no type.
var planTask = &shape{name: "task_card", fields: append([]field{
	may("type", enum("task_card.type", "task_card")), may("block_id", blockID),
}, taskFields...)}

// childBlock is a block inside a container. Containers don't nest.
func childBlock(c *checker, p place, v any) {
	if typeOf(v) == "container" {
		c.fail(p.field("type"), "container.child_blocks", nil, "unsupported type: container")
		return
	}
	c.blocks.check(c, p, v)
}

var contextElements = choose("context.elements",
	textShape("plain_text", "text", MaxText), textShape("mrkdwn", "text", MaxText), image)

var sectionFieldText = anyText("section.fields", maxPayloadBytes)

// sectionField is a text object with a narrower limit of its own name.
func sectionField(c *checker, p place, v any) {
	sectionFieldText(c, p, v)
	m, _ := v.(map[string]any)
	if s, _ := m["text"].(string); length(s) > MaxField {
		c.fail(p.field("text"), "section.fields.item_max_length", MaxField, "must be less than %d characters", MaxField+1)
	}
}

// actionIDsDiffer: an action_id is unique within its block.
func actionIDsDiffer(c *checker, p place, m map[string]any) {
	list, _ := m["elements"].([]any)
	seen := map[string]bool{}
	at := p.field("elements")
	for i, e := range list {
		e, _ := e.(map[string]any)
		id, _ := e["action_id"].(string)
		if id != "" && seen[id] {
			el := at.item(i)
			c.fail(el.field("action_id"), "action_id.unique", nil, "action_id %q already exists in this block", shorten(id))
		}
		seen[id] = true
	}
}
