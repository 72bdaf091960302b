package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

const loaded = "the-loaded-secret"

type named struct{ name string }

func (n named) String() string { return "named " + n.name }

type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

type inner struct {
	Public  string
	private string
	Next    *inner
	Bytes   []byte
}

type broken struct{ *inner }

func (b broken) Error() string { return b.Public } // panics on a nil inner

func TestHandlerMasksEverything(t *testing.T) {
	nested := &inner{Public: "x", Next: &inner{Public: loaded}}
	tests := []struct {
		name string
		attr slog.Attr
	}{
		{"string", slog.String("k", loaded)},
		{"key", slog.String(loaded, "v")},
		{"error", slog.Any("err", errors.New("sent "+loaded))},
		{"wrapped error", slog.Any("err", fmt.Errorf("a: %w", errors.New(loaded)))},
		{"joined error", slog.Any("err", errors.Join(errors.New("a"), errors.New(loaded)))},
		{"bytes", slog.Any("b", []byte(loaded))},
		{"raw message", slog.Any("b", json.RawMessage(`{"a":"`+loaded+`"}`))},
		{"group", slog.Group("g", slog.Group("h", slog.String("k", loaded)))},
		{"stringer", slog.Any("s", named{loaded})},
		{"valuer", slog.Any("v", valuer{loaded})},
		{"valuer of a group", slog.Any("v", valuer{slog.GroupValue(slog.String("k", loaded))})},
		{"struct", slog.Any("s", inner{Public: loaded})},
		{"unexported field", slog.Any("s", inner{private: loaded})},
		{"pointer", slog.Any("s", nested)},
		{"map", slog.Any("m", map[string]any{"a": []string{loaded}})},
		{"map key", slog.Any("m", map[string]any{loaded: 1})},
		{"bytes in a struct", slog.Any("s", inner{Bytes: []byte(loaded)})},
		{"slice of errors", slog.Any("s", []any{errors.New(loaded)})},
		{"pattern", slog.String("k", "xoxb-1234-"+loaded)},
	}
	for _, tt := range tests {
		for _, format := range []string{"text", "json"} {
			t.Run(tt.name+"/"+format, func(t *testing.T) {
				for _, how := range []string{"record", "with", "group"} {
					var b bytes.Buffer
					log := slog.New(New(loaded).Handler(base(&b, format)))
					switch how {
					case "record":
						log.LogAttrs(t.Context(), slog.LevelInfo, "msg "+loaded, tt.attr)
					case "with":
						log.With(tt.attr).Info("msg " + loaded)
					case "group":
						log.WithGroup("g").With(slog.Any("w", tt.attr.Value)).Info("msg", tt.attr)
					}
					out := b.String()
					if leaks(out) || !strings.Contains(out, Mask) {
						t.Errorf("%s: %s", how, out)
					}
					if format == "json" && !json.Valid(b.Bytes()) {
						t.Errorf("%s: not JSON: %s", how, out)
					}
				}
			})
		}
	}
}

// leaks finds the secret raw, in base64 and as the decimal bytes that %v prints.
func leaks(out string) bool {
	for _, s := range append(spellings(loaded), strings.Trim(fmt.Sprint([]byte(loaded)), "[]")) {
		if strings.Contains(out, s) {
			return true
		}
	}
	return false
}

func base(b *bytes.Buffer, format string) slog.Handler {
	if format == "json" {
		return slog.NewJSONHandler(b, nil)
	}
	return slog.NewTextHandler(b, nil)
}

func TestHandlerLeavesTheRestAlone(t *testing.T) {
	attrs := []slog.Attr{
		slog.Int("i", 1), slog.Bool("b", true), slog.Duration("d", time.Second), slog.Float64("f", 1.5),
		slog.Any("m", map[string]int{"a": 1}), slog.Any("nil", nil), slog.String("s", "plain"),
		slog.Group("g", slog.Any("l", []string{"x"})),
	}
	drop := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	var plain, masked bytes.Buffer
	slog.New(slog.NewJSONHandler(&plain, drop)).LogAttrs(t.Context(), slog.LevelWarn, "m", attrs...)
	slog.New(New(loaded).Handler(slog.NewJSONHandler(&masked, drop))).LogAttrs(t.Context(), slog.LevelWarn, "m", attrs...)
	if plain.String() != masked.String() {
		t.Errorf("got  %s\nwant %s", masked.String(), plain.String())
	}
}

func TestHandlerSurvivesAValueThatPanics(t *testing.T) {
	var b bytes.Buffer
	slog.New(New(loaded).Handler(slog.NewJSONHandler(&b, nil))).Info("kept", "err", broken{}, "after", 1)
	if !strings.Contains(b.String(), "kept") || !strings.Contains(b.String(), `"after":1`) {
		t.Errorf("got %s", b.String())
	}
}

func TestHandlerKeepsTheLevel(t *testing.T) {
	var b bytes.Buffer
	h := New().Handler(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn}))
	slog.New(h).Info("quiet")
	if b.Len() != 0 || h.Enabled(t.Context(), slog.LevelInfo) {
		t.Errorf("got %s", b.String())
	}
}
