package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Slack's own schema judges the app manifest.
func TestManifestFitsSlacksSchema(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("MECHA_SHARED")
	if shared == "" {
		t.Skip("MECHA_SHARED is not set: Slack's manifest schema is not here")
	}
	f, err := os.Open(filepath.Join(shared, "slack", "manifest.schema.2.0.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	schema, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	dropLookahead(schema)
	c := jsonschema.NewCompiler()
	c.UseLoader(nil)
	if err := c.AddResource("manifest.json", schema); err != nil {
		t.Fatal(err)
	}
	sch, err := c.Compile("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(manifest))
	if err != nil {
		t.Fatal(err)
	}
	if err := sch.Validate(v); err != nil {
		t.Errorf("the manifest does not fit Slack's schema: %v", err)
	}
}

// dropLookahead takes out the patterns that Go's regular expressions cannot say:
// those of domains, which our manifest does not name.
func dropLookahead(v any) {
	switch v := v.(type) {
	case map[string]any:
		if p, ok := v["pattern"].(string); ok && strings.Contains(p, "(?!") {
			delete(v, "pattern")
		}
		for _, e := range v {
			dropLookahead(e)
		}
	case []any:
		for _, e := range v {
			dropLookahead(e)
		}
	}
}

func TestMissingScopes(t *testing.T) {
	t.Parallel()
	if got := missingScopes(nil); len(got) < 10 {
		t.Errorf("an app without scopes lacks only %v", got)
	}
	all := missingScopes(nil)
	if got := missingScopes(append(all, "reactions:read")); len(got) != 0 {
		t.Errorf("an app with all scopes lacks %v", got)
	}
	if got := missingScopes(all[1:]); len(got) != 1 || got[0] != all[0] {
		t.Errorf("lacks %v, want %s", got, all[0])
	}
}
