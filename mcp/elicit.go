package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Elicitor shows a question of a server to the owner. action is accept, decline or cancel; content is the form as
// filled in. Where nobody is there it declines. The context ends when the call in whose
// course it is asked does, or the server.
type Elicitor func(ctx context.Context, q Question) (action string, content map[string]any, err error)

// Question is what a server asks in the middle of its work.
type Question struct {
	Server  string
	Thread  string          // the conversation whose call runs
	Message string          // the server's words
	Schema  json.RawMessage // the server's words: a flat object of simple fields, without references
}

const elicitMethod = "elicitation/create"

// answerElicitations answers before the SDK does. Its own handler would hand the server's schema to
// google/jsonschema-go, where {"$ref":"#"} overflows the stack and takes the whole process along (v0.4.3).
//
// A question is declined where no call of exactly one conversation runs: there is nobody then to whom it belongs.
func answerElicitations(o sessionOptions, clocks *clocks) sdk.Middleware {
	ask := o.Elicit
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != elicitMethod {
				return next(ctx, method, req)
			}
			p, ok := req.GetParams().(*sdk.ElicitParams)
			if ask == nil || !ok || p == nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: elicitMethod + " is not supported"}
			}
			schema, err := json.Marshal(p.RequestedSchema)
			if err != nil || (p.Mode != "" && p.Mode != "form") || !flatForm(p.RequestedSchema) {
				return &sdk.ElicitResult{Action: "decline"}, nil
			}
			thread, over := o.Asking()
			if thread == "" {
				return &sdk.ElicitResult{Action: "decline"}, nil
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() { // ends with ctx
				select {
				case <-over:
					cancel()
				case <-ctx.Done():
				}
			}()
			defer clocks.hold()()
			action, content, err := ask(ctx, Question{Server: o.Server, Thread: thread, Message: p.Message, Schema: schema})
			if err != nil || (action != "accept" && action != "cancel") {
				return &sdk.ElicitResult{Action: "decline"}, nil
			}
			if action == "accept" {
				return &sdk.ElicitResult{Action: action, Content: withDefaults(p.RequestedSchema, content)}, nil
			}
			return &sdk.ElicitResult{Action: action}, nil
		}
	}
}

// refusedInForms are keywords that a form of simple fields does not need and that make a validator walk in circles.
var refusedInForms = map[string]bool{"$ref": true, "$dynamicRef": true, "$recursiveRef": true, "not": true, "if": true,
	"$defs": true, "definitions": true, "patternProperties": true, "dependentSchemas": true}

// flatForm reports whether a schema is what MCP allows here: an object of simple fields.
func flatForm(schema any) bool {
	if schema == nil {
		return true
	}
	root, ok := schema.(map[string]any)
	if !ok || holdsRefused(root, 0) {
		return false
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if _, ok := root[key]; ok {
			return false
		}
	}
	props, ok := root["properties"].(map[string]any)
	if _, there := root["properties"]; there && !ok {
		return false
	}
	for _, p := range props {
		field, ok := p.(map[string]any)
		if !ok {
			return false
		}
		if _, nested := field["properties"]; nested {
			return false
		}
	}
	return true
}

func holdsRefused(v any, depth int) bool {
	if depth > 8 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, w := range v {
			// A field may well be called "not"; only the names of fields stand one level below "properties".
			if refusedInForms[k] || (k != "default" && holdsRefusedBelow(k, w, depth)) {
				return true
			}
		}
	case []any:
		for _, w := range v {
			if holdsRefused(w, depth+1) {
				return true
			}
		}
	}
	return false
}

func holdsRefusedBelow(key string, v any, depth int) bool {
	fields, ok := v.(map[string]any)
	if key != "properties" || !ok {
		return holdsRefused(v, depth+1)
	}
	for _, f := range fields {
		if holdsRefused(f, depth+1) {
			return true
		}
	}
	return false
}

// withDefaults fills in what the form leaves open, as the schema says.
func withDefaults(schema any, content map[string]any) map[string]any {
	out := make(map[string]any, len(content))
	root, _ := schema.(map[string]any)
	props, _ := root["properties"].(map[string]any)
	for name, p := range props {
		if field, ok := p.(map[string]any); ok {
			if d, ok := field["default"]; ok {
				out[name] = d
			}
		}
	}
	for k, v := range content {
		out[k] = v
	}
	return out
}
