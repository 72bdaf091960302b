package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Rules says how strict Validate is where providers differ.
type Rules struct {
	Models               []string // nil: any
	RefuseTwoUsersInARow bool
}

// Validate reads a request and refuses what some real provider refuses, with
// that provider's words where they are known. A client whose every request
// passes here is one that needs no per-provider repair.
func Validate(body []byte, rules Rules) (Request, *apiError) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return Request{}, invalid("", "We could not parse the JSON body of your request: %v", err)
	}
	for name := range fields {
		if !slices.Contains(requestFields, name) {
			return Request{}, invalid(name, "Unrecognized request argument supplied: %s", name)
		}
	}
	var req Request
	if err := json.Unmarshal(body, &req); err != nil {
		return req, invalid("", "Invalid type in the request: %v", err)
	}
	for _, check := range []func() *apiError{
		func() *apiError { return checkParameters(req, fields, rules) },
		func() *apiError { return checkTools(req, fields) },
		func() *apiError { return checkMessages(body, req.Messages, rules) },
		func() *apiError { return checkCalls(req.Messages) },
	} {
		if e := check(); e != nil {
			return req, e
		}
	}
	return req, nil
}

// requestFields are the arguments of chat completions that exist; a strict
// provider refuses any other.
var requestFields = strings.Fields(`model messages tools tool_choice stream stream_options max_tokens max_completion_tokens
	temperature top_p n stop presence_penalty frequency_penalty logit_bias logprobs top_logprobs user seed response_format
	parallel_tool_calls reasoning_effort metadata store service_tier prediction modalities audio verbosity safety_identifier
	prompt_cache_key prompt_cache_retention web_search_options functions function_call`)

func checkParameters(req Request, fields map[string]json.RawMessage, rules Rules) *apiError {
	switch {
	case req.Model == "":
		return invalid("model", "you must provide a model parameter")
	case rules.Models != nil && !slices.Contains(rules.Models, req.Model):
		return unknownModel(req.Model)
	case req.StreamOptions != nil && !req.Stream:
		return invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case req.MaxTokens != nil && req.MaxCompletionTokens != nil:
		return invalid("max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case req.MaxTokens != nil && *req.MaxTokens < 1:
		return invalid("max_tokens", "max_tokens must be at least 1, got %d", *req.MaxTokens)
	case req.MaxCompletionTokens != nil && *req.MaxCompletionTokens < 1:
		return invalid("max_completion_tokens", "max_completion_tokens must be at least 1, got %d", *req.MaxCompletionTokens)
	case req.Temperature != nil && (*req.Temperature < 0 || *req.Temperature > 2):
		return invalid("temperature", "temperature must be between 0 and 2, got %g", *req.Temperature)
	case req.N != nil && *req.N != 1:
		return invalid("n", "Only one completion choice is allowed")
	case fields["functions"] != nil || fields["function_call"] != nil:
		return invalid("functions", "'functions' is no longer supported; use 'tools'.")
	}
	return nil
}

var functionName = rx(`^[a-zA-Z0-9_-]{1,64}$`)

func checkTools(req Request, fields map[string]json.RawMessage) *apiError {
	if raw := fields["tools"]; raw != nil && len(req.Tools) == 0 {
		return invalid("tools", "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	if len(req.Tools) > 128 {
		return invalid("tools", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got %d.", len(req.Tools))
	}
	seen := map[string]bool{}
	for i, t := range req.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type != "function":
			return invalid(at+".type", "Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		case !functionName.MatchString(t.Function.Name):
			return invalid(at+".function.name", "Invalid '%s.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]{1,64}$'.", at)
		case seen[t.Function.Name]:
			return invalid(at+".function.name", "Tool names must be unique: '%s' appears twice.", t.Function.Name)
		}
		seen[t.Function.Name] = true
		if len(t.Function.Parameters) > 0 {
			if why := badSchema(t.Function.Parameters); why != "" {
				return invalid(at+".function.parameters", "Invalid schema for function '%s': %s", t.Function.Name, why)
			}
		}
	}
	return checkToolChoice(req, seen)
}

func checkToolChoice(req Request, offered map[string]bool) *apiError {
	if len(req.ToolChoice) == 0 {
		return nil
	}
	if len(req.Tools) == 0 {
		return invalid("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
	}
	var word string
	if json.Unmarshal(req.ToolChoice, &word) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, word) {
			return invalid("tool_choice", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", word)
		}
		return nil
	}
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(req.ToolChoice, &named) != nil || named.Type != "function" || !offered[named.Function.Name] {
		return invalid("tool_choice", "Tool choice '%s' not found in 'tools' parameter.", named.Function.Name)
	}
	return nil
}

// badSchema says what a strict provider would object to in a tool's
// parameters; it follows the schema a bounded way down.
func badSchema(raw json.RawMessage) string {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return "schema must be a JSON object"
	}
	if root["type"] != "object" {
		return fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%v\"'.", root["type"])
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if _, ok := root[key]; ok {
			return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
		}
	}
	return badArray(root, nil, 0)
}

