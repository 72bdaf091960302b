package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// unknown is the error for keys that no table declares: the key, its line, and
// the nearest known one. A key that is silently swallowed is a setting that
// somebody believes in.
func unknown(path, text string, keys []toml.Key) error {
	known := map[string][]string{}
	collect(reflect.TypeFor[Config](), "", known)
	k := keys[0]
	name := k[len(k)-1]
	table := strings.Join(k[:len(k)-1], ".")
	s := fmt.Sprintf("%s, line %d: there is no key %q", path, lineOf(text, k), k.String())
	if near := nearest(name, candidates(known, k[:len(k)-1])); near != "" {
		s += fmt.Sprintf("; did you mean %q?", near)
	} else if owner := elsewhere(known, name); owner != "" && owner != table {
		s += fmt.Sprintf("; it belongs to [%s]", owner)
	}
	if len(keys) > 1 {
		s += fmt.Sprintf(" (and %d more)", len(keys)-1)
	}
	return fmt.Errorf("%s", s)
}

// collect names the keys of each table; a map's tables are called *.
func collect(t reflect.Type, table string, known map[string][]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Map {
		collect(t.Elem(), join(table, "*"), known)
		return
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		name := f.Tag.Get("toml")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		known[table] = append(known[table], name)
		collect(f.Type, join(table, name), known)
	}
}

func join(table, name string) string {
	if table == "" {
		return name
	}
	return table + "." + name
}

func candidates(known map[string][]string, table []string) []string {
	if list := known[strings.Join(table, ".")]; list != nil {
		return list
	}
	for i := range table {
		wild := slices.Clone(table)
		wild[i] = "*"
		if list := known[strings.Join(wild, ".")]; list != nil {
			return list
		}
	}
	return nil
}

func elsewhere(known map[string][]string, name string) string {
	tables := make([]string, 0, len(known))
	for t := range known {
		tables = append(tables, t)
	}
	slices.Sort(tables)
	for _, t := range tables {
		if t != "" && slices.Contains(known[t], name) {
			return t
		}
	}
	return ""
}

// lineOf finds where a key stands: its table's header, then its own line.
func lineOf(text string, k toml.Key) int {
	table, name := strings.Join(k[:len(k)-1], "."), k[len(k)-1]
	current := ""
	header := 0
	for i, line := range strings.Split(text, "\n") {
		l := strings.TrimSpace(line)
		if strings.HasPrefix(l, "[") {
			current = strings.Trim(strings.SplitN(l, "#", 2)[0], "[] \t")
			if current == k.String() || current == table {
				header = i + 1
			}
			continue
		}
		key, _, ok := strings.Cut(l, "=")
		key = strings.Trim(strings.TrimSpace(key), `"'`)
		if ok && (current == table && key == name || join(current, key) == k.String()) {
			return i + 1
		}
	}
	return max(header, 1)
}

// nearest is the known key that a typo most likely meant.
func nearest(name string, list []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, c := range list {
		if d := distance(strings.ToLower(name), c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		last := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last
			if a[i-1] != b[j-1] {
				cost++
			}
			last = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
