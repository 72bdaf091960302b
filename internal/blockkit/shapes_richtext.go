package blockkit

// Rich text. docs.slack.dev/reference/block-kit/blocks/rich-text-block

var richTextStyle = (&shape{name: "rich_text_style", fields: []field{
	may("bold", boolean), may("italic", boolean), may("strike", boolean), may("code", boolean),
	may("underline", boolean), may("highlight", boolean), may("client_highlight", boolean), may("unlink", boolean),
}}).check

var (
	style  = may("style", richTextStyle)
	border = may("border", integer("rich_text.border", 0, -1))
)

// textRun is a run of text. Slack refuses an empty one.
var textRun = ofType("text", need("text", shown("rich_text.text", 1, 0)), style)

var richTextLink = ofType("link",
	need("url", str("rich_text.link.url", 1, 0)),
	may("text", shown("rich_text.link.text", 0, 0)),
	may("unsafe", boolean), style)

var richTextElements = choose("rich_text.elements",
	textRun, richTextLink,
	ofType("broadcast", need("range", enum("rich_text.broadcast.range", "here", "channel", "everyone")), style),
	ofType("color", need("value", str("rich_text.color.value", 1, 0)), style),
	ofType("channel", need("channel_id", str("rich_text.channel_id", 1, 0)), style),
	ofType("date",
		need("timestamp", integer("rich_text.date.timestamp", 0, -1)),
		need("format", str("rich_text.date.format", 1, 0)),
		may("url", str("rich_text.date.url", 0, 0)),
		may("fallback", shown("rich_text.date.fallback", 0, 0)), style),
	ofType("emoji",
		need("name", str("rich_text.emoji.name", 1, 0)),
		may("unicode", str("rich_text.emoji.unicode", 0, 0)),
		may("url", str("rich_text.emoji.url", 0, 0)),
		may("skin_tone", integer("rich_text.emoji.skin_tone", 1, 6)), style),
	ofType("team", need("team_id", str("rich_text.team_id", 1, 0)), style),
	ofType("user", need("user_id", str("rich_text.user_id", 1, 0)), style),
	ofType("usergroup", need("usergroup_id", str("rich_text.usergroup_id", 1, 0)), style),
)

var richTextSection = ofType("rich_text_section",
	need("elements", listOf("rich_text_section.elements", 0, 0, richTextElements.check)))

var richTextParts = choose("rich_text.elements",
	richTextSection,
	ofType("rich_text_quote",
		need("elements", listOf("rich_text_quote.elements", 0, 0, richTextElements.check)), border),
	ofType("rich_text_preformatted",
		need("elements", listOf("rich_text_preformatted.elements", 0, 0,
			choose("rich_text_preformatted.elements", textRun, richTextLink).check)),
		border, may("language", str("rich_text_preformatted.language", 0, 0))),
	ofType("rich_text_list",
		need("elements", listOf("rich_text_list.elements", 0, 0, choose("rich_text_list.elements", richTextSection).check)),
		need("style", enum("rich_text_list.style", "bullet", "ordered")),
		may("indent", integer("rich_text_list.indent", 0, -1)),
		may("offset", integer("rich_text_list.offset", 0, -1)),
		border),
)

var richText = block("rich_text",
	need("elements", listOf("rich_text.elements", 0, 0, richTextParts.check)))
