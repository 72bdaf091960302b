package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxDescription is how much of a description the model is told. Tool lists cost tokens on every turn.
const maxDescription = 8 << 10

// definition is a tool as its server lists it, made fit for use.
type definition struct {
	name        string // the server's
	offered     string // ours
	description string
	schema      json.RawMessage // as offered
	annotations annotations
	hash        string          // of all that the server says about it
	raw         json.RawMessage // canonical: what people compare when it changes
	unchecked   bool            // the schema does not compile: arguments are checked for well-formedness only
}

// PinState is what is known about a tool's definition.
type PinState string

const (
	PinNew      PinState = "new"      // listed for the first time, and pinned by this very question
	PinSame     PinState = "same"     // as pinned
	PinChanged  PinState = "changed"  // other than pinned: withheld until somebody accepts it
	PinAccepted PinState = "accepted" // it had changed, and somebody accepted it
)

// define reads one listed tool.
func define(cfg Config, raw json.RawMessage) (definition, error) {
	var t struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return definition{}, fmt.Errorf("it cannot be read: %w", err)
	}
	d := definition{name: t.Name, offered: offeredName(cfg.Name, t.Name, cfg.Prefixed())}
	if t.Name == "" || len(t.Name) > 1024 {
		return d, errors.New("its name is empty, or longer than 1024 bytes")
	}
	if json.Unmarshal(t.Annotations, &d.annotations) != nil {
		d.annotations = annotations{} // of the wrong type altogether: absent
	}
	d.description = strings.ToValidUTF8(t.Description, "\uFFFD")
	if d.description == "" {
		d.description = strings.ToValidUTF8(t.Title, "\uFFFD")
	}
	if len(d.description) > maxDescription {
		d.description = cut(d.description, maxDescription) + " [the description goes on; cut by the harness]"
	}
	if err := d.pin(t.Name, t.Description, t.InputSchema, t.Annotations); err != nil {
		return d, err
	}
	var err error
	if d.schema, err = acceptableSchema(t.InputSchema); err != nil {
		return d, err
	}
	d.unchecked = compiles(d.schema) != nil
	return d, nil
}

// pin hashes what the server says: name, description, schema and hints, since the hints become capabilities. The JSON
// is brought into one form first: many servers write their keys in another order at every start.
func (d *definition) pin(name, description string, schema, hints json.RawMessage) error {
	whole := map[string]any{"name": name, "description": description}
	h := sha256.New()
	add := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	add([]byte(name))
	add([]byte(description))
	for key, raw := range map[string]json.RawMessage{"inputSchema": schema, "annotations": hints} {
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		v, err := decodeExact(raw)
		if err != nil {
			return fmt.Errorf("its %s is no JSON: %w", key, err)
		}
		whole[key] = v
	}
	for _, key := range []string{"inputSchema", "annotations"} {
		b, err := encodeExact(whole[key])
		if err != nil {
			return err
		}
		add(b)
	}
	d.hash = hex.EncodeToString(h.Sum(nil))
	var err error
	d.raw, err = encodeExact(whole)
	return err
}

// compiles reports whether arguments can be validated against a schema. References that lead out are not followed.
func compiles(schema json.RawMessage) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nil)
	if err := c.AddResource("schema.json", doc); err != nil {
		return err
	}
	_, err = c.Compile("schema.json")
	return err
}
