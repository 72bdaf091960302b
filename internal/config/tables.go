package config

import (
	"fmt"
	"reflect"

	"github.com/BurntSushi/toml"
)

// Approvers are users' ids, each with the tools that this person decides, or
// "*". A plain list of ids means every tool.
type Approvers map[string][]string

// UnmarshalTOML reads a table or a list.
func (a *Approvers) UnmarshalTOML(v any) error {
	*a = Approvers{}
	table, ok := v.(map[string]any)
	if !ok {
		ids, err := stringsOf(v)
		if err != nil {
			return fmt.Errorf("[slack] approvers is a table, user id = tools, or a list of users' ids: %w", err)
		}
		for _, id := range ids {
			(*a)[id] = []string{"*"}
		}
		return nil
	}
	for id, v := range table {
		tools, err := stringsOf(v)
		if err != nil {
			return fmt.Errorf("[slack.approvers] %s is a list of tools, or [\"*\"]: %w", id, err)
		}
		(*a)[id] = tools
	}
	return nil
}

func stringsOf(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%v is no list", v)
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no string", e)
		}
		out = append(out, s)
	}
	return out, nil
}

// noTable is the error for the first key that should hold a table of free names
// (env, headers_env, providers, …) and holds something else, which the decoder
// passes over in silence; nil where there is none.
func noTable(path, text string, meta toml.MetaData) error {
	for _, k := range meta.Keys() {
		t := typeAt(reflect.TypeFor[Config](), k)
		if t == nil || t.Kind() != reflect.Map || reflect.PointerTo(t).Implements(reflect.TypeFor[toml.Unmarshaler]()) {
			continue
		}
		if meta.Type(k...) != "Hash" {
			return fmt.Errorf("%s, line %d: %s is a table, { NAME = … }", path, lineOf(text, k), k.String())
		}
	}
	return nil
}

// typeAt is what the value of a key is read into; nil where nothing declares it.
func typeAt(t reflect.Type, k toml.Key) reflect.Type {
	for _, name := range k {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			f, ok := fieldOf(t, name)
			if !ok {
				return nil
			}
			t = f
		default:
			return nil
		}
	}
	return t
}

func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for f := range t.Fields() {
		if f.IsExported() && f.Tag.Get("toml") == name {
			return f.Type, true
		}
	}
	return nil, false
}
