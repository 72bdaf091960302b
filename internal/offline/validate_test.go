package offline

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestValidateRefusesWhatProvidersRefuse(t *testing.T) {
	const (
		user   = `{"role":"user","content":"hi"}`
		called = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"fs_list","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"fs_read","arguments":"{\"path\":\"a\"}"}}]}`
		first  = `{"role":"tool","tool_call_id":"c1","content":"a"}`
		second = `{"role":"tool","tool_call_id":"c2","content":""}`
		done   = `{"role":"assistant","content":"done"}`
		system = `{"role":"system","content":"s"}`
	)
	in := func(messages ...string) string {
		return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
	}
	with := func(fields string) string { return `{"model":"m","messages":[` + user + `],` + fields + `}` }
	tool := func(name, schema string) string {
		return with(fmt.Sprintf(`"tools":[{"type":"function","function":{"name":%q,"parameters":%s}}]`, name, schema))
	}
	calling := func(id, name, args string) string {
		return in(user, fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, id, name, args), `{"role":"tool","tool_call_id":"`+id+`","content":"r"}`)
	}
	for name, tc := range map[string]struct {
		body string
		want string // part of the refusal; empty: accepted
	}{
		"plain":                        {in(user), ""},
		"system first":                 {in(system, user), ""},
		"two systems first":            {in(system, system, user), ""},
		"calls answered in order":      {in(user, called, first, second), ""},
		"calls answered the other way": {in(user, called, second, first, done, user), ""},
		"parts":                        {in(`{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:"}}]}`), ""},
		"tools":                        {tool("mail__mail_list", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`), ""},
		"two users":                    {in(user, user), ""},

		"no JSON":               {`{`, "could not parse"},
		"unknown field":         {with(`"chat_template":"x"`), "Unrecognized request argument"},
		"wrong type":            {`{"model":"m","messages":"x"}`, "Invalid type"},
		"no model":              {`{"messages":[` + user + `]}`, "model parameter"},
		"no messages":           {in(), "empty array"},
		"system later":          {in(user, done, system, user), "must be at the beginning"},
		"system between":        {in(system, user, system), "must be at the beginning"},
		"only system":           {in(system), "No user query"},
		"unknown role":          {in(user, `{"role":"function","name":"f","content":"x"}`), "Invalid value: 'function'"},
		"empty user":            {in(`{"role":"user","content":""}`), "non-empty"},
		"null user":             {in(`{"role":"user","content":null}`), "expected a string"},
		"null result":           {in(user, called, first, `{"role":"tool","tool_call_id":"c2","content":null}`), "expected a string"},
		"empty assistant":       {in(user, `{"role":"assistant","content":""}`, user), "content or tool_calls"},
		"empty tool_calls":      {in(user, `{"role":"assistant","content":"x","tool_calls":[]}`, user), "empty array"},
		"ends with assistant":   {in(user, done), "Expected last role"},
		"unanswered call":       {in(user, called, first, user), "did not have response messages: c2"},
		"no answers at the end": {in(user, called), "did not have response messages: c1, c2"},
		"answer without call":   {in(user, first), "must be a response to a preceeding"},
		"answer to another":     {in(user, called, first, `{"role":"tool","tool_call_id":"c9","content":""}`), "'c9' not found"},
		"answered twice":        {in(user, called, first, second, second), "must be a response to a preceeding"},
		"late answer":           {in(user, called, first, second, user, first), "must be a response to a preceeding"},
		"calls of a user":       {in(`{"role":"user","content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`), "only allowed in assistant"},
		"broken arguments":      {calling("c", "fs_read", `{"path":`), "Failed to parse tool call arguments"},
		"empty arguments":       {calling("c", "fs_read", ``), "Failed to parse tool call arguments"},
		"array arguments":       {calling("c", "fs_read", `[]`), "not a JSON object"},
		"null arguments":        {calling("c", "fs_read", `null`), "not a JSON object"},
		"dotted name":           {calling("c", "fs.read", `{}`), "does not match pattern"},
		"no id":                 {calling("", "fs_read", `{}`), "Missing required parameter"},

		"no tools":               {with(`"tools":[]`), "empty array"},
		"tool name":              {tool("a b", `{"type":"object"}`), "does not match"},
		"long tool name":         {tool(strings.Repeat("a", 65), `{"type":"object"}`), "does not match"},
		"schema without type":    {tool("f", `{"properties":{}}`), "type: \"object\""},
		"schema oneOf":           {tool("f", `{"type":"object","oneOf":[]}`), "at the top level"},
		"array without items":    {tool("f", `{"type":"object","properties":{"a":{"type":"array"}}}`), "array schema missing items"},
		"tool twice":             {with(`"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`), "unique"},
		"choice without tools":   {with(`"tool_choice":"auto"`), "only allowed when 'tools'"},
		"choice of nothing":      {with(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}`), "not found in 'tools'"},
		"options without stream": {with(`"stream_options":{"include_usage":true}`), "only allowed when 'stream'"},
		"both limits":            {with(`"max_tokens":5,"max_completion_tokens":5`), "at the same time"},
		"no room":                {with(`"max_tokens":0`), "at least 1"},
		"hot":                    {with(`"temperature":3`), "between 0 and 2"},
		"two choices":            {with(`"n":2`), "Only one completion"},
	} {
		_, bad := Validate([]byte(tc.body), Rules{})
		switch {
		case bad == nil && tc.want != "":
			t.Errorf("%s: accepted, want a refusal with %q", name, tc.want)
		case bad != nil && (tc.want == "" || !strings.Contains(bad.Message, tc.want)):
			t.Errorf("%s: %q, want %q", name, bad.Message, tc.want)
		case bad != nil && bad.Status != http.StatusBadRequest:
			t.Errorf("%s: status %d", name, bad.Status)
		}
	}
	if _, bad := Validate([]byte(in(user)), Rules{Models: []string{"other"}}); bad == nil || bad.Status != http.StatusNotFound {
		t.Errorf("unknown model: %v", bad)
	}
	if _, bad := Validate([]byte(in(user, user)), Rules{RefuseTwoUsersInARow: true}); bad == nil {
		t.Error("two users in a row were accepted by the rule against them")
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(askFiles))
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[null]},{"role":"tool","content":[{}]}],"tools":[{"function":{"parameters":{"type":"object","properties":{"a":{"items":{}}}}}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, bad := Validate(body, Rules{})
		if bad != nil {
			return
		}
		if turn := Decide(req); turn.Text == "" && len(turn.Calls) == 0 {
			t.Error("an accepted request has no answer")
		}
	})
}
