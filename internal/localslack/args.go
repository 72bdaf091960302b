package localslack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	maxAPIBody   = 4 << 20
	maxArguments = 200
)

// args are the arguments of one API call, however they came: in the query, as
// a form, as multipart or as JSON. In a form a structured argument is a string
// that holds JSON; in JSON it may be either.
type args map[string]arg

type arg struct {
	raw    json.RawMessage // JSON bodies: the value as it stands
	text   string          // forms
	isText bool
}

// mediaType is a body's Content-Type, parsed; err is that of what can't be.
type mediaType struct {
	kind   string
	params map[string]string
	err    error
}

func bodyType(r *http.Request) (t mediaType) {
	if given := r.Header.Get("Content-Type"); given != "" {
		t.kind, t.params, t.err = mime.ParseMediaType(given)
	}
	return t
}

// parseArgs reads a call's arguments. The body is bounded by its caller.
func parseArgs(r *http.Request, t mediaType) (args, error) {
	a := args{}
	if r.URL.RawQuery != "" {
		if q, err := url.ParseQuery(r.URL.RawQuery); err == nil {
			a.addForm(q)
		}
	}
	if r.Body == nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return a, nil
	}
	if t.err != nil {
		return a, fail("invalid_post_type", "the Content-Type can't be read")
	}
	if t.kind == "multipart/form-data" {
		return a, a.addMultipart(r.Body, t.params["boundary"])
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), 64<<10)) + bytes.MinRead) // a length is only a claim
	if _, err := body.ReadFrom(r.Body); err != nil {
		return a, bodyError(err)
	}
	return a, a.addBody(t.kind, body.Bytes())
}

func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fail("request_too_large", fmt.Sprintf("the request's body exceeds %d bytes", tooLarge.Limit))
	}
	return fail("request_timeout", "the request's body could not be read to its end")
}

func (a args) addBody(kind string, body []byte) error {
	switch kind {
	case "application/json":
		return a.addJSON(body)
	case "application/x-www-form-urlencoded", "":
		q, err := url.ParseQuery(string(body))
		if err != nil {
			return fail("invalid_form_data", "the form can't be decoded")
		}
		a.addForm(q)
		if len(a) > maxArguments {
			return fail("invalid_arguments", "too many arguments")
		}
		return nil
	default:
		return fail("invalid_post_type", "Content-Type "+strconv.Quote(kind)+" is not one of form, multipart or JSON")
	}
}

func (a args) addForm(q url.Values) {
	for k, v := range q {
		a[k] = arg{text: v[len(v)-1], isText: true}
	}
}

func (a args) addJSON(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil // apps.connections.open comes with a JSON type and no body
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			return fail("json_not_object")
		}
		return fail("invalid_json")
	}
	if len(m) > maxArguments {
		return fail("invalid_arguments", "too many arguments")
	}
	for k, v := range m {
		a[k] = arg{raw: v}
	}
	return nil
}

func (a args) addMultipart(body io.Reader, boundary string) error {
	if boundary == "" {
		return fail("invalid_form_data", "the multipart body has no boundary")
	}
	mr := multipart.NewReader(body, boundary)
	for n := 0; ; n++ {
		p, err := mr.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || n > maxArguments {
			return fail("invalid_form_data", "the multipart body can't be read")
		}
		b, err := io.ReadAll(p)
		if err != nil {
			return bodyError(err)
		}
		a[p.FormName()] = arg{text: string(b), isText: true}
	}
}

// str is a string argument; "" when absent. Numbers and booleans of a JSON body
// count as what they look like.
func (a args) str(key string) string {
	v := a[key]
	if v.isText {
		return v.text
	}
	if isNull(v.raw) {
		return ""
	}
	var s string
	if json.Unmarshal(v.raw, &s) == nil {
		return s
	}
	return string(v.raw)
}

// has reports whether the argument was given, empty or not.
func (a args) has(key string) bool {
	v, ok := a[key]
	return ok && (v.isText || !isNull(v.raw))
}

func (a args) flag(key string) bool {
	switch strings.ToLower(a.str(key)) {
	case "true", "1", "yes":
		return true
	}
	return false
}

// json is a structured argument: nil when absent, empty or null. ok is false
// when it is there and isn't JSON.
func (a args) json(key string) (raw json.RawMessage, ok bool) {
	v := a[key]
	raw = v.raw
	if v.isText {
		raw = json.RawMessage(v.text)
	} else if len(raw) > 0 && raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil, false
		}
		raw = json.RawMessage(s)
	}
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil, true
	}
	if !json.Valid(raw) {
		return nil, false
	}
	return bytes.Clone(raw), true
}

// list is an argument of several strings: a JSON array, or joined by commas.
func (a args) list(key string) []string {
	if raw, ok := a.json(key); ok && len(raw) > 0 && raw[0] == '[' {
		var out []string
		if json.Unmarshal(raw, &out) == nil {
			return out
		}
	}
	var out []string
	for _, s := range strings.Split(a.str(key), ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// loggable is the arguments for the inspector: what a person may read, so
// without the token.
func (a args) loggable() map[string]any {
	out := make(map[string]any, len(a))
	for k, v := range a {
		switch {
		case k == "token":
			out[k] = "(hidden)"
		case v.isText:
			out[k] = v.text
		default:
			out[k] = v.raw
		}
	}
	return out
}
