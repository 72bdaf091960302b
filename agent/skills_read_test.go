package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readLog is the record of a test: what conversations have read.
type readLog map[string][]SkillRead

func (l readLog) SkillsRead(thread string) ([]SkillRead, error) { return l[thread], nil }

func narrowing(t *testing.T, log SkillLog) *Skills {
	t.Helper()
	dir := t.TempDir()
	for name, head := range map[string]string{"look": "tools: read_file", "mail": "allowed-tools:\n- send\n", "plain": ""} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte("---\ndescription: "+name+"\n"+head+"\n---\nbody of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, withheld, err := LoadSkills(SkillsConfig{Dir: dir}, log)
	if err != nil || len(withheld) != 0 {
		t.Fatalf("%v, %+v", err, withheld)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A skill that names tools leaves its conversation those, from the next turn on;
// skill itself stays, others together allow what any names, and a skill that
// names none lifts nothing.
func TestASkillNarrowsItsConversation(t *testing.T) {
	read, page := reader(), web()
	r := newRig(t, turns(
		calls("web_page {}"), calls(`skill {"name":"look"}`), calls("web_page {}", "read_file {}"),
		calls(`skill {"name":"plain"}`), calls("web_page {}", `send {"to":"x"}`),
		calls(`skill {"name":"mail"}`), calls(`send {"to":"x"}`), says("done")), narrowing(t, nil).Tool(), read, page, sender())
	Do(t.Context(), r.Run)
	for id, want := range map[string]CallOutcome{"c1.0": CallOK, "c3.0": CallBlocked, "c3.1": CallOK, "c5.0": CallBlocked, "c5.1": CallBlocked} {
		if res := r.result(t, id); res.Outcome != want {
			t.Errorf("%s: %+v", id, res)
		}
	}
	if res := r.result(t, "c3.0"); !strings.Contains(res.Content, "skill look allows") || !strings.Contains(res.Content, "read_file") {
		t.Errorf("%+v", res)
	}
	if res := r.result(t, "c7.0"); strings.Contains(res.Content, "not among the tools") {
		t.Errorf("two skills together: %+v", res)
	}
}

// A restart forgets neither the narrowing nor what a compaction carries.
func TestSkillsSurviveARestart(t *testing.T) {
	s := narrowing(t, readLog{"T": {{Name: "look"}, {Name: "gone"}}})
	page := web()
	r := newRig(t, turns(calls("web_page {}"), says("done")), s.Tool(), page)
	r.Thread = "T"
	Do(t.Context(), r.Run)
	if page.runs() != 0 {
		t.Error("after a restart the skill narrowed nothing")
	}
	_, text := skillTool{s}.Carry("T")
	if !strings.Contains(text, "body of look") || !strings.Contains(text, "gone/SKILL.md\n(cannot be read any more") {
		t.Error(text)
	}
	if _, text := (skillTool{s}).Carry("another"); text != "" {
		t.Errorf("another conversation carries %q", text)
	}
}
