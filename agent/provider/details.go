package provider

import (
	"encoding/json"
	"strings"
)

// details joins reasoning_details, OpenRouter's list of thoughts in pieces:
// pieces of one type and index are one item, whose signature comes last and
// must return with exactly its text.
type details struct{ items []*detail }

type detail struct {
	kind  string
	index int
	id    string
	rest  map[string]json.RawMessage
	text  map[string]*strings.Builder
}

// growing fields are appended, all others replaced.
func growing(key string) bool { return key == "text" || key == "summary" || key == "data" }

func (d *details) add(raw json.RawMessage) {
	var list []map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, m := range list {
		var kind, id string
		index := -1
		_ = json.Unmarshal(m["type"], &kind)
		_ = json.Unmarshal(m["id"], &id)
		_ = json.Unmarshal(m["index"], &index)
		it := d.find(kind, id, index)
		for k, v := range m {
			var s string
			if growing(k) && json.Unmarshal(v, &s) == nil && string(v) != "null" {
				if it.text[k] == nil {
					it.text[k] = &strings.Builder{}
				}
				it.text[k].WriteString(s)
			} else if string(v) != "null" || it.rest[k] == nil {
				it.rest[k] = v
			}
		}
	}
}

func (d *details) find(kind, id string, index int) *detail {
	if n := len(d.items); n > 0 && index < 0 { // no index: only the newest can go on
		if it := d.items[n-1]; it.kind == kind && it.index < 0 && it.id == id && kind != "reasoning.encrypted" {
			return it
		}
	}
	if index >= 0 {
		for i := len(d.items) - 1; i >= 0; i-- {
			if it := d.items[i]; it.kind == kind && it.index == index && (it.id == id || id == "" || it.id == "") {
				return it
			}
		}
	}
	it := &detail{kind: kind, id: id, index: index, rest: map[string]json.RawMessage{}, text: map[string]*strings.Builder{}}
	d.items = append(d.items, it)
	return it
}

func (d *details) join() json.RawMessage {
	if len(d.items) == 0 {
		return nil
	}
	list := make([]map[string]json.RawMessage, 0, len(d.items))
	for _, it := range d.items {
		m := it.rest
		for k, b := range it.text {
			if s, err := marshal(b.String()); err == nil {
				m[k] = s
			}
		}
		list = append(list, m)
	}
	b, err := marshal(list)
	if err != nil {
		return nil
	}
	return b
}
