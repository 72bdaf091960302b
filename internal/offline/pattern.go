package offline

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed.
// The grammar has a hundred and fifty of them: compiling them all took 14 ms
// and 4 MB of every start of the program, those included that never speak to
// this model.
type pattern struct {
	source string
	once   sync.Once
	re     *regexp.Regexp
}

// rx is a pattern from regexp's syntax; a mistake in it panics at its first use.
func rx(source string) *pattern { return &pattern{source: source} }

func (p *pattern) get() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.source) })
	return p.re
}

func (p *pattern) MatchString(s string) bool            { return p.get().MatchString(s) }
func (p *pattern) FindString(s string) string           { return p.get().FindString(s) }
func (p *pattern) FindStringIndex(s string) []int       { return p.get().FindStringIndex(s) }
func (p *pattern) FindStringSubmatch(s string) []string { return p.get().FindStringSubmatch(s) }
func (p *pattern) FindStringSubmatchIndex(s string) []int {
	return p.get().FindStringSubmatchIndex(s)
}
func (p *pattern) FindAllString(s string, n int) []string { return p.get().FindAllString(s, n) }
func (p *pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.get().FindAllStringIndex(s, n)
}
func (p *pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}
func (p *pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.get().FindAllStringSubmatchIndex(s, n)
}
func (p *pattern) ReplaceAllString(s, repl string) string { return p.get().ReplaceAllString(s, repl) }
func (p *pattern) ReplaceAllStringFunc(s string, f func(string) string) string {
	return p.get().ReplaceAllStringFunc(s, f)
}
func (p *pattern) Split(s string, n int) []string { return p.get().Split(s, n) }
func (p *pattern) SubexpIndex(name string) int    { return p.get().SubexpIndex(name) }
