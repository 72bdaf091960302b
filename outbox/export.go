package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Export writes every draft as one pretty JSON file into dir, each replaced
// atomically, and answers how many. Files of ours that are there already are
// rewritten; nothing else in dir is touched.
func (o *Outbox) Export(ctx context.Context, dir string) (int, error) {
	list, err := o.List(ctx, Filter{All: true})
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("cannot make the export directory: %w", err)
	}
	for i, d := range list {
		src, err := o.Source(ctx, d)
		if err != nil {
			return i, err
		}
		d.Source = &src
		if bundle, ok := BundleOf(d); ok {
			d.Bundle = &bundle
		}
		o.Hide(&d)
		b, err := Pretty(d)
		if err != nil {
			return i, fmt.Errorf("cannot write draft %s as JSON: %w", d.ID, err)
		}
		if err := replaceFile(filepath.Join(dir, d.ID+".json"), b); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// Hide hides loaded secrets in whatever of a draft is no argument, before it is
// shown or leaves the record: a tool's complaint may repeat a token.
func (o *Outbox) Hide(d *Draft) {
	hide := func(s *string) { *s = o.Redact(*s) }
	hide(&d.LastError)
	hide(&d.Reason)
	if d.Source != nil {
		hide(&d.Source.Text)
	}
	for i := range d.Attempts {
		hide(&d.Attempts[i].Error)
		hide(&d.Attempts[i].Answer)
	}
	for i := range d.Reconciliations {
		hide(&d.Reconciliations[i].Evidence)
	}
	if d.Proposal != nil {
		hide(&d.Proposal.Evidence)
	}
}

// Pretty is v as indented JSON without HTML escaping, ending in a newline.
func Pretty(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}
