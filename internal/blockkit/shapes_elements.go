package blockkit

// Block elements. docs.slack.dev/reference/block-kit/block-elements

// Members that many elements share.
var (
	actionID    = may("action_id", str("action_id", 0, MaxActionID))
	confirm     = may("confirm", confirmation.check)
	focus       = may("focus_on_load", boolean)
	placeholder = may("placeholder", quietly(plainText("select.placeholder", MaxPlaceholder)))
	dispatch    = may("dispatch_action_config", dispatchConfig.check)
	a11y        = func(rule string) field {
		return may("accessibility_label", str(rule+".accessibility_label", 0, MaxAccessibilityLabel))
	}
	buttonStyle = may("style", enum("button.style", "primary", "danger"))
	maxSelected = may("max_selected_items", integer("max_selected_items", 1, 0))
	ids         = func(rule string) check { return listOf(rule, 0, 0, str(rule, 1, 0)) }
)

var button = ofType("button",
	need("text", plainText("button.text", MaxButtonText)),
	actionID,
	may("value", str("button.value", 0, MaxButtonValue)),
	may("url", str("button.url", 0, MaxButtonURL)),
	buttonStyle, confirm, a11y("button"),
)

var workflowButton = ofType("workflow_button",
	need("text", plainText("button.text", MaxButtonText)),
	need("workflow", workflow.check),
	actionID, buttonStyle, confirm, a11y("button"),
)

var iconButton = ofType("icon_button",
	need("icon", str("icon_button.icon", 1, 0)),
	need("text", plainText("icon_button.text", MaxButtonText)),
	actionID, confirm, a11y("icon_button"),
	may("value", str("icon_button.value", 0, MaxButtonValue)),
	may("visible_to_user_ids", listOf("icon_button.visible_to_user_ids", 0, MaxIconButtonFor, str("icon_button.visible_to_user_ids", 1, 0))),
)

var feedbackButton = &shape{name: "feedback_button", fields: []field{
	need("text", plainText("feedback_button.text", MaxButtonText)),
	need("value", str("feedback_button.value", 0, MaxButtonValue)),
	a11y("feedback_button"),
}}

var feedbackButtons = ofType("feedback_buttons",
	need("positive_button", feedbackButton.check),
	need("negative_button", feedbackButton.check),
	actionID,
)

var overflow = ofType("overflow",
	need("options", listOf("overflow.options", 1, MaxOverflowOptions, plainOption.check)),
	actionID, confirm,
)

var checkboxes = ofType("checkboxes",
	need("options", listOf("checkboxes.options", 1, MaxCheckboxes, anyOption.check)),
	may("initial_options", listOf("checkboxes.initial_options", 0, MaxCheckboxes, anyOption.check)),
	actionID, confirm, focus,
).with(initialAmongOptions)

var radioButtons = ofType("radio_buttons",
	need("options", listOf("radio_buttons.options", 1, MaxRadioButtons, anyOption.check)),
	may("initial_option", anyOption.check),
	actionID, confirm, focus,
).with(initialAmongOptions)

var staticSelect = ofType("static_select",
	may("options", listOf("select.options", 1, MaxOptions, plainOption.check)),
	may("option_groups", listOf("select.option_groups", 1, MaxOptionGroups, optionGroup.check)),
	may("initial_option", plainOption.check),
	actionID, confirm, focus, placeholder,
).with(choiceSource)

var multiStaticSelect = ofType("multi_static_select",
	may("options", listOf("select.options", 1, MaxOptions, plainOption.check)),
	may("option_groups", listOf("select.option_groups", 1, MaxOptionGroups, optionGroup.check)),
	may("initial_options", listOf("select.initial_options", 0, MaxOptions, plainOption.check)),
	actionID, confirm, focus, placeholder, maxSelected,
).with(choiceSource)

var externalSelect = ofType("external_select",
	may("initial_option", plainOption.check),
	may("min_query_length", integer("external_select.min_query_length", 0, -1)),
	actionID, confirm, focus, placeholder,
)

var multiExternalSelect = ofType("multi_external_select",
	may("initial_options", listOf("select.initial_options", 0, MaxOptions, plainOption.check)),
	may("min_query_length", integer("external_select.min_query_length", 0, -1)),
	actionID, confirm, focus, placeholder, maxSelected,
)

