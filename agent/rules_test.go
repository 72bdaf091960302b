package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func rulesOf(t *testing.T, text string, strict bool) (Rules, []RuleConfig, error) {
	t.Helper()
	var c struct {
		Rule []RuleConfig `toml:"rule"`
	}
	if _, err := toml.Decode(text, &c); err != nil {
		t.Fatal(err)
	}
	r, err := NewRules(c.Rule, strict)
	return r, c.Rule, err
}

const someRules = `
[[rule]]
tool = "shell"
pattern = ["git", ["status", "log", "diff"]]
decision = "allow"
match = ["git status", "git log --oneline"]
not_match = ["git push", "git log > x", "./git status"]

[[rule]]
tool = "shell"
pattern = ["ls"]
decision = "allow"
match = ["ls -l"]

[[rule]]
tool = "shell"
pattern = ["git", "push"]
decision = "prompt"
match = ["git push origin main", "cd x && git push"]
justification = "others see it"

[[rule]]
tool = "shell"
pattern = [["rm", "shred"]]
decision = "forbid"
match = ["rm -rf x", "/bin/rm x"]
justification = "use the trash"

[[rule]]
tool = "mail__send"
decision = "prompt"
`

func TestRules(t *testing.T) {
	r, list, err := rulesOf(t, someRules, true)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"git status":                           RuleAllow,
		"git status && ls":                     RuleAllow,
		"git log | ls":                         RuleAllow,
		"git status 2>/dev/null":               RuleAllow,
		"git  'status'":                        RuleAllow,
		"git status; make":                     "", // one segment that nobody spoke of
		"git status > ~/.bashrc":               "",
		"git status &":                         "",
		"PATH=. git status":                    "",
		"git $(echo status)":                   "",
		"git status `id`":                      "",
		"./git status":                         "",
		"/tmp/git status":                      "",
		"git":                                  "",
		"git push":                             RulePrompt,
		"git status && git push":               RulePrompt,
		"/usr/bin/git push":                    RulePrompt,
		"g''it push":                           RulePrompt,
		`g\it push`:                            RulePrompt,
		"sudo git push":                        RulePrompt,
		"echo $(git push)":                     RulePrompt,
		"for i in 1; do git push; done":        RulePrompt,
		"{git,push}":                           RulePrompt, // not certain: searched for the words
		"rm x":                                 RuleForbid,
		"git status; rm x":                     RuleForbid,
		"git push; /bin/rm x":                  RuleForbid,
		"timeout 5 rm x":                       RuleForbid,
		"env A=b rm x":                         RuleForbid,
		"find . | xargs rm":                    RuleForbid,
		"if true; then rm x; fi":               RuleForbid,
		"echo 'unclosed; rm x":                 RuleForbid,
		"f() { rm x; }":                        RuleForbid,
		"python3 -c 'import os'":               RulePrompt,
		"python3.12 -c 'x'":                    RulePrompt,
		"bash -lc 'x'":                         RulePrompt,
		"curl x | sh":                          RulePrompt,
		"python3 script.py -c":                 "",
		"find . -exec touch {} +":              RulePrompt,
		"eval x":                               RulePrompt,
		"awk 'BEGIN{system(\"id\")}'":          RulePrompt,
		"echo rm":                              "", // a word, not a command
		"":                                     "",
		strings.Repeat("x", maxCommand) + "; ": "",
	} {
		args, _ := json.Marshal(map[string]string{"command": command})
		if got := r.Judge("shell", args); got.Decision != want {
			t.Errorf("%.60q: %q (%s), want %q", command, got.Decision, got.Why, want)
		}
	}
	if v := r.Judge("shell", json.RawMessage(`{"command":"rm x"}`)); v.Why != "use the trash" {
		t.Errorf("%+v", v)
	}
	if v := r.Judge("mail__send", json.RawMessage(`{"to":"x"}`)); v.Decision != RulePrompt {
		t.Errorf("%+v", v)
	}
	if v := r.Judge("other", json.RawMessage(`{"to":"rm"}`)); v.Decision != "" {
		t.Errorf("%+v", v)
	}
	if err := CheckRouted(list, func(tool string) bool { return tool == "mail__send" }); err == nil {
		t.Error("a prompt rule on a routed tool passes")
	}
	lax, _, err := rulesOf(t, someRules, false)
	if err != nil {
		t.Fatal(err)
	}
	if v := lax.Judge("shell", json.RawMessage(`{"command":"python3 -c x"}`)); v.Decision != "" {
		t.Errorf("%+v", v)
	}
}

func TestRulesAreCheckedAtLoad(t *testing.T) {
	for says, text := range map[string]string{
		"decision is allow":         `[[rule]]` + "\n" + `tool = "x"` + "\n" + `decision = "deny"`,
		"tool is missing":           `[[rule]]` + "\n" + `decision = "forbid"`,
		"match is missing":          `[[rule]]` + "\n" + `tool = "x"` + "\n" + `decision = "allow"`,
		"does not match":            `[[rule]]` + "\n" + `tool = "shell"` + "\n" + `pattern = ["git"]` + "\n" + `decision = "allow"` + "\n" + `match = ["git x > y"]`,
		`"git x" in not_match does`: `[[rule]]` + "\n" + `tool = "shell"` + "\n" + `pattern = ["git"]` + "\n" + `decision = "forbid"` + "\n" + `match = ["git y"]` + "\n" + `not_match = ["git x"]`,
		"pattern has an empty word": `[[rule]]` + "\n" + `tool = "shell"` + "\n" + `pattern = [""]` + "\n" + `decision = "forbid"` + "\n" + `match = ["git y"]`,
	} {
		if _, _, err := rulesOf(t, text, true); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

func TestSplitCommand(t *testing.T) {
	got := splitCommand(`cd "a b" && sudo -u x make 'c d' | tee $(mktemp) 2>&1`)
	want := [][]string{{"cd", "a b"}, {"sudo", "-u", "x", "make", "c d"}, {"x", "make", "c d"}, {"tee", ""}, {"mktemp"}}
	if diff := cmp.Diff(want, got.segments); diff != "" || got.certain {
		t.Errorf("certain %v\n%s", got.certain, diff)
	}
}

// Nothing that the splitter is not sure of is ever allowed, and nothing breaks it.
func FuzzSplitCommand(f *testing.F) {
	for _, s := range []string{"git status", "git status; rm x", "a=$(b) c", "<<E\n$(x)\nE", "\x00", "${x[@]}", "$((1))", "a | b && c || ! d"} {
		f.Add(s)
	}
	r, err := NewRules([]RuleConfig{
		{Tool: "shell", Pattern: RulePattern{{"git"}, {"status"}}, Decision: RuleAllow, Match: []string{"git status"}},
		{Tool: "shell", Pattern: RulePattern{{"rm"}}, Decision: RuleForbid, Match: []string{"rm x"}},
	}, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args, _ := json.Marshal(map[string]string{"command": s})
		if r.Judge("shell", args).Decision != RuleAllow {
			return
		}
		if strings.ContainsAny(s, "$`\\") && !strings.Contains(s, "'") || strings.ContainsRune(s, 0) {
			t.Errorf("allowed %q", s)
		}
		if !strings.Contains(s, "git") && !strings.ContainsAny(s, `'"`) {
			t.Errorf("allowed %q", s)
		}
	})
}
