package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Skills are instructions that the owner wrote for recurring tasks: one
// directory each with a SKILL.md. The prompt lists them; a body is read when it
// is needed. They are the owner's words, so the directory lies outside every
// workspace.
type Skills struct {
	root *os.Root
	list []skillInfo
	log  SkillLog

	mu     sync.Mutex
	loaded map[string][]SkillRead // by thread, oldest first
	order  []string               // threads, oldest first
}

type skillInfo struct {
	name, description string
	tools             []string // all that a conversation may call once it was read; nil: no narrowing
}

// SkillRead is a file of a skill that a conversation has read.
type SkillRead struct{ Name, File string }

// SkillLog answers what a conversation has read, oldest first, out of the
// record: a restart forgets nothing.
type SkillLog interface {
	SkillsRead(thread string) ([]SkillRead, error)
}

const (
	skillFile    = 60_000 // bytes of one file
	skillCarried = 24_000 // bytes that cross a compaction
	skillThreads = 256    // conversations whose loaded skills are remembered
	skillMost    = 100
)

// SkillsConfig is the [skills] table.
type SkillsConfig struct {
	Dir      string   `toml:"dir"`      // skills in the home
	Enabled  []string `toml:"enabled"`  // only these; empty: all
	Disabled []string `toml:"disabled"` // none of these
}

func (c SkillsConfig) takes(name string) bool {
	return (len(c.Enabled) == 0 || slices.Contains(c.Enabled, name)) && !slices.Contains(c.Disabled, name)
}

// LoadSkills opens a directory of skills. One that is not there means none; one
// skill that cannot be used is withheld with its reason and harms no other.
// log may be nil: then a restart forgets what was read.
func LoadSkills(c SkillsConfig, log SkillLog) (*Skills, []tools.Withheld, error) {
	dir := c.Dir
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Skills{}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the skills in %s: %w", dir, err)
	}
	s := &Skills{root: root, log: log, loaded: map[string][]SkillRead{}}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		_ = root.Close()
		return nil, nil, fmt.Errorf("cannot list the skills in %s: %w", dir, err)
	}
	var withheld []tools.Withheld
	for _, e := range entries { // sorted by name: the prompt has the same bytes every time
		name := e.Name()
		if strings.HasPrefix(name, ".") || !e.IsDir() || !c.takes(name) {
			continue
		}
		text, err := s.read(name, "SKILL.md")
		info := skillInfo{name: name}
		switch {
		case len(s.list) == skillMost:
			err = fmt.Errorf("there are more than %d skills", skillMost)
		case !toolName.MatchString(name):
			err = errors.New("a skill's name is 1 to 64 of A-Z a-z 0-9 _ -")
		case err == nil:
			info.description, info.tools, err = describeSkill(text)
		}
		if err != nil {
			withheld = append(withheld, tools.Withheld{Name: "skill " + name, Why: err.Error()})
			continue
		}
		s.list = append(s.list, info)
	}
	for _, name := range c.Enabled {
		if _, err := fs.Stat(root.FS(), name); errors.Is(err, fs.ErrNotExist) {
			withheld = append(withheld, tools.Withheld{Name: "skill " + name, Why: "[skills] enabled names it, and " + dir + " has no such directory"})
		}
	}
	return s, withheld, nil
}

// Close lets go of the directory.
func (s *Skills) Close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// Prompt is what PromptOptions.Skills takes: "name: description", sorted.
func (s *Skills) Prompt() []string {
	lines := make([]string, len(s.list))
	for i, k := range s.list {
		lines[i] = k.name + ": " + k.description
	}
	return lines
}

// Tool is the skill tool; nil where there is no skill.
func (s *Skills) Tool() tools.Tool {
	if len(s.list) == 0 {
		return nil
	}
	return skillTool{s}
}

func (s *Skills) read(name, file string) (string, error) {
	f, err := s.root.Open(path.Join(name, file))
	if err != nil {
		return "", fmt.Errorf("cannot read %s of skill %s: %w", file, name, unwrapPath(err))
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s of skill %s is no file", file, name)
	}
	b, err := io.ReadAll(io.LimitReader(f, skillFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read %s of skill %s: %w", file, name, err)
	case len(b) > skillFile:
		return "", fmt.Errorf("%s of skill %s is larger than %d bytes", file, name, skillFile)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s of skill %s is no text", file, name)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n"), nil
}

// unwrapPath leaves out the path of this machine.
func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// skillTool reads skills.
type skillTool struct{ s *Skills }

func (skillTool) Name() string { return "skill" }
func (skillTool) Description() string {
	return "Read one of the owner's skills before a task that it fits: its instructions, or one of its files. The skills are listed in your instructions."
}
func (t skillTool) InputSchema() json.RawMessage {
	names := make([]string, len(t.s.list))
	for i, k := range t.s.list {
		names[i] = k.name
	}
	list, err := json.Marshal(names)
	if err != nil {
		list = []byte("[]") // strings: cannot happen
	}
	return json.RawMessage(`{"type":"object","properties":{"name":{"enum":` + string(list) + `},"file":{"type":"string","description":"A file of the skill; left out: SKILL.md"}},"required":["name"],"additionalProperties":false}`)
}
func (skillTool) ReadOnly() bool                   { return true }
func (skillTool) Capabilities() tools.Capabilities { return tools.Capabilities{} }
func (skillTool) Repeatable() bool                 { return true }

func (t skillTool) Call(_ context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	var args struct{ Name, File string }
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail(err.Error()), nil
	}
	if !slices.ContainsFunc(t.s.list, func(k skillInfo) bool { return k.name == args.Name }) {
		return tools.Fail(fmt.Sprintf("there is no skill %q; the skills are: %s", args.Name, strings.Join(t.s.Prompt(), "; "))), nil
	}
	if args.File == "" {
		args.File = "SKILL.md"
	}
	text, err := t.s.read(args.Name, args.File)
	if err != nil {
		return tools.Fail(err.Error()), nil
	}
	if err := t.s.remember(env.Thread, SkillRead{args.Name, args.File}); err != nil {
		return tools.Fail("what this conversation has read before cannot be looked up: " + err.Error()), nil
	}
	if only, by, err := t.Narrows(env.Thread); err == nil && only != nil {
		text += fmt.Sprintf("\n\n[The %s leaves this conversation these tools, and skill: %s]", by, strings.Join(only, ", "))
	}
	return tools.Output{Content: text, What: args.Name + "/" + args.File}, nil
}
