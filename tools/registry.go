package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Registry is the surface of a run: tools by name, always in the same order,
// because the list is the front of a provider's cached prefix.
type Registry struct {
	list    []Tool
	byName  map[string]Tool
	schemas *schemaCache // compiled once; shared with what Only makes
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// NewRegistry sorts the tools by name. A bad name, a schema that is no object,
// or two tools of one name is an error: at start, never in a run.
func NewRegistry(list ...Tool) (*Registry, error) {
	r := &Registry{byName: make(map[string]Tool, len(list)), schemas: newSchemaCache()}
	var errs []error
	for _, t := range list {
		name := t.Name()
		switch {
		case !validName.MatchString(name):
			errs = append(errs, fmt.Errorf("tool %q: a name is 1 to 64 of A-Z a-z 0-9 _ -", name))
			continue
		case r.byName[name] != nil:
			errs = append(errs, fmt.Errorf("two tools are named %q (%s and %s): give one server prefix_tools = true, or disable one", name, source(r.byName[name]), source(t)))
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(t.InputSchema(), &object); err != nil {
			errs = append(errs, fmt.Errorf("tool %q: its input schema is no JSON object: %w", name, err))
			continue
		}
		r.byName[name] = t
		r.list = append(r.list, t)
	}
	slices.SortFunc(r.list, func(a, b Tool) int { return strings.Compare(a.Name(), b.Name()) })
	return r, errors.Join(errs...)
}

func source(t Tool) string {
	if s, ok := t.(Sourced); ok && s.Source() != "" {
		return "MCP server " + s.Source()
	}
	return "built in"
}

// All answers the tools in order. The slice is the caller's.
func (r *Registry) All() []Tool { return slices.Clone(r.list) }

// Get answers the tool of that name, or nil.
func (r *Registry) Get(name string) Tool { return r.byName[name] }

// Names in order.
func (r *Registry) Names() []string {
	names := make([]string, len(r.list))
	for i, t := range r.list {
		names[i] = t.Name()
	}
	return names
}

// Only answers a registry with the tools that keep says yes to.
func (r *Registry) Only(keep func(Tool) bool) *Registry {
	s := &Registry{byName: map[string]Tool{}, schemas: r.schemas}
	for _, t := range r.list {
		if keep(t) {
			s.list = append(s.list, t)
			s.byName[t.Name()] = t
		}
	}
	return s
}