var usersSelect = ofType("users_select",
	may("initial_user", str("users_select.initial_user", 1, 0)),
	actionID, confirm, focus, placeholder,
)

var multiUsersSelect = ofType("multi_users_select",
	may("initial_users", ids("multi_users_select.initial_users")),
	actionID, confirm, focus, placeholder, maxSelected,
)

var channelsSelect = ofType("channels_select",
	may("initial_channel", str("channels_select.initial_channel", 1, 0)),
	may("response_url_enabled", boolean),
	actionID, confirm, focus, placeholder,
)

var multiChannelsSelect = ofType("multi_channels_select",
	may("initial_channels", ids("multi_channels_select.initial_channels")),
	actionID, confirm, focus, placeholder, maxSelected,
)

var conversationsSelect = ofType("conversations_select",
	may("initial_conversation", str("conversations_select.initial_conversation", 1, 0)),
	may("default_to_current_conversation", boolean),
	may("filter", conversationFilter.check),
	may("response_url_enabled", boolean),
	actionID, confirm, focus, placeholder,
)

var multiConversationsSelect = ofType("multi_conversations_select",
	may("initial_conversations", ids("multi_conversations_select.initial_conversations")),
	may("default_to_current_conversation", boolean),
	may("filter", conversationFilter.check),
	actionID, confirm, focus, placeholder, maxSelected,
)

var datepicker = ofType("datepicker",
	may("initial_date", date), actionID, confirm, focus, placeholder)

var timepicker = ofType("timepicker",
	may("initial_time", clock), may("timezone", str("timepicker.timezone", 1, 0)),
	actionID, confirm, focus, placeholder)

var datetimepicker = ofType("datetimepicker",
	may("initial_date_time", integer("datetimepicker.initial_date_time", 0, -1)), actionID, confirm, focus)

var plainTextInput = ofType("plain_text_input",
	may("initial_value", str("plain_text_input.initial_value", 0, MaxInputLength)),
	may("multiline", boolean),
	may("min_length", integer("plain_text_input.min_length", 0, MaxInputLength)),
	may("max_length", integer("plain_text_input.max_length", 1, MaxInputLength)),
	actionID, focus, placeholder, dispatch,
).with(func(c *checker, p place, m map[string]any) {
	if lo, hi := rational(m["min_length"]), rational(m["max_length"]); lo != nil && hi != nil && lo.Cmp(hi) > 0 {
		c.fail(p.field("min_length"), "plain_text_input.range", nil, "min_length must not exceed max_length")
	}
})

var emailInput = ofType("email_text_input",
	may("initial_value", str("email_text_input.initial_value", 0, MaxInputLength)), actionID, focus, placeholder, dispatch)

var urlInput = ofType("url_text_input",
	may("initial_value", str("url_text_input.initial_value", 0, MaxInputLength)), actionID, focus, placeholder, dispatch)

var numberInput = ofType("number_input",
	need("is_decimal_allowed", boolean),
	may("initial_value", decimal), may("min_value", decimal), may("max_value", decimal),
	actionID, focus, placeholder, dispatch,
).with(func(c *checker, p place, m map[string]any) {
	lo, hi, at := rational(m["min_value"]), rational(m["max_value"]), rational(m["initial_value"])
	if lo != nil && hi != nil && lo.Cmp(hi) > 0 {
		c.fail(p.field("min_value"), "number_input.range", nil, "min_value must not exceed max_value")
	}
	if at != nil && (lo != nil && at.Cmp(lo) < 0 || hi != nil && at.Cmp(hi) > 0) {
		c.fail(p.field("initial_value"), "number_input.range", nil, "initial_value must be between min_value and max_value")
	}
})

var richTextInput = ofType("rich_text_input",
	may("initial_value", quietly(choose("rich_text_input.initial_value", richText, textRun).check)),
	may("min_lines", integer("rich_text_input.min_lines", 1, 100)),
	may("max_lines", integer("rich_text_input.max_lines", 1, 100)),
	actionID, focus, placeholder, dispatch,
)

