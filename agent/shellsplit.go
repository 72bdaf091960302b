package agent

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// split is a command line as rules look at it.
type split struct {
	segments [][]string // the words of every simple command in it, nested ones too
	// certain: these are all the commands, each word is what it looks like, and
	// nothing is written anywhere on the side. Only then can anything be allowed.
	certain bool
	raw     string
}

// maxCommand bounds what is parsed; what is longer is opaque.
const maxCommand = 64 << 10

// splitCommand parses with a real shell parser. What does not parse is opaque.
func splitCommand(command string) split {
	s := split{raw: command}
	if len(command) > maxCommand || strings.ContainsRune(command, 0) {
		return s
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return s
	}
	s.certain = true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.File, *syntax.Comment, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Word:
		case *syntax.Stmt:
			if n.Background || n.Coprocess {
				s.certain = false
			}
		case *syntax.BinaryCmd: // && || |
		case *syntax.Redirect:
			if !harmless(n) {
				s.certain = false
			}
		case *syntax.CallExpr:
			if len(n.Assigns) > 0 { // PATH=… git status
				s.certain = false
			}
			var words []string
			for _, w := range n.Args {
				text, plain := wordText(w)
				if !plain {
					s.certain = false
				}
				words = append(words, text)
			}
			if len(words) > 0 {
				s.segments = append(s.segments, unwrapped(words)...)
			}
		default: // substitutions, loops, functions, arithmetic, here-documents …
			s.certain = false
		}
		return true
	})
	return s
}

// harmless redirections write nothing but /dev/null, and reach no other machine.
func harmless(r *syntax.Redirect) bool {
	target, plain := "", false
	if r.Word != nil {
		target, plain = wordText(r.Word)
	}
	switch r.Op {
	case syntax.DplOut: // 2>&1
		return target == "1" || target == "2"
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return target == "/dev/null"
	case syntax.RdrIn: // bash makes a connection of these
		return plain && !strings.HasPrefix(target, "/dev/tcp/") && !strings.HasPrefix(target, "/dev/udp/")
	}
	return false
}

// wordText is a word without its quotes. plain: it is a constant, and what a
// shell makes of it is exactly this.
func wordText(w *syntax.Word) (text string, plain bool) {
	plain = true
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			v := p.Value
			if strings.ContainsRune(v, '\\') {
				plain, v = false, strings.ReplaceAll(v, `\`, "")
			}
			if strings.ContainsAny(v, "*?[{~") { // expands to what only the shell knows
				plain = false
			}
			b.WriteString(v)
		case *syntax.SglQuoted:
			plain = plain && !p.Dollar
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			plain = plain && !p.Dollar
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok {
					plain = false
					continue
				}
				if strings.ContainsRune(l.Value, '\\') {
					plain = false
				}
				b.WriteString(l.Value)
			}
		default:
			plain = false
		}
	}
	return b.String(), plain
}

// wrappers run another program that is named in their arguments. The number is
// how many plain arguments come before it.
var wrappers = map[string]int{
	"sudo": 0, "doas": 0, "env": 0, "nohup": 0, "nice": 0, "ionice": 0, "time": 0, "timeout": 1, "setsid": 0, "stdbuf": 0, "unbuffer": 0,
	"command": 0, "builtin": 0, "exec": 0, "xargs": 0, "watch": 0, "strace": 0, "chroot": 1, "unshare": 0, "parallel": 0, "busybox": 0, "flock": 1, "script": 0, "su": 0, "ssh": 1, "chronic": 0,
}

// unwrapped is a command, and the commands that it wraps, so that "sudo git
// push" is also judged as "git push".
func unwrapped(words []string) [][]string {
	list := [][]string{words}
	for range 4 {
		skip, ok := wrappers[path.Base(words[0])]
		if !ok {
			break
		}
		rest := words[1:]
		for len(rest) > 0 && (strings.HasPrefix(rest[0], "-") || strings.Contains(rest[0], "=")) {
			rest = rest[1:]
		}
		if skip >= len(rest) {
			break
		}
		words = rest[skip:]
		list = append(list, words)
	}
	return list
}

// interpreters take code as an argument; the flags say so.
var interpreters = map[string][]string{
	"python": {"-c"}, "python2": {"-c"}, "python3": {"-c"}, "node": {"-e", "--eval", "-p", "--print"}, "deno": {"eval"}, "bun": {"-e", "--eval"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "php": {"-r"}, "lua": {"-e"}, "Rscript": {"-e"}, "osascript": {"-e"},
	"sh": {"-c"}, "bash": {"-c"}, "zsh": {"-c"}, "dash": {"-c"}, "ksh": {"-c"}, "fish": {"-c"}, "pwsh": {"-c", "-Command", "-EncodedCommand"},
}

// inlineEval says why a command runs what no rule can read, or "".
func inlineEval(words []string) string {
	name := path.Base(words[0])
	if _, ok := wrappers[name]; ok {
		return name + " runs another program"
	}
	switch name {
	case "eval", "source", ".":
		return name + " runs text as a command"
	case "awk", "gawk", "mawk":
		if slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, "system(") || strings.Contains(w, "|") }) {
			return name + " runs commands out of its program"
		}
	case "find":
		if slices.ContainsFunc(words[1:], func(w string) bool {
			return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || w == "-delete"
		}) {
			return "find runs a command for each file"
		}
	}
	flags, ok := interpreters[name]
	if !ok {
		flags, ok = interpreters[strings.TrimRight(name, "0123456789.")]
	}
	if !ok {
		return ""
	}
	if len(words) == 1 {
		return name + " runs what it reads"
	}
	for _, w := range words[1:] {
		if w == "-" || slices.Contains(flags, w) {
			return name + " is handed code"
		}
		for _, f := range flags { // -c'code', -lc
			if len(f) == 2 && len(w) > 2 && w[0] == '-' && w[1] != '-' && strings.ContainsRune(w[1:], rune(f[1])) {
				return name + " is handed code"
			}
		}
		if !strings.HasPrefix(w, "-") {
			break // a script; what follows is its arguments
		}
	}
	return ""
}
