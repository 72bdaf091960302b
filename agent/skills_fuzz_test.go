package agent

import (
	"strings"
	"testing"
)

// FuzzDescribeSkill: a skill's front matter gives one bounded line, or a reason.
func FuzzDescribeSkill(f *testing.F) {
	f.Add("---\nname: x\ndescription: \"does x\"\n---\nbody")
	f.Add("---\ndescription: a\ntools: [fs_read]\n---\n")
	f.Add("---\ndescription:\n---")
	f.Add("no front matter")
	f.Fuzz(func(t *testing.T, text string) {
		line, only, err := describeSkill(text)
		if err != nil {
			return
		}
		if line == "" || strings.ContainsAny(line, "\r\n") || len([]rune(line)) > 301 {
			t.Errorf("the description is %q", line)
		}
		for _, name := range only {
			if !toolName.MatchString(name) {
				t.Errorf("it narrows to %q", name)
			}
		}
	})
}