var fileInput = ofType("file_input",
	may("filetypes", ids("file_input.filetypes")),
	may("max_files", integer("file_input.max_files", 1, MaxFileInputs)),
	actionID,
).only(Modal)

// imageFields are those of an image, as a block and as an element.
var imageFields = []field{
	may("image_url", str("image.image_url", 1, MaxImageURL)),
	may("slack_file", slackFile.check),
	need("alt_text", str("image.alt_text", 0, MaxImageAlt)),
}

var image = ofType("image", imageFields...).with(imageSource)

func imageSource(c *checker, p place, m map[string]any) {
	oneOf(c, p, m, "image.source", "image_url", "slack_file")
}

// choiceSource: options or option groups, and what is chosen is among them.
func choiceSource(c *checker, p place, m map[string]any) {
	oneOf(c, p, m, "static_select.choice_source", "options", "option_groups")
	initialAmongOptions(c, p, m)
}

// initialAmongOptions: Slack refuses an initial choice that isn't offered.
func initialAmongOptions(c *checker, p place, m map[string]any) {
	offered := map[string]bool{}
	collect := func(list any) {
		options, _ := list.([]any)
		for _, o := range options {
			if v, ok := optionValue(o); ok {
				offered[v] = true
			}
		}
	}
	collect(m["options"])
	if groups, ok := m["option_groups"].([]any); ok {
		for _, g := range groups {
			if g, ok := g.(map[string]any); ok {
				collect(g["options"])
			}
		}
	}
	judge := func(p place, o any) {
		if v, ok := optionValue(o); ok && !offered[v] {
			c.fail(p, "initial_option.offered", nil, "the initial option %q is not among the options", shorten(v))
		}
	}
	if o := m["initial_option"]; o != nil {
		judge(p.field("initial_option"), o)
	}
	if list, ok := m["initial_options"].([]any); ok {
		at := p.field("initial_options")
		for i, o := range list {
			judge(at.item(i), o)
		}
	}
}

func optionValue(o any) (string, bool) {
	m, _ := o.(map[string]any)
	v, ok := m["value"].(string)
	return v, ok
}

// decimal is a number in a string, as number_input has them.
func decimal(c *checker, p place, v any) {
	if s, ok := v.(string); !ok || s != "" && rational(s) == nil {
		c.fail(p, p.name+".number", "a decimal number in a string", "must be a decimal number in a string")
	}
}

func date(c *checker, p place, v any) {
	if s, ok := v.(string); !ok || !matches(s, "0000-00-00") {
		c.fail(p, p.name+".format", "YYYY-MM-DD", "must be a date in the form YYYY-MM-DD")
	}
}

func clock(c *checker, p place, v any) {
	if s, ok := v.(string); !ok || !matches(s, "00:00") {
		c.fail(p, p.name+".format", "HH:mm", "must be a time in the form HH:mm")
	}
}

// matches compares s with a pattern in which 0 stands for any digit.
func matches(s, pattern string) bool {
	if len(s) != len(pattern) {
		return false
	}
	for i := range len(s) {
		if pattern[i] == '0' && (s[i] < '0' || s[i] > '9') || pattern[i] != '0' && s[i] != pattern[i] {
			return false
		}
	}
	return true
}

var (
	selects = []*shape{staticSelect, externalSelect, usersSelect, conversationsSelect, channelsSelect,
		multiStaticSelect, multiExternalSelect, multiUsersSelect, multiConversationsSelect, multiChannelsSelect}
	actionElements = choose("actions.elements", append([]*shape{
		button, workflowButton, overflow, checkboxes, radioButtons, datepicker, timepicker, datetimepicker, richTextInput,
	}, selects...)...)
	sectionElements = choose("section.accessory", append([]*shape{
		button, workflowButton, overflow, checkboxes, radioButtons, datepicker, timepicker, image,
	}, selects...)...)
	inputElements = choose("input.element", append([]*shape{
		plainTextInput, emailInput, urlInput, numberInput, richTextInput, fileInput,
		checkboxes, radioButtons, datepicker, timepicker, datetimepicker,
	}, selects...)...)
	contextActionElements = choose("context_actions.elements", feedbackButtons, iconButton)
)
