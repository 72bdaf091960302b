package localslack

import (
	"encoding/json"
	"testing"
)

func TestStatesOfElements(t *testing.T) {
	t.Parallel()
	options := `"options":[{"text":{"type":"plain_text","text":"A"},"value":"a"},{"text":{"type":"plain_text","text":"B"},"value":"b"}]`
	a := `{"text":{"type":"plain_text","text":"A"},"value":"a"}`
	b := `{"text":{"type":"plain_text","text":"B"},"value":"b"}`
	for _, tc := range []struct{ element, value, want string }{
		{`{"type":"plain_text_input"}`, `"x"`, `{"type":"plain_text_input","value":"x"}`},
		{`{"type":"plain_text_input"}`, `""`, `{"type":"plain_text_input","value":null}`},
		{`{"type":"plain_text_input","max_length":3}`, `"éééé"`, ``},
		{`{"type":"plain_text_input","min_length":3}`, `"é"`, ``},
		{`{"type":"number_input","is_decimal_allowed":false}`, `"1.5"`, ``},
		{`{"type":"number_input","is_decimal_allowed":true,"min_value":"2"}`, `"1.5"`, ``},
		{`{"type":"number_input","is_decimal_allowed":true}`, `1.5`, `{"type":"number_input","value":"1.5"}`},
		{`{"type":"email_text_input"}`, `"not one"`, ``},
		{`{"type":"url_text_input"}`, `"x.test"`, ``},
		{`{"type":"static_select",` + options + `}`, `"b"`, `{"selected_option":` + b + `,"type":"static_select"}`},
		{`{"type":"static_select",` + options + `}`, `"c"`, ``},
		{`{"type":"static_select","option_groups":[{` + options + `}]}`, `"a"`, `{"selected_option":` + a + `,"type":"static_select"}`},
		{`{"type":"checkboxes",` + options + `}`, `["a","b"]`, `{"selected_options":[` + a + `,` + b + `],"type":"checkboxes"}`},
		{`{"type":"checkboxes",` + options + `}`, `"[\"b\"]"`, `{"selected_options":[` + b + `],"type":"checkboxes"}`},
		{`{"type":"checkboxes",` + options + `}`, `[]`, `{"selected_options":[],"type":"checkboxes"}`},
		{`{"type":"multi_static_select","max_selected_items":1,` + options + `}`, `["a","b"]`, ``},
		{`{"type":"multi_users_select"}`, `["U1"]`, `{"selected_users":["U1"],"type":"multi_users_select"}`},
		{`{"type":"datepicker"}`, `"2026-01-02"`, `{"selected_date":"2026-01-02","type":"datepicker"}`},
		{`{"type":"datetimepicker"}`, `"1700000000"`, `{"selected_date_time":1700000000,"type":"datetimepicker"}`},
		{`{"type":"datetimepicker"}`, `"soon"`, ``},
	} {
		var kind struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(tc.element), &kind); err != nil {
			t.Fatal(err)
		}
		got, err := element{Type: kind.Type, raw: json.RawMessage(tc.element)}.state(json.RawMessage(tc.value))
		if (err != nil) != (tc.want == "") || err == nil && string(got) != tc.want {
			t.Errorf("%s given %s: %s %v, want %s", tc.element, tc.value, got, err, tc.want)
		}
	}
}

// FuzzForm fills in any blocks with any value: neither an app's blocks nor a
// page's values may do harm.
func FuzzForm(f *testing.F) {
	f.Add(`[{"type":"input","block_id":"b","element":{"type":"static_select","action_id":"a","options":[{"text":{},"value":"x"}]}}]`, `"x"`)
	f.Add(`[{"type":"actions","elements":[{"type":"overflow","action_id":"a"},null]},{"type":"carousel","elements":[{"type":"card","actions":[{"action_id":"q"}]}]}]`, `["x",1]`)
	f.Add(`[{"type":"section","accessory":{"type":"datetimepicker","action_id":"a","initial_date_time":"x"}}]`, `{}`)
	f.Fuzz(func(t *testing.T, blocks, value string) {
		if !json.Valid([]byte(blocks)) || !json.Valid([]byte(value)) {
			t.Skip()
		}
		with := withIDs(json.RawMessage(blocks))
		if !json.Valid(with) {
			t.Fatalf("withIDs made %q of %q", with, blocks)
		}
		if !json.Valid(encode(initialValues(with))) {
			t.Fatal("the initial values aren't JSON")
		}
		for _, e := range interactive(with) {
			state, err := e.state(json.RawMessage(value))
			if err == nil && state != nil && !json.Valid(state) {
				t.Fatalf("the state %q isn't JSON", state)
			}
			emptyState(state)
		}
	})
}