func badArray(schema map[string]any, path []string, depth int) string {
	if depth > 32 {
		return "schema is nested too deeply."
	}
	if _, ok := schema["items"]; schema["type"] == "array" && !ok {
		return fmt.Sprintf("In context=%q, array schema missing items.", path)
	}
	for _, key := range sortedKeys(schema) {
		child, ok := schema[key].(map[string]any)
		if !ok {
			continue
		}
		if key == "properties" || key == "$defs" {
			for _, name := range sortedKeys(child) {
				if p, ok := child[name].(map[string]any); ok {
					if why := badArray(p, append(slices.Clone(path), key, name), depth+1); why != "" {
						return why
					}
				}
			}
			continue
		}
		if why := badArray(child, append(slices.Clone(path), key), depth+1); why != "" {
			return why
		}
	}
	return ""
}

// checkMessages looks at each message by itself and at the order of roles.
func checkMessages(body []byte, messages []Message, rules Rules) *apiError {
	if len(messages) == 0 {
		return invalid("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	var raw struct {
		Messages []map[string]json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return invalid("messages", "Invalid 'messages': %v", err)
	}
	preamble := true
	for i, m := range messages {
		at := fmt.Sprintf("messages.[%d]", i)
		switch m.Role {
		case "system", "developer":
			if !preamble {
				return invalid(at+".role", "System message must be at the beginning.")
			}
		case "user", "assistant", "tool":
			preamble = false
		default:
			return invalid(at+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", m.Role)
		}
		if m.Role != "assistant" && !m.Content.Set {
			return invalid(at+".content", "Invalid value for 'content': expected a string, got null.")
		}
		if m.Role == "user" && m.Content.Text == "" && len(m.Content.Parts) == 0 {
			return invalid(at+".content", "user messages must have non-empty content")
		}
		for _, p := range m.Content.Parts {
			if p.Type != "text" && (m.Role != "user" || !slices.Contains([]string{"image_url", "input_audio", "file"}, p.Type)) {
				return invalid(at+".content", "Invalid value: '%s' is not a content part that a %s message may have.", p.Type, m.Role)
			}
		}
		if calls, ok := raw.Messages[i]["tool_calls"]; ok && len(m.ToolCalls) == 0 && !bytes.Equal(calls, []byte("null")) {
			return invalid(at+".tool_calls", "Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
		}
		if m.Role != "assistant" && len(m.ToolCalls) > 0 {
			return invalid(at+".tool_calls", "'tool_calls' is only allowed in assistant messages.")
		}
		if m.Role == "assistant" && len(m.ToolCalls) == 0 && m.Content.Text == "" {
			return invalid(at+".content", "An assistant message must have content or tool_calls.")
		}
		if rules.RefuseTwoUsersInARow && i > 0 && m.Role == "user" && messages[i-1].Role == "user" {
			return invalid(at+".role", "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...")
		}
	}
	if !slices.ContainsFunc(messages, func(m Message) bool { return m.Role == "user" }) {
		return invalid("messages", "No user query found in messages.")
	}
	if last := messages[len(messages)-1]; last.Role == "assistant" && len(last.ToolCalls) == 0 {
		return invalid("messages", "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	}
	return nil
}

// checkCalls holds calls and results together: every call is answered once,
// at once, and nothing else is.
func checkCalls(messages []Message) *apiError {
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == "tool" {
			return invalid(fmt.Sprintf("messages.[%d].role", i), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
		}
		if len(m.ToolCalls) == 0 {
			continue
		}
		open := map[string]bool{}
		for j, c := range m.ToolCalls {
			at := fmt.Sprintf("messages.[%d].tool_calls.[%d]", i, j)
			switch {
			case c.ID == "":
				return invalid(at+".id", "Missing required parameter: '%s.id'.", at)
			case open[c.ID]:
				return invalid(at+".id", "Duplicate value for 'tool_call_id' of '%s' in message[%d]", c.ID, i)
			case c.Type != "function":
				return invalid(at+".type", "Invalid value: '%s'. Supported values are: 'function'.", c.Type)
			case !functionName.MatchString(c.Function.Name):
				return invalid(at+".function.name", "Invalid '%s.function.name': string does not match pattern '^[a-zA-Z0-9_-]{1,64}$'.", at)
			}
			var args map[string]json.RawMessage
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil || args == nil {
				return invalid(at+".function.arguments", "Failed to parse tool call arguments as JSON: %q is not a JSON object", c.Function.Arguments)
			}
			open[c.ID] = true
		}
		for ; len(open) > 0 && i+1 < len(messages) && messages[i+1].Role == "tool"; i++ {
			id := messages[i+1].ToolCallID
			if !open[id] {
				return invalid(fmt.Sprintf("messages.[%d].tool_call_id", i+1), "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", id)
			}
			delete(open, id)
		}
		if len(open) > 0 {
			return invalid(fmt.Sprintf("messages.[%d].role", i+1), "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(sortedKeys(open), ", "))
		}
	}
	return nil
}

func invalid(param, format string, args ...any) *apiError {
	e := &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: fmt.Sprintf(format, args...)}
	if param != "" {
		e.Param = &param
	}
	return e
}

func unknownModel(name string) *apiError {
	code := "model_not_found"
	return &apiError{Status: http.StatusNotFound, Type: "invalid_request_error", Code: &code,
		Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", name)}
}

func overflow(window, got int) *apiError {
	code := "context_length_exceeded"
	e := invalid("messages", "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, got)
	e.Code = &code
	return e
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
