package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// describeSkill reads the front matter of a SKILL.md: its description, and the
// tools to which it narrows a conversation that reads it, if it does.
func describeSkill(text string) (description string, only []string, err error) {
	rest, ok := strings.CutPrefix(text, "---\n")
	head, _, closed := strings.Cut(rest, "\n---")
	if !ok || !closed {
		return "", nil, errors.New("SKILL.md does not begin with a front matter (---, description: …, ---)")
	}
	narrows, inList := false, false
	for line := range strings.Lines(head) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && inList {
			only = append(only, strings.Trim(strings.TrimSpace(item), `"'`))
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		value, inList = strings.TrimSpace(value), false
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "description":
			description = oneLine(strings.Trim(value, `"'`), 300)
		case "tools", "allowed-tools", "allowed_tools":
			narrows, inList = true, value == ""
			for _, name := range strings.FieldsFunc(strings.Trim(value, "[]"), func(r rune) bool { return r == ',' || r == ' ' }) {
				only = append(only, strings.Trim(name, `"'`))
			}
		}
	}
	if description == "" {
		return "", nil, errors.New("SKILL.md has no description: nobody would know when to read it")
	}
	if narrows && len(only) == 0 {
		return "", nil, errors.New("it narrows a conversation to no tool at all: name them, as in tools: fs_read, fs_list")
	}
	for _, name := range only {
		if !toolName.MatchString(name) {
			return "", nil, fmt.Errorf("tools: %q is no name of a tool; they are separated by commas", oneLine(name, 60))
		}
	}
	return description, only, nil
}

// remember notes that a conversation read a file: the newest reading counts.
func (s *Skills) remember(thread string, k SkillRead) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.recollect(thread); err != nil {
		return err
	}
	s.loaded[thread] = append(slices.DeleteFunc(s.loaded[thread], func(o SkillRead) bool { return o == k }), k)
	return nil
}

// recollect reads what a conversation had read before this process knew it.
func (s *Skills) recollect(thread string) error {
	if _, known := s.loaded[thread]; known {
		return nil
	}
	var list []SkillRead
	if s.log != nil {
		all, err := s.log.SkillsRead(thread)
		if err != nil {
			return err
		}
		for _, k := range all {
			if k.File == "" {
				k.File = "SKILL.md"
			}
			list = append(slices.DeleteFunc(list, func(o SkillRead) bool { return o == k }), k)
		}
	}
	s.order = append(s.order, thread)
	if len(s.order) > skillThreads {
		delete(s.loaded, s.order[0])
		s.order = s.order[1:]
	}
	s.loaded[thread] = list
	return nil
}

// Carry hands what a conversation has read to a compaction, read fresh, the
// newest first.
func (t skillTool) Carry(thread string) (heading, text string) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if err := t.s.recollect(thread); err != nil {
		return "Skills that you have read", "(which they were cannot be looked up now; read again what you need)\n"
	}
	var b strings.Builder
	list := t.s.loaded[thread]
	for i := len(list) - 1; i >= 0; i-- {
		k := list[i]
		text, err := t.s.read(k.Name, k.File)
		if err != nil {
			fmt.Fprintf(&b, "## %s/%s\n(cannot be read any more: %v)\n", k.Name, k.File, err)
			continue
		}
		if b.Len()+len(text) > skillCarried {
			fmt.Fprintf(&b, "## %s/%s\n(left out for its length; read it again when it is needed)\n", k.Name, k.File)
			continue
		}
		fmt.Fprintf(&b, "## %s/%s\n%s\n", k.Name, k.File, text)
	}
	return "Skills that you have read", b.String()
}

// Narrower is a tool that may narrow its conversation to some tools. It stays
// callable itself. Several narrowings together allow what any of them does.
type Narrower interface {
	// Narrows answers the tools that are left, and what narrowed it; nil: all.
	Narrows(thread string) (only []string, by string, err error)
}

// Narrows is the union of what the conversation's skills name; a skill that names
// none neither narrows nor widens.
func (t skillTool) Narrows(thread string) (only []string, by string, err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if err := t.s.recollect(thread); err != nil {
		return nil, "", err
	}
	var names []string
	for _, info := range t.s.list {
		if info.tools != nil && slices.ContainsFunc(t.s.loaded[thread], func(k SkillRead) bool { return k.Name == info.name }) {
			only, names = append(only, info.tools...), append(names, info.name)
		}
	}
	return only, "skill " + strings.Join(names, ", "), nil
}

// narrowed says why a tool may not be called in this conversation, or "".
func (l *loop) narrowed(tool string) string {
	for _, t := range l.Tools.All() {
		n, ok := t.(Narrower)
		if !ok || t.Name() == tool {
			continue
		}
		only, by, err := n.Narrows(l.Thread)
		if err != nil {
			return fmt.Sprintf("whether this conversation is narrowed to some tools cannot be looked up: %v. Tell the owner.", err)
		}
		if only != nil && !slices.Contains(only, tool) {
			return fmt.Sprintf("`%s` is not among the tools that the %s allows in this conversation: %s. Do it with those, or tell the owner; a new thread is not narrowed.", tool, by, strings.Join(only, ", "))
		}
	}
	return ""
}
