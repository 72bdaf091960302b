package blockkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// shared is the directory with the Block Kit conformance suite and other
// corpora, which do not belong to this repository.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	dir := os.Getenv("MECHA_SHARED")
	if dir == "" {
		t.Skip("MECHA_SHARED is not set: it names the directory with the Block Kit fixtures and the text corpora")
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// home puts an element or object of the fixtures where it belongs, and says
// what the result is.
func home(t *testing.T, kind, name string, v obj) (any, Surface) {
	t.Helper()
	rich := func(parts ...any) any { return obj{"type": "rich_text", "elements": arr(parts)} }
	section := func(e any) any { return rich(obj{"type": "rich_text_section", "elements": arr{e}}) }
	switch kind {
	case "blocks":
		if v["type"] == "alert" {
			return v, Modal
		}
		return v, Message
	case "elements":
		switch v["type"] {
		case "url":
			return taskWith(obj{"sources": arr{v}}), Message
		case "image":
			return sectionWith(v), Message
		case "button", "workflow_button", "overflow":
			return actions(v), Message
		default:
			return inputOf(v), Modal
		}
	case "objects":
		switch name {
		case "confirmation_dialogue_basic.json":
			return actions(buttonWith(obj{"confirm": v})), Message
		case "conversation_filter_basic.json":
			return actions(obj{"type": "conversations_select", "filter": v}), Message
		case "dispatch_action_configuration_basic.json":
			return inputOf(obj{"type": "plain_text_input", "dispatch_action_config": v}), Modal
		case "input_parameter_basic.json":
			return actions(obj{"type": "workflow_button", "text": plain("t"), "workflow": obj{"trigger": obj{"url": "https://t", "customizable_input_parameters": arr{v}}}}), Message
		case "option_basic.json", "option_value_at_limit.json":
			return actions(selectWith(obj{"options": arr{v}})), Message
		case "option_group_basic.json":
			return actions(selectWith(obj{"option_groups": arr{v}})), Message
		case "trigger_basic.json":
			return actions(obj{"type": "workflow_button", "text": plain("t"), "workflow": obj{"trigger": v}}), Message
		case "workflow_basic.json":
			return actions(obj{"type": "workflow_button", "text": plain("t"), "workflow": v}), Message
		default:
			return obj{"type": "section", "text": v}, Message
		}
	case "rich_text":
		switch v["type"] {
		case "rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted":
			return rich(v), Message
		default:
			return section(v), Message
		}
	}
	t.Fatalf("fixture kind %q has no home here", kind)
	return nil, 0
}

func TestValidFixturesPass(t *testing.T) {
	root := shared(t, "slack", "blockkit", "fixtures", "valid")
	files, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
	if err != nil || len(files) < 90 {
		t.Fatalf("found %d fixtures (%v), want about 100", len(files), err)
	}
	for _, file := range files {
		kind, name := filepath.Base(filepath.Dir(file)), filepath.Base(file)
		t.Run(kind+"/"+name, func(t *testing.T) {
			var v obj
			readJSON(t, file, &v)
			var errs []Error
			switch kind {
			case "messages":
				errs = ValidateMessage(raw(t, v))
			case "attachments":
				errs = ValidateMessage(raw(t, obj{"attachments": arr{v}}))
			case "views":
				errs = ValidateView(raw(t, v))
			default:
				b, s := home(t, kind, name, v)
				errs = ValidateBlocks(raw(t, arr{b}), s)
			}
			for _, e := range errs {
				t.Errorf("%s: %v", e.Rule, e)
			}
		})
	}
}

func TestInvalidManifestIsCovered(t *testing.T) {
	var manifest struct {
		Cases []struct{ ID, Constraint string }
	}
	readJSON(t, shared(t, "slack", "blockkit", "fixtures", "invalid", "manifest.json"), &manifest)
	if len(manifest.Cases) < 100 {
		t.Fatalf("the manifest has %d cases", len(manifest.Cases))
	}
	have := map[string]string{}
	for _, tt := range invalid {
		have[tt.id] = tt.rule
	}
	for _, c := range manifest.Cases {
		if have[c.ID] != c.Constraint {
			t.Errorf("%s: the manifest's constraint is %s, ours %q", c.ID, c.Constraint, have[c.ID])
		}
	}
}

// TestLimitsAgree: what the table of limits says is what refuses the payloads
// of the table above, number by number.
func TestLimitsAgree(t *testing.T) {
	var limits map[string]any
	readJSON(t, shared(t, "slack", "blockkit", "limits.json"), &limits)
	numbers := map[string]float64{}
	var flatten func(string, any)
	flatten = func(name string, v any) {
		switch v := v.(type) {
		case float64:
			numbers[name[1:]] = v
		case map[string]any:
			for k, e := range v {
				flatten(name+"."+k, e)
			}
		}
	}
	flatten("", limits)
	checked := 0
	for _, tt := range invalid {
		want, ok := numbers[tt.rule]
		if !ok {
			continue
		}
		for _, e := range judge(t, tt.value, tt.where) {
			if e.Rule != tt.rule {
				continue
			}
			checked++
			var got struct{ Expected float64 }
			if err := json.Unmarshal(raw(t, e.Constraint), &got); err != nil {
				t.Fatal(err)
			}
			if got.Expected != want {
				t.Errorf("%s: ours is %v, the suite's %v", tt.rule, got.Expected, want)
			}
			break
		}
	}
	if checked < len(numbers)*9/10 {
		t.Errorf("only %d of %d numbers were compared", checked, len(numbers))
	}
}

// TestRealViewsPass reads views that SDKs post, as they came back from Slack:
// members that only Slack sets are taken off first.
func TestRealViewsPass(t *testing.T) {
	files, err := filepath.Glob(shared(t, "slack", "views", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no views (%v)", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var v obj
			readJSON(t, file, &v)
			for _, ours := range []string{"id", "app_id", "bot_id", "team_id", "root_view_id", "hash", "state"} {
				delete(v, ours)
			}
			if v["type"] == "home" {
				delete(v, "clear_on_close")
				delete(v, "notify_on_close")
			}
			for _, e := range ValidateView(raw(t, v)) {
				t.Errorf("%s: %v", e.Rule, e)
			}
		})
	}
}
