package blockkit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type obj = map[string]any
type arr = []any

func chars(n int) string { return strings.Repeat("x", n) }
func plain(s string) obj { return obj{"type": "plain_text", "text": s} }
func mrk(s string) obj   { return obj{"type": "mrkdwn", "text": s} }
func times(n int, v any) arr {
	a := arr{}
	for range n {
		a = append(a, v)
	}
	return a
}
func plus(o obj, more obj) obj {
	out := obj{}
	for k, v := range o {
		out[k] = v
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// Things to put elements and objects into.
func actions(e ...any) obj    { return obj{"type": "actions", "elements": arr(e)} }
func inputOf(e any) obj       { return obj{"type": "input", "label": plain("L"), "element": e} }
func sectionWith(acc any) obj { return obj{"type": "section", "text": plain("t"), "accessory": acc} }
func buttonWith(more obj) obj { return plus(obj{"type": "button", "text": plain("b")}, more) }
func optionWith(more obj) obj { return plus(obj{"text": plain("o"), "value": "o"}, more) }
func selectWith(more obj) obj { return plus(obj{"type": "static_select"}, more) }
func confirmWith(more obj) obj {
	return actions(buttonWith(obj{"confirm": plus(obj{"title": plain("t"), "text": plain("t"), "confirm": plain("y"), "deny": plain("n")}, more)}))
}
func cardWith(more obj) obj { return plus(obj{"type": "card", "title": mrk("t")}, more) }
func containerWith(more obj) obj {
	return plus(obj{"type": "container", "title": plain("t"), "child_blocks": arr{obj{"type": "divider"}}}, more)
}
func videoWith(more obj) obj {
	return plus(obj{"type": "video", "alt_text": "a", "title": plain("t"), "video_url": "https://v", "thumbnail_url": "https://t"}, more)
}
func feedbackWith(more obj) obj {
	ok := obj{"text": plain("g"), "value": "v"}
	return obj{"type": "context_actions", "elements": arr{obj{"type": "feedback_buttons", "positive_button": plus(ok, more), "negative_button": ok}}}
}
func cell(s string) obj { return obj{"type": "raw_text", "text": s} }
func dataTableOf(rows int, cells int, more obj) obj {
	return plus(obj{"type": "data_table", "rows": times(rows, times(cells, cell("c")))}, more)
}
func chart(c obj) obj { return obj{"type": "data_visualization", "title": "t", "chart": c} }
func pie(n int, label string, value any) obj {
	return chart(obj{"type": "pie", "segments": times(n, obj{"label": label, "value": value})})
}
func line(series any, axis obj) obj {
	return chart(obj{"type": "line", "series": series, "axis_config": plus(obj{"categories": arr{"c"}}, axis)})
}
func points(n int, label string) arr   { return times(n, obj{"label": label, "value": 1}) }
func series(name string, data arr) obj { return obj{"name": name, "data": data} }
func viewWith(more obj) obj {
	return plus(obj{"type": "modal", "title": plain("t"), "blocks": arr{obj{"type": "divider"}}}, more)
}

// invalid is one payload for each limit, by the limit's name. Blocks are
// judged where they may stand at all.
var invalid = []struct {
	id    string // of the conformance suite's manifest, or our own
	rule  string
	value any
	where Surface
}{
	{"text-empty", "text.min_length", obj{"type": "section", "text": plain("")}, Message},
	{"text-too-long", "text.max_length", obj{"type": "context", "elements": arr{mrk(chars(3001))}}, Message},
	{"button-action-id-too-long", "action_id.max_length", actions(buttonWith(obj{"action_id": chars(256)})), Message},
	{"button-text-too-long", "button.text.max_length", actions(buttonWith(obj{"text": plain(chars(76))})), Message},
	{"button-url-too-long", "button.url.max_length", actions(buttonWith(obj{"url": chars(3001)})), Message},
	{"button-value-too-long", "button.value.max_length", actions(buttonWith(obj{"value": chars(2001)})), Message},
	{"confirmation-title-too-long", "confirmation.title.max_length", confirmWith(obj{"title": plain(chars(101))}), Message},
	{"confirmation-text-too-long", "confirmation.text.max_length", confirmWith(obj{"text": plain(chars(301))}), Message},
	{"confirmation-confirm-too-long", "confirmation.confirm.max_length", confirmWith(obj{"confirm": plain(chars(31))}), Message},
	{"confirmation-deny-too-long", "confirmation.deny.max_length", confirmWith(obj{"deny": plain(chars(31))}), Message},
	{"option-text-too-long", "option.text.max_length", actions(selectWith(obj{"options": arr{optionWith(obj{"text": plain(chars(76))})}})), Message},
	{"option-value-too-long", "option.value.max_length", actions(selectWith(obj{"options": arr{optionWith(obj{"value": chars(151)})}})), Message},
	{"option-url-too-long", "option.url.max_length", actions(obj{"type": "overflow", "options": arr{optionWith(obj{"url": strings.Repeat("😀", 3001)})}}), Message},
	{"option-description-too-long", "option.description.max_length", actions(selectWith(obj{"options": arr{optionWith(obj{"description": plain(chars(76))})}})), Message},
	{"option-group-label-too-long", "option_group.label.max_length", actions(selectWith(obj{"option_groups": arr{obj{"label": plain(chars(76)), "options": arr{optionWith(nil)}}}})), Message},
	{"option-group-empty", "option_group.options.min_items", actions(selectWith(obj{"option_groups": arr{obj{"label": plain("g"), "options": arr{}}}})), Message},
	{"option-group-too-many-options", "option_group.options.max_items", actions(selectWith(obj{"option_groups": arr{obj{"label": plain("g"), "options": times(101, optionWith(nil))}}})), Message},
	{"select-placeholder-too-long", "select.placeholder.max_length", actions(selectWith(obj{"options": arr{optionWith(nil)}, "placeholder": plain(chars(151))})), Message},
	{"select-too-many-options", "select.options.max_items", actions(selectWith(obj{"options": times(101, optionWith(nil))})), Message},
	{"select-too-many-option-groups", "select.option_groups.max_items", actions(selectWith(obj{"option_groups": times(101, obj{"label": plain("g"), "options": arr{optionWith(nil)}})})), Message},
	{"overflow-empty", "overflow.options.min_items", actions(obj{"type": "overflow", "options": arr{}}), Message},
	{"overflow-too-many-options", "overflow.options.max_items", actions(obj{"type": "overflow", "options": times(6, optionWith(nil))}), Message},
	{"checkboxes-empty", "checkboxes.options.min_items", actions(obj{"type": "checkboxes", "options": arr{}}), Message},
	{"checkboxes-too-many-options", "checkboxes.options.max_items", actions(obj{"type": "checkboxes", "options": times(11, optionWith(nil))}), Message},
	{"radio-buttons-empty", "radio_buttons.options.min_items", actions(obj{"type": "radio_buttons", "options": arr{}}), Message},
	{"radio-buttons-too-many-options", "radio_buttons.options.max_items", actions(obj{"type": "radio_buttons", "options": times(11, optionWith(nil))}), Message},
	{"url-source-url-empty", "url_source.url.min_length", taskWith(obj{"sources": arr{obj{"type": "url", "url": "", "text": "t"}}}), Message},
	{"url-source-url-too-long", "url_source.url.max_length", taskWith(obj{"sources": arr{obj{"type": "url", "url": chars(3001), "text": "t"}}}), Message},
	{"table-too-many-rows", "table.rows.max_items", obj{"type": "table", "rows": times(101, arr{cell("c")})}, Message},
	{"table-ragged-rows", "table.row_shape", obj{"type": "table", "rows": arr{times(2, cell("c")), times(3, cell("c"))}}, Message},
	{"table-column-settings-mismatch", "table.column_settings", obj{"type": "table", "rows": arr{times(2, cell("c"))}, "column_settings": arr{obj{"align": "left"}}}, Message},
	{"file-input-max-files-too-small", "file_input.max_files.min", inputOf(obj{"type": "file_input", "max_files": 0}), Modal},
	{"file-input-max-files-too-large", "file_input.max_files.max", inputOf(obj{"type": "file_input", "max_files": 11}), Modal},
	{"plain-text-input-max-length-too-large", "plain_text_input.max_length.max", inputOf(obj{"type": "plain_text_input", "max_length": 3001}), Modal},
	{"actions-too-many-elements", "actions.elements.max_items", actions(times(26, buttonWith(nil))...), Message},
	{"context-too-many-elements", "context.elements.max_items", obj{"type": "context", "elements": times(11, mrk("c"))}, Message},
	{"header-text-too-long", "header.text.max_length", obj{"type": "header", "text": plain(chars(151))}, Message},
	{"image-url-too-long", "image.image_url.max_length", obj{"type": "image", "alt_text": "a", "image_url": chars(3001)}, Message},
	{"image-alt-text-too-long", "image.alt_text.max_length", obj{"type": "image", "alt_text": chars(2001), "image_url": "https://i"}, Message},
	{"input-label-too-long", "input.label.max_length", plus(inputOf(obj{"type": "plain_text_input"}), obj{"label": plain(chars(2001))}), Modal},
	{"input-hint-too-long", "input.hint.max_length", plus(inputOf(obj{"type": "plain_text_input"}), obj{"hint": plain(chars(2001))}), Modal},
	{"markdown-empty", "markdown.text.min_length", obj{"type": "markdown", "text": ""}, Message},
	{"markdown-too-long", "markdown.text.max_length", obj{"type": "markdown", "text": chars(12001)}, Message},
	{"section-text-too-long", "section.text.max_length", obj{"type": "section", "text": mrk(chars(3001))}, Message},
	{"section-too-many-fields", "section.fields.max_items", obj{"type": "section", "fields": times(11, mrk("f"))}, Message},
	{"section-field-too-long", "section.fields.item_max_length", obj{"type": "section", "fields": arr{mrk(chars(2001))}}, Message},
	{"video-alt-text-empty", "video.alt_text.min_length", videoWith(obj{"alt_text": ""}), Message},
	{"video-alt-text-too-long", "video.alt_text.max_length", videoWith(obj{"alt_text": chars(201)}), Message},
	{"video-title-too-long", "video.title.max_length", videoWith(obj{"title": plain(chars(201))}), Message},
	{"video-author-name-too-long", "video.author_name.max_length", videoWith(obj{"author_name": chars(51)}), Message},
	{"video-description-too-long", "video.description.max_length", videoWith(obj{"description": plain(chars(201))}), Message},
	{"video-provider-name-too-long", "video.provider_name.max_length", videoWith(obj{"provider_name": chars(51)}), Message},
	{"view-missing-blocks", "view.blocks.min_items", viewWith(obj{"blocks": arr{}}), Modal},
	{"view-too-many-blocks", "view.blocks.max_items", viewWith(obj{"blocks": times(101, obj{"type": "divider"})}), Modal},
	{"view-private-metadata-too-long", "view.private_metadata.max_length", viewWith(obj{"private_metadata": chars(3001)}), Modal},
	{"view-callback-id-too-long", "view.callback_id.max_length", viewWith(obj{"callback_id": chars(256)}), Modal},
	{"view-title-too-long", "view.title.max_length", viewWith(obj{"title": plain(chars(25))}), Modal},
	{"view-close-too-long", "view.close.max_length", viewWith(obj{"close": plain(chars(25))}), Modal},
	{"view-submit-too-long", "view.submit.max_length", viewWith(obj{"submit": plain(chars(25))}), Modal},
	{"section-missing-content", "section.content", obj{"type": "section"}, Message},
	{"static-select-options-and-groups", "static_select.choice_source", actions(selectWith(obj{"options": arr{optionWith(nil)}, "option_groups": arr{obj{"label": plain("g"), "options": arr{optionWith(nil)}}}})), Message},
	{"image-url-and-slack-file", "image.source", obj{"type": "image", "alt_text": "a", "image_url": "https://i", "slack_file": obj{"id": "F1"}}, Message},
	{"number-input-inverted-range", "number_input.range", inputOf(obj{"type": "number_input", "is_decimal_allowed": true, "min_value": "10", "max_value": "9.5"}), Modal},
	{"context-invalid-element", "context.elements", obj{"type": "context", "elements": arr{buttonWith(nil)}}, Message},
	{"input-invalid-element", "input.element", inputOf(buttonWith(nil)), Modal},
	{"block-id-too-long", "block_id.max_length", obj{"type": "divider", "block_id": chars(256)}, Message},
	{"button-accessibility-label-too-long", "button.accessibility_label.max_length", actions(buttonWith(obj{"accessibility_label": chars(76)})), Message},
	{"alert-text-too-long", "alert.text.max_length", obj{"type": "alert", "text": mrk(chars(201))}, Modal},
	{"card-title-too-long", "card.title.max_length", cardWith(obj{"title": mrk(chars(151))}), Message},
	{"card-subtitle-too-long", "card.subtitle.max_length", cardWith(obj{"subtitle": mrk(chars(151))}), Message},
	{"card-body-too-long", "card.body.max_length", cardWith(obj{"body": mrk(chars(201))}), Message},
	{"card-too-many-actions", "card.actions.max_items", cardWith(obj{"actions": times(4, buttonWith(nil))}), Message},
	{"card-subtext-too-long", "card.subtext.max_length", cardWith(obj{"subtext": mrk(chars(201))}), Message},
	{"carousel-empty", "carousel.elements.min_items", obj{"type": "carousel", "elements": arr{}}, Message},
	{"carousel-too-many-cards", "carousel.elements.max_items", obj{"type": "carousel", "elements": times(11, cardWith(nil))}, Message},
	{"container-title-too-long", "container.title.max_length", containerWith(obj{"title": plain(chars(151))}), Message},
	{"container-subtitle-too-long", "container.subtitle.max_length", containerWith(obj{"subtitle": mrk(chars(151))}), Message},
	{"container-too-many-child-blocks", "container.child_blocks.max_items", containerWith(obj{"child_blocks": times(11, obj{"type": "divider"})}), Message},
	{"context-actions-too-many-elements", "context_actions.elements.max_items", obj{"type": "context_actions", "elements": times(6, obj{"type": "icon_button", "icon": "trash", "text": plain("t")})}, Message},
	{"feedback-button-text-too-long", "feedback_button.text.max_length", feedbackWith(obj{"text": plain(chars(76))}), Message},
	{"feedback-button-value-too-long", "feedback_button.value.max_length", feedbackWith(obj{"value": chars(2001)}), Message},
	{"feedback-button-accessibility-label-too-long", "feedback_button.accessibility_label.max_length", feedbackWith(obj{"accessibility_label": chars(76)}), Message},
	{"icon-button-too-many-visible-users", "icon_button.visible_to_user_ids.max_items", obj{"type": "context_actions", "elements": arr{obj{"type": "icon_button", "icon": "trash", "text": plain("t"), "visible_to_user_ids": times(11, "U1")}}}, Message},
	{"data-table-too-few-rows", "data_table.rows.min_items", dataTableOf(1, 1, nil), Message},
	{"data-table-too-many-rows", "data_table.rows.max_items", dataTableOf(202, 1, nil), Message},
	{"data-table-too-few-columns", "data_table.columns.min_items", dataTableOf(2, 0, nil), Message},
	{"data-table-too-many-columns", "data_table.columns.max_items", dataTableOf(2, 21, nil), Message},
	{"data-table-page-size-too-small", "data_table.page_size.min", dataTableOf(2, 1, obj{"page_size": 0}), Message},
	{"data-table-page-size-too-large", "data_table.page_size.max", dataTableOf(2, 1, obj{"page_size": 101}), Message},
	{"data-table-cell-text-empty", "data_table.cell_text.min_length", obj{"type": "data_table", "rows": times(2, arr{cell("")})}, Message},
	{"data-table-content-too-long", "data_table.content.max_length", obj{"type": "data_table", "rows": times(2, arr{cell(chars(10001))})}, Message},
	{"data-visualization-title-too-long", "data_visualization.title.max_length", plus(pie(1, "l", 1), obj{"title": chars(51)}), Message},
	{"pie-chart-empty", "data_visualization.segments.min_items", chart(obj{"type": "pie", "segments": arr{}}), Message},
	{"pie-chart-too-many-segments", "data_visualization.segments.max_items", pie(13, "l", 1), Message},
	{"chart-segment-label-too-long", "data_visualization.segment.label.max_length", pie(1, chars(21), 1), Message},
	{"chart-segment-value-not-positive", "data_visualization.segment.value.exclusive_min", pie(1, "l", 0), Message},
	{"chart-series-empty", "data_visualization.series.min_items", line(arr{}, nil), Message},
	{"chart-too-many-series", "data_visualization.series.max_items", line(times(13, series("s", points(1, "p"))), nil), Message},
	{"data-series-name-too-long", "data_visualization.series_name.max_length", line(arr{series(chars(21), points(1, "p"))}, nil), Message},
	{"data-series-empty", "data_visualization.data.min_items", line(arr{series("s", arr{})}, nil), Message},
	{"data-series-too-many-points", "data_visualization.data.max_items", line(arr{series("s", points(21, "p"))}, nil), Message},
	{"data-point-label-too-long", "data_visualization.point_label.max_length", line(arr{series("s", points(1, chars(21)))}, nil), Message},
	{"axis-categories-empty", "data_visualization.categories.min_items", line(arr{series("s", points(1, "p"))}, obj{"categories": arr{}}), Message},
	{"axis-too-many-categories", "data_visualization.categories.max_items", line(arr{series("s", points(1, "p"))}, obj{"categories": times(21, "c")}), Message},
	{"axis-category-label-too-long", "data_visualization.category_label.max_length", line(arr{series("s", points(1, "p"))}, obj{"categories": arr{chars(21)}}), Message},
	{"axis-label-too-long", "data_visualization.axis_label.max_length", line(arr{series("s", points(1, "p"))}, obj{"y_label": chars(51)}), Message},

	{"unknown block", "block.type", obj{"type": "hologram"}, Message},
	{"block without a type", "block.type", obj{"text": "x"}, Message},
	{"unknown element", "actions.elements", actions(obj{"type": "slider"}), Message},
	{"unknown member", "section.additional_property", obj{"type": "section", "text": plain("t"), "colour": "red"}, Message},
	{"emoji on mrkdwn", "mrkdwn.additional_property", obj{"type": "section", "text": plus(mrk("t"), obj{"emoji": true})}, Message},
	{"mrkdwn header", "header.text", obj{"type": "header", "text": mrk("t")}, Message},
	{"mrkdwn select option", "option.text", actions(selectWith(obj{"options": arr{optionWith(obj{"text": mrk("t")})}})), Message},
	{"button without text", "button.text.required", actions(obj{"type": "button"}), Message},
	{"button of an unknown style", "button.style.enum", actions(buttonWith(obj{"style": "warning"})), Message},
	{"action ids collide", "action_id.unique", actions(buttonWith(obj{"action_id": "a"}), buttonWith(obj{"action_id": "a"})), Message},
	{"chosen option not offered", "initial_option.offered", actions(selectWith(obj{"options": arr{optionWith(nil)}, "initial_option": optionWith(obj{"value": "other"})})), Message},
	{"chosen boxes not offered", "initial_option.offered", actions(obj{"type": "checkboxes", "options": arr{optionWith(nil)}, "initial_options": arr{optionWith(obj{"value": "other"})}}), Message},
	{"empty rich text run", "rich_text.text.min_length", richTextOf(""), Message},
	{"user inside preformatted", "rich_text_preformatted.elements", obj{"type": "rich_text", "elements": arr{obj{"type": "rich_text_preformatted", "elements": arr{obj{"type": "user", "user_id": "U1"}}}}}, Message},
	{"empty cell", "table.cell_text.min_length", obj{"type": "table", "rows": arr{arr{cell("")}}}, Message},
	{"too many columns", "table.columns.max_items", obj{"type": "table", "rows": arr{times(21, cell("c"))}}, Message},
	{"initial value too long", "plain_text_input.initial_value.max_length", inputOf(obj{"type": "plain_text_input", "initial_value": chars(3001)}), Modal},
	{"number that is none", "initial_value.number", inputOf(obj{"type": "number_input", "is_decimal_allowed": true, "initial_value": "1e999999999"}), Modal},
	{"number out of range", "number_input.range", inputOf(obj{"type": "number_input", "is_decimal_allowed": true, "initial_value": "5", "max_value": "4"}), Modal},
	{"date of another form", "initial_date.format", actions(obj{"type": "datepicker", "initial_date": "1.1.1970"}), Message},
	{"nested container", "container.child_blocks", containerWith(obj{"child_blocks": arr{containerWith(nil)}}), Message},
	{"alert in a message", "alert.surface", obj{"type": "alert", "text": mrk("t")}, Message},
	{"markdown in a modal", "markdown.surface", obj{"type": "markdown", "text": "t"}, Modal},
	{"file input in a message", "file_input.surface", inputOf(obj{"type": "file_input"}), Message},
	{"task of an unknown status", "task_card.status.enum", taskWith(obj{"status": "done"}), Message},
}

func taskWith(more obj) obj {
	return plus(obj{"type": "task_card", "task_id": "t", "title": "t", "status": "pending"}, more)
}

func richTextOf(s string) obj {
	return obj{"type": "rich_text", "elements": arr{obj{"type": "rich_text_section", "elements": arr{obj{"type": "text", "text": s}}}}}
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// judge validates a block, or a view, as the tables have them.
func judge(t *testing.T, v any, s Surface) []Error {
	t.Helper()
	if typeOf(v) == "modal" || typeOf(v) == "home" {
		return ValidateView(raw(t, v))
	}
	return ValidateBlocks(raw(t, arr{v}), s)
}

func rules(errs []Error) (out []string) {
	for _, e := range errs {
		out = append(out, e.Rule)
	}
	return out
}

func TestEachLimitIsRefused(t *testing.T) {
	for _, tt := range invalid {
		t.Run(tt.id, func(t *testing.T) {
			errs := judge(t, tt.value, tt.where)
			found := false
			for _, e := range errs {
				found = found || e.Rule == tt.rule
				if e.Code == "" || e.Message == "" {
					t.Errorf("error without code or message: %+v", e)
				}
			}
			if !found {
				t.Errorf("got %v, want one of %s", rules(errs), tt.rule)
			}
		})
	}
}

func TestErrorHasSlacksShape(t *testing.T) {
	errs := ValidateBlocks(json.RawMessage(`[{"type":"section","text":{"type":"invalid","text":"hi"}}]`), Message)
	got, err := json.Marshal(errs)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"code":"failed_constraint","message":"unsupported type: invalid","field":"type","pointer":"/0/text/type",` +
		`"constraint":{"type":"enum","expected":["plain_text","mrkdwn"]}}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestMessages(t *testing.T) {
	divider := obj{"type": "divider"}
	sections := func(n, each int) arr { return times(n, obj{"type": "section", "text": mrk(chars(each))}) }
	for _, tt := range []struct {
		name string
		msg  any
		want []string // rules
		code string   // of the method
	}{
		{"text only", obj{"text": "hi"}, nil, ""},
		{"other arguments pass", obj{"text": "hi", "channel": "C1", "thread_ts": "1.2", "unfurl_links": false}, nil, ""},
		{"nothing to show", obj{"channel": "C1"}, []string{"message.content"}, "no_text"},
		{"fifty blocks", obj{"blocks": times(50, divider)}, nil, ""},
		{"fifty-one blocks", obj{"blocks": times(51, divider)}, []string{"message.blocks.max_items"}, "invalid_blocks"},
		{"twelve thousand characters", obj{"blocks": sections(4, 3000)}, nil, ""},
		{"one more", obj{"blocks": append(sections(4, 3000), sections(1, 1)...)}, []string{"message.max_length"}, "msg_blocks_too_long"},
		{"rich text counts", obj{"blocks": times(5, richTextOf(chars(2500)))}, []string{"message.max_length"}, "msg_blocks_too_long"},
		{"options do not count", obj{"blocks": times(2, actions(selectWith(obj{"options": times(100, optionWith(obj{"text": plain(chars(75))}))})))}, nil, ""},
		{"attachments count", obj{"blocks": sections(3, 3000), "attachments": arr{obj{"blocks": sections(2, 3000)}}}, []string{"message.max_length"}, "msg_blocks_too_long"},
		{"markdown blocks sum", obj{"blocks": times(2, obj{"type": "markdown", "text": chars(6001)})}, []string{"markdown.total.max_length", "message.max_length"}, "msg_blocks_too_long"},
		{"a second table", obj{"blocks": times(2, obj{"type": "table", "rows": arr{arr{cell("c")}}})}, []string{"message.tables.max_items"}, "invalid_blocks"},
		{"table text sum", obj{"blocks": arr{obj{"type": "table", "rows": times(11, arr{cell(chars(1000))})}}}, []string{"table.total.max_length"}, "invalid_blocks"},
		{"the same block id twice", obj{"blocks": times(2, obj{"type": "divider", "block_id": "a"})}, []string{"block_id.unique"}, "invalid_blocks"},
		{"the same block id in an attachment", obj{"blocks": arr{obj{"type": "divider", "block_id": "a"}}, "attachments": arr{obj{"blocks": arr{obj{"type": "divider", "block_id": "a"}}}}}, nil, ""},
		{"response_url bodies are looser", obj{"response_type": "ephemeral", "metadata": obj{"any": "thing"}, "blocks": times(2, obj{"type": "divider", "block_id": "a"})}, nil, ""},
		{"delete needs nothing", obj{"delete_original": true}, nil, ""},
		{"many attachments", obj{"attachments": times(101, obj{"text": "a"})}, []string{"attachments.max_items"}, "too_many_attachments"},
		{"metadata", obj{"text": "t", "metadata": obj{"event_type": "e", "event_payload": obj{"id": "1"}}}, nil, ""},
		{"metadata without type", obj{"text": "t", "metadata": obj{"event_payload": obj{}}}, []string{"metadata.format"}, "invalid_metadata_format"},
		{"metadata too large", obj{"text": "t", "metadata": obj{"event_type": "e", "event_payload": obj{"x": chars(MaxMetadataBytes)}}}, []string{"metadata.max_bytes"}, "metadata_too_large"},
		{"blocks that are no array", obj{"blocks": "[]"}, []string{"blocks.array", "message.content"}, "invalid_blocks_format"},
		{"blocks of no objects", obj{"blocks": arr{1, nil, "x", arr{}}}, []string{"block.type", "block.type", "block.type", "block.type"}, "invalid_blocks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := ValidateMessage(raw(t, tt.msg))
			if diff := cmp.Diff(tt.want, rules(errs)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if got := MethodError(errs, "invalid_blocks"); got != tt.code {
				t.Errorf("method error %q, want %q", got, tt.code)
			}
		})
	}
}

func TestViews(t *testing.T) {
	for _, tt := range []struct {
		name string
		view any
		want []string
	}{
		{"modal", viewWith(nil), nil},
		{"home", obj{"type": "home", "blocks": arr{}}, nil},
		{"home with a title", obj{"type": "home", "blocks": arr{}, "title": plain("t")}, []string{"view.additional_property"}},
		{"no type", obj{"blocks": arr{}}, []string{"view.type"}},
		{"no title", obj{"type": "modal", "blocks": arr{obj{"type": "divider"}}}, []string{"view.title.required"}},
		{"no blocks", obj{"type": "modal", "title": plain("t")}, []string{"view.blocks.required"}},
		{"input without submit", viewWith(obj{"blocks": arr{inputOf(obj{"type": "plain_text_input"})}}), []string{"view.submit.required"}},
		{"input with submit", viewWith(obj{"submit": plain("ok"), "blocks": arr{inputOf(obj{"type": "plain_text_input"})}}), nil},
		{"long text is fine in a view", viewWith(obj{"blocks": times(20, obj{"type": "section", "text": plain(chars(3000))})}), nil},
		{"250 KB", viewWith(obj{"blocks": times(90, obj{"type": "section", "text": plain(chars(3000))})}), []string{"view.max_bytes"}},
		{"a read-only member sent back", viewWith(obj{"hash": "1.2"}), []string{"view.additional_property"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rules(ValidateView(raw(t, tt.view)))); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChunks(t *testing.T) {
	task := obj{"type": "task_update", "id": "1", "title": "t", "status": "pending"}
	for _, tt := range []struct {
		name   string
		chunks any
		want   []string
	}{
		{"each kind", arr{obj{"type": "markdown_text", "text": "hi"}, task, obj{"type": "plan_update", "title": "p"}, obj{"type": "blocks", "blocks": arr{obj{"type": "divider"}}}}, nil},
		{"unknown", arr{obj{"type": "audio"}}, []string{"chunk.type"}},
		{"long title", arr{plus(task, obj{"title": chars(257)})}, []string{"task_update.title.max_length"}},
		{"no array", obj{}, []string{"chunks.type"}},
		{"too much text", times(2, obj{"type": "markdown_text", "text": chars(6001)}), []string{"markdown.total.max_length"}},
		{"a block inside is judged", arr{obj{"type": "blocks", "blocks": arr{obj{"type": "alert", "text": mrk("t")}}}}, []string{"alert.surface"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rules(ValidateChunks(raw(t, tt.chunks)))); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostileJSON(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100000) + "1" + strings.Repeat("}", 100000)
	for name, in := range map[string]string{
		"empty": "", "truncated": `[{"type":`, "two values": `[] []`, "not JSON": "blocks",
		"deep arrays": strings.Repeat("[", 500000), "deep objects": deep,
		"brackets in strings are not depth": `["` + strings.Repeat("[", 100) + `\"[", ` + strings.Repeat("[", 60),
		"huge":                              `["` + strings.Repeat("x", maxPayloadBytes) + `"]`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, errs := range [][]Error{
				ValidateBlocks(json.RawMessage(in), Message), ValidateMessage(json.RawMessage(in)), ValidateView(json.RawMessage(in)),
			} {
				if len(errs) != 1 {
					t.Fatalf("got %d errors, want 1: %v", len(errs), errs)
				}
			}
		})
	}
	many := ValidateBlocks(raw(t, times(5000, obj{"type": "x"})), Message)
	if len(many) > maxErrors {
		t.Errorf("%d errors reported, at most %d are wanted", len(many), maxErrors)
	}
}

func TestPointersEscape(t *testing.T) {
	errs := ValidateBlocks(json.RawMessage(`[{"type":"divider","a/b~c":1,"":2}]`), Message)
	var got []string
	for _, e := range errs {
		got = append(got, e.Pointer)
	}
	if diff := cmp.Diff([]string{"/0/", "/0/a~1b~0c"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzValidate(f *testing.F) {
	for _, tt := range invalid {
		b, err := json.Marshal(arr{tt.value})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		b, _ = json.Marshal(obj{"text": "t", "blocks": arr{tt.value}, "attachments": arr{obj{"blocks": arr{tt.value}}}})
		f.Add(b)
	}
	f.Add([]byte(`{"type":"modal","title":{"type":"plain_text","text":"t"},"blocks":[null]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, s := range []Surface{Message, Modal, Home, StreamChunk, Anywhere} {
			for _, e := range ValidateBlocks(in, s) {
				if e.Code == "" || e.Message == "" || e.Rule == "" {
					t.Fatalf("incomplete error %+v", e)
				}
			}
		}
		ValidateMessage(in)
		ValidateView(in)
		ValidateChunks(in)
	})
}
