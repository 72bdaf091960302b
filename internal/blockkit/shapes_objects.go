package blockkit

// Composition objects: text, options, confirmation dialogs and their like.
// docs.slack.dev/reference/block-kit/composition-objects

// text is a text object of at most max characters, of the given types. Too
// short, and too long where nothing narrower holds, is the text object's own
// rule.
func text(rule string, max int, types ...string) check {
	var shapes []*shape
	for _, t := range types {
		shapes = append(shapes, textShape(t, rule, max))
	}
	return choose(rule, shapes...).check
}

func textShape(typ, rule string, max int) *shape {
	member := may("emoji", boolean)
	if typ == "mrkdwn" {
		member = may("verbatim", boolean)
	}
	return ofType(typ, need("text", textLength(rule, max)), member)
}

func plainText(rule string, max int) check { return text(rule, max, "plain_text") }
func anyText(rule string, max int) check   { return text(rule, max, "plain_text", "mrkdwn") }

func textLength(rule string, max int) check {
	return func(c *checker, p place, v any) {
		s, ok := v.(string)
		if !ok {
			c.fail(p, rule+".type", "string", "must be a string")
			return
		}
		n := length(s)
		if n < 1 {
			c.fail(p, "text.min_length", 1, "must be more than 0 characters")
		}
		if n > max {
			c.fail(p, rule+".max_length", max, "must be less than %d characters", max+1)
		}
		if c.silent == 0 {
			c.chars += n
		}
	}
}

// quietly runs ch on text that is not displayed as part of a message.
func quietly(ch check) check {
	return func(c *checker, p place, v any) {
		c.silent++
		defer func() { c.silent-- }()
		ch(c, p, v)
	}
}

var confirmation = (&shape{name: "confirmation", fields: []field{
	may("title", plainText("confirmation.title", MaxConfirmTitle)),
	need("text", anyText("confirmation.text", MaxConfirmText)),
	may("confirm", plainText("confirmation.confirm", MaxConfirmButton)),
	may("deny", plainText("confirmation.deny", MaxConfirmButton)),
	may("style", enum("confirmation.style", "primary", "danger")),
}}).hidden()

// option returns the shape of an option whose text may be of the given types:
// select and overflow menus take plain text only.
func option(types ...string) *shape {
	return (&shape{name: "option", fields: []field{
		need("text", text("option.text", MaxOptionText, types...)),
		need("value", str("option.value", 0, MaxOptionValue)),
		may("description", text("option.description", MaxOptionDescription, types...)),
		may("url", str("option.url", 0, MaxOptionURL)),
	}}).hidden()
}

var (
	plainOption = option("plain_text")
	anyOption   = option("plain_text", "mrkdwn")
)

var optionGroup = (&shape{name: "option_group", fields: []field{
	need("label", plainText("option_group.label", MaxOptionGroupLabel)),
	need("options", listOf("option_group.options", 1, MaxOptions, plainOption.check)),
}}).hidden()

var conversationFilter = (&shape{name: "conversation_filter", fields: []field{
	may("include", listOf("conversation_filter.include", 1, 4, enum("conversation_filter.include", "im", "mpim", "private", "public"))),
	may("exclude_external_shared_channels", boolean),
	may("exclude_bot_users", boolean),
}}).with(func(c *checker, p place, m map[string]any) {
	if len(m) == 0 {
		c.fail(p, "conversation_filter.content", nil, "at least one filter is required")
	}
})

var dispatchConfig = &shape{name: "dispatch_action_config", fields: []field{
	may("trigger_actions_on", listOf("dispatch_action_config.trigger_actions_on", 1, 2,
		enum("dispatch_action_config.trigger_actions_on", "on_enter_pressed", "on_character_entered"))),
}}

var workflow = &shape{name: "workflow", fields: []field{
	need("trigger", trigger.check),
}}

var trigger = &shape{name: "trigger", fields: []field{
	need("url", str("trigger.url", 1, 0)),
	may("customizable_input_parameters", listOf("trigger.customizable_input_parameters", 0, 0, (&shape{name: "input_parameter", fields: []field{
		need("name", str("input_parameter.name", 1, 0)),
		need("value", str("input_parameter.value", 0, 0)),
	}}).check)),
}}

// slackFile names an uploaded file by id or by address.
var slackFile = (&shape{name: "slack_file", fields: []field{
	may("id", str("slack_file.id", 1, 0)),
	may("url", str("slack_file.url", 1, MaxImageURL)),
}}).with(func(c *checker, p place, m map[string]any) {
	oneOf(c, p, m, "slack_file.source", "id", "url")
})

var urlSource = ofType("url",
	need("url", str("url_source.url", 1, MaxURLSource)),
	need("text", str("url_source.text", 0, 0)),
)
