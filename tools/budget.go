package tools

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// Bounds of what one turn's results may take, in bytes.
const (
	minBudget    = 6_000
	maxBudget    = 24_000
	minCallShare = 4_096
)

// Budget is what one turn's results share: what is configured, or else an
// eighth of the model's context window at three bytes a token. The results of
// one turn must not leap from below the compaction threshold past the window.
func Budget(configured, window int) int {
	switch {
	case configured > 0:
		return configured
	case window <= 0:
		return maxBudget
	}
	return min(max(window/8*3, minBudget), maxBudget)
}

// Share is what each of a turn's calls gets of the budget, so that one runaway
// tool cannot starve its siblings.
func Share(budget, calls int) int {
	return max(budget/max(calls, 1), minCallShare)
}

// Spill is the directory, beside a conversation's workspace, that holds whole
// what its transcript holds cut. File tools read it and never write it.
type Spill struct{ *jail.Jail }

// OpenSpill makes the directory where it is missing and opens it. Its Jail is
// what an Env's Spill is.
func OpenSpill(dir string) (Spill, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Spill{}, fmt.Errorf("making the spill directory %s: %w", dir, err)
	}
	j, err := jail.Open(dir)
	return Spill{j}, err
}

// Put writes one result and answers its full path. The same call's result
// again replaces it: the first was never journaled. Its origin stands in its
// name, which no tool can write, so that reading it back says whose words it
// holds.
func (s Spill) Put(tool, callID string, of Provenance, content string) (path string, err error) {
	if s.Jail == nil {
		return "", fmt.Errorf("there is no spill directory")
	}
	name := fileWord(tool) + "-" + fileWord(callID) + of.suffix() + ".txt"
	if err := s.WriteFile(name, []byte(content)); err != nil {
		return "", err
	}
	return filepath.Join(s.Path(), name), nil
}

func fileWord(s string) string {
	s = strings.Map(func(r rune) rune {
		if isASCIIWord(byte(r)) && r < utf8.RuneSelf || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 80)]
}

// Cut answers what a transcript holds of a result: all of it, or its first max
// bytes and a marker that names the recovery, with the whole saved in the
// spill directory. What is not text is named and saved, never pasted. A failed
// save costs the tail and never the run.
func Cut(env *Env, tool, callID string, of Provenance, content string, max int) (shown string) {
	text := legible(content)
	if !text && mostlyText(content) {
		content, text = toText([]byte(content)), true
	}
	if text && len(content) <= max {
		return content
	}
	path, err := Spill{env.Spill}.Put(tool, callID, of, content)
	if !text {
		what := fmt.Sprintf("[binary output, not shown: %d bytes, %s", len(content), kindOfBytes([]byte(content)))
		if err != nil {
			return what + ". It could not be saved (" + line(err.Error(), 200) + ") and is lost.]"
		}
		return what + ". It is saved at " + path + ".]"
	}
	head := cutAt(content, max)
	marker := fmt.Sprintf("[truncated by the harness: showing the first %d of %d bytes; ", len(head), len(content))
	if err != nil {
		marker += fmt.Sprintf("the rest could not be saved (%s) and is lost. If you need it, run %s again and ask for less at a time.]", line(err.Error(), 200), tool)
		return head + "\n\n" + marker
	}
	at, column := position(head, max)
	marker += fmt.Sprintf("the rest begins on line %d. The full output is saved at %s — continue with fs_read %s, or search it with grep.]",
		at, path, readCall(path, at, column))
	return head + "\n\n" + marker
}

// cutAt takes the first max bytes, whole characters only.
func cutAt(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// position is the line on which the rest after head begins. Where that line is
// a long one, starting it again would show the same text for ever: column is
// then the byte in it to go on from.
func position(head string, max int) (at, column int) {
	at = strings.Count(head, "\n") + 1
	if in := len(head) - (strings.LastIndexByte(head, '\n') + 1); in > max/2 {
		column = in + 1
	}
	return at, column
}

// readCall writes the arguments that read on.
func readCall(path string, line, column int) string {
	s := `{"path": ` + string(quoteJSON(path)) + fmt.Sprintf(`, "offset": %d`, line)
	if column > 1 {
		s += fmt.Sprintf(`, "column": %d`, column)
	}
	return s + "}"
}

// legible reports whether content is text that a model can be shown.
func legible(content string) bool {
	return utf8.ValidString(content) && strings.IndexByte(content, 0) < 0
}

// mostlyText tells a text with stray bytes from what is none.
func mostlyText(s string) bool {
	stray := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0 {
			return false
		}
		if r == utf8.RuneError && size == 1 {
			stray++
		}
		i += size
	}
	return stray*8 <= len(s)
}

// kindOfBytes names what is not text.
func kindOfBytes(b []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(b[:min(len(b), 512)]), ";")
	if kind == "application/octet-stream" || strings.HasPrefix(kind, "text/") {
		return "of no known kind"
	}
	return kind
}

// Wrap marks a result that came from outside with its source. Its tag's name
// holds a hash of the content, so the content cannot hold the closing tag.
// Cutting comes before wrapping, so that the closing tag survives.
func Wrap(content, source string) string {
	sum := sha256.Sum256([]byte(source + "\x00" + content))
	tag := "external-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
	return "<" + tag + " source=" + attribute(source) + ">\n" + content + "\n</" + tag + ">"
}

func attribute(s string) string {
	return `"` + strings.NewReplacer(`"`, "'", "<", "(", ">", ")").Replace(line(s, 200)) + `"`
}

// toText makes what a tool returned safe to keep: stray bytes that are no
// UTF-8 in what is otherwise text become U+FFFD.
func toText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
