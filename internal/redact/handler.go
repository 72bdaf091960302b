package redact

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Handler wraps h so that no record reaches it with a secret in its message, a key or a value: strings, errors,
// groups, and whatever an attribute of any other type would print as. Attributes given to With are masked when they
// are given, so add secrets before deriving loggers.
func (r *Redactor) Handler(h slog.Handler) slog.Handler { return &handler{r: r, next: h} }

type handler struct {
	r    *Redactor
	next slog.Handler
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, rec slog.Record) error {
	out := slog.NewRecord(rec.Time, rec.Level, h.r.String(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.r.attr(a))
		return true
	})
	return h.next.Handle(ctx, out)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{r: h.r, next: h.next.WithAttrs(h.r.attrs(attrs))}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{r: h.r, next: h.next.WithGroup(h.r.String(name))}
}

func (r *Redactor) attrs(in []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(in))
	for i, a := range in {
		out[i] = r.attr(a)
	}
	return out
}

func (r *Redactor) attr(a slog.Attr) slog.Attr {
	a.Key = r.String(a.Key)
	a.Value = r.logValue(a.Value.Resolve())
	return a
}

func (r *Redactor) logValue(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(r.String(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(r.attrs(v.Group())...)
	case slog.KindAny:
		return r.anyValue(v.Any())
	default:
		return v
	}
}

// anyValue keeps a value as it is unless one of the ways in which handlers print it would show a secret.
func (r *Redactor) anyValue(v any) slog.Value {
	switch t := v.(type) {
	case nil:
		return slog.AnyValue(nil)
	case error:
		return slog.StringValue(r.String(safely(t.Error)))
	case []byte:
		return slog.StringValue(r.String(string(t)))
	case json.RawMessage:
		return slog.StringValue(r.String(string(t)))
	case fmt.Stringer:
		if s := safely(t.String); r.String(s) != s {
			return slog.StringValue(r.String(s))
		}
	}
	// JSON follows pointers and writes bytes as base64; %+v shows unexported fields. A handler may do either.
	asJSON, err := json.Marshal(v)
	if err == nil {
		if s := string(asJSON); r.String(s) != s {
			return slog.StringValue(r.String(s))
		}
	}
	if s := fmt.Sprintf("%+v", v); r.String(s) != s {
		return slog.StringValue(r.String(s))
	}
	return slog.AnyValue(v)
}

// safely calls a method of a value that we did not make: a nil pointer behind an interface must not lose the record.
func safely(f func() string) (s string) {
	defer func() {
		if p := recover(); p != nil {
			s = fmt.Sprintf("(panic while printing: %v)", p)
		}
	}()
	return f()
}
