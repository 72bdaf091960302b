package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/tools"
)

func TestSkills(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(dir, "skills", name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("report/SKILL.md", "---\ndescription: \"How reports look\"\n---\nAlways with a date.\n")
	write("report/long.md", strings.Repeat("long ", 6000))
	write("silent/SKILL.md", "no front matter")
	write("narrow/SKILL.md", "---\ndescription: d\nallowed-tools: [fs_read]\n---\n")
	write("huge/SKILL.md", "---\ndescription: d\n---\n"+strings.Repeat("x", skillFile))
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, withheld, err := LoadSkills(SkillsConfig{Dir: filepath.Join(dir, "skills")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if diff := cmp.Diff([]string{"narrow: d", "report: How reports look"}, s.Prompt()); diff != "" {
		t.Error(diff)
	}
	if len(withheld) != 2 {
		t.Errorf("%+v", withheld)
	}
	r := newRig(t, turns(calls(`skill {"name":"report"}`), calls(`skill {"name":"report","file":"long.md"}`), calls(`skill {"name":"report","file":"../../secret"}`), calls(`skill {"name":"other"}`), says("x")), s.Tool())
	Do(t.Context(), r.Run)
	for id, want := range map[string]CallOutcome{"c1.0": CallOK, "c2.0": CallOK, "c3.0": CallError, "c4.0": CallError} {
		if res := r.result(t, id); res.Outcome != want || strings.Contains(res.Content, dir) {
			t.Errorf("%s: %+v", id, res)
		}
	}
	_, text := s.Tool().(tools.Carrier).Carry("T")
	if !strings.Contains(text, "Always with a date.") || !strings.Contains(text, "long.md\n(left out") || len(text) > skillCarried {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
	some, missing, err := LoadSkills(SkillsConfig{Dir: filepath.Join(dir, "skills"), Enabled: []string{"report", "narrow", "nosuch"}, Disabled: []string{"narrow"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = some.Close() }()
	if diff := cmp.Diff([]string{"report: How reports look"}, some.Prompt()); diff != "" {
		t.Error(diff)
	}
	if len(missing) != 1 || !strings.Contains(missing[0].Name, "nosuch") {
		t.Errorf("%+v", missing)
	}
	none, _, err := LoadSkills(SkillsConfig{Dir: filepath.Join(dir, "nosuch")}, nil)
	if err != nil || none.Tool() != nil || len(none.Prompt()) != 0 {
		t.Errorf("%v", err)
	}
}
