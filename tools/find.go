package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Destinations finds where a call would send to, and what it would change or
// destroy: for tools that send where the model says, and for destructive ones.
// It looks at the tool's own hints, at names and formats in its schema, and at
// the shapes of values, at any depth. Ids count for destructive tools only:
// what a send reads is not where it goes.
//
// An absolute path inside one of roots (the workspace) is no destination.
func Destinations(t Tool, args json.RawMessage, roots ...string) []Destination {
	c := t.Capabilities()
	if c.Egress != Chosen && !c.Destructive {
		return nil
	}
	if in, ok := t.(Contained); ok && in.Contained() {
		return nil
	}
	v, _, err := parseStrict(args)
	if _, object := v.(map[string]any); err != nil || !object {
		return nil // was refused before; there is nothing to gate
	}
	f := &finder{sends: c.Egress == Chosen, destructive: c.Destructive, roots: roots}
	if a, ok := t.(Addressed); ok {
		f.hints = a.Hints()
	}
	var schema any
	if v, err := decodeAny(t.InputSchema()); err == nil {
		schema = v
	}
	f.walk("", "", "", v, schema, 0)
	if f.destructive && len(f.found) == 0 && !f.inside {
		// It changes something, and nothing says what or where (a password, a
		// setting): then what it is changed to must be somebody's own words.
		f.values("", v)
	}
	if f.more > 0 {
		// Named nowhere, so a person looks as soon as a stranger's text is there.
		f.found = append(f.found, Destination{Kind: ToAddress, Value: fmt.Sprintf("(%d more destinations)", f.more)})
	}
	return f.found
}

// mostDestinations bounds what is looked up for one call.
const mostDestinations = 200

func decodeAny(raw json.RawMessage) (v map[string]any, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}

// Contained tools have no effect outside of the workspace, whatever their
// arguments say: the jail sees to it. An optional ability, as in tool.go.
type Contained interface{ Contained() bool }

type finder struct {
	sends       bool
	destructive bool
	hints       Hints
	roots       []string
	found       []Destination
	seen        map[Destination]bool
	inside      bool // a path within the workspace was named: that is where it acts
	more        int  // beyond mostDestinations
}

// values takes every text as an id: asked about, never red.
func (f *finder) values(pointer string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(slices.Values(keys(v))) {
			f.values(pointer+"/"+escapePointer(k), v[k])
		}
	case []any:
		for i, item := range v {
			f.values(pointer+"/"+strconv.Itoa(i), item)
		}
	case string:
		switch s := strings.TrimSpace(v); {
		case s == "":
		case len(s) <= mostValue:
			f.add(ToID, pointer, s)
		default: // named nowhere as a whole
			f.add(ToID, pointer, fmt.Sprintf("(a text of %d bytes)", len(s)))
		}
	}
}

// mostValue bounds what counts as a value that somebody named, in bytes: a
// longer text is written, not named, and asked about once a stranger's text is
// there.
const mostValue = 1000

// walk visits every leaf. top is the top-level argument, name the nearest key.
func (f *finder) walk(pointer, top, name string, v, schema any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(slices.Values(keys(v))) {
			t := top
			if depth == 0 {
				t = k
			}
			f.walk(pointer+"/"+escapePointer(k), t, k, v[k], propertyOf(schema, k), depth+1)
		}
	case []any:
		for i, item := range v {
			f.walk(pointer+"/"+strconv.Itoa(i), top, name, item, itemsOf(schema), depth+1)
		}
	case string:
		f.leaf(pointer, top, name, v, formatOf(schema), true)
	case json.Number:
		f.leaf(pointer, top, name, v.String(), "", false)
	}
}

func (f *finder) leaf(pointer, top, name, value, format string, text bool) {
	value = strings.TrimSpace(value)
	if value == "" || top == f.hints.KeyArg && top != "" {
		return
	}
	if slices.Contains(f.hints.Files, top) {
		f.inside = true // the jail judges it
		return
	}
	kind, known := DestinationKind(""), false
	switch {
	case slices.Contains(f.hints.Destinations, top) || slices.Contains(f.hints.Destinations, name):
		kind, known = ToAddress, true
		if k, ok := kindOfName(name); ok && k != ToID && k != ToPath {
			kind = k
		}
	case slices.Contains(f.hints.Mentions, top):
		for _, m := range mentions(value) {
			f.add(m.kind, pointer, m.value)
		}
		return
	case text && (format == "email" || format == "idn-email"):
		kind, known = ToAddress, true
	case text && (format == "uri" || format == "iri" || format == "url" || format == "hostname" || format == "idn-hostname"):
		kind, known = ToURL, true
	default:
		kind, known = kindOfName(name)
	}
	if !text && kind != ToID && kind != ToAccount {
		return // an amount, a limit
	}
	if f.shapes(pointer, value) {
		return
	}
	switch {
	case !known:
	case kind == ToID && !f.destructive:
	case kind == ToAddress && !f.sends && pathShaped(value): // the "to" of a move
		if f.outside(value) {
			f.add(ToPath, pointer, value)
		} else {
			f.inside = true
		}
	case kind == ToPath && !f.outside(value):
		f.inside = true
	case kind == ToAddress:
		for _, one := range splitList(value) {
			f.add(kind, pointer, one)
		}
	default:
		f.add(kind, pointer, value)
	}
}

// shapes adds value for what it looks like, whatever it is called.
func (f *finder) shapes(pointer, value string) bool {
	switch {
	case isURL(value):
		f.add(ToURL, pointer, value)
	case channelID.MatchString(value):
		f.add(ToChannel, pointer, value)
	case isIBAN(value):
		f.add(ToAccount, pointer, value)
	default:
		list := splitList(value)
		if len(list) == 0 || slices.ContainsFunc(list, func(one string) bool { return bareAddress(one) == "" }) {
			return false
		}
		for _, one := range list {
			f.add(ToAddress, pointer, one)
		}
	}
	return true
}

func (f *finder) add(kind DestinationKind, pointer, value string) {
	d := Destination{Kind: kind, Arg: pointer, Value: value}
	if f.seen == nil {
		f.seen = map[Destination]bool{}
	}
	switch {
	case f.seen[d]:
	case len(f.found) == mostDestinations:
		f.more++
	default:
		f.seen[d] = true
		f.found = append(f.found, d)
	}
}

// outside reports whether a path may lie outside of every root, by its name.
func (f *finder) outside(p string) bool {
	if strings.HasPrefix(p, "~") {
		return true
	}
	if !filepath.IsAbs(p) {
		return !filepath.IsLocal(p)
	}
	p = filepath.Clean(p)
	for _, root := range f.roots {
		if root = filepath.Clean(root); p == root || strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/") {
			return false
		}
	}
	return true
}

// nameKinds are argument names that say what their value is, by their words.
var nameKinds = map[string]DestinationKind{
	"to": ToAddress, "cc": ToAddress, "bcc": ToAddress, "recipient": ToAddress, "email": ToAddress, "mail": ToAddress,
	"attendee": ToAddress, "participant": ToAddress, "invitee": ToAddress, "guest": ToAddress, "addressee": ToAddress,
	"phone": ToAddress, "msisdn": ToAddress, "username": ToAddress, "payee": ToAddress, "assignee": ToAddress, "collaborator": ToAddress,
	"url": ToURL, "uri": ToURL, "link": ToURL, "href": ToURL, "endpoint": ToURL, "webhook": ToURL, "website": ToURL,
	"host": ToURL, "hostname": ToURL, "domain": ToURL, "callback": ToURL,
	"channel": ToChannel, "room": ToChannel,
	"account": ToAccount, "iban": ToAccount, "wallet": ToAccount,
	"path": ToPath, "file": ToPath, "filename": ToPath, "filepath": ToPath, "dest": ToPath, "destination": ToPath,
	"output": ToPath, "dir": ToPath, "directory": ToPath, "folder": ToPath,
	"id": ToID, "uuid": ToID, "guid": ToID,
}

// kindOfName reads an argument's name. The last word decides (email_address,
// webhook_url, file_id), but for a few pairs.
func kindOfName(name string) (DestinationKind, bool) {
	w := nameWords(name)
	if len(w) == 0 {
		return "", false
	}
	last := singular(w[len(w)-1])
	first := singular(w[0])
	switch {
	case last == "id" && len(w) > 1 && (w[len(w)-2] == "channel" || w[len(w)-2] == "room"):
		return ToChannel, true
	case last == "id" && len(w) > 1 && (w[len(w)-2] == "account" || w[len(w)-2] == "wallet"):
		return ToAccount, true
	case last == "address" || last == "number" || last == "name":
		switch {
		case len(w) == 1:
			if last == "address" {
				return ToAddress, true
			}
			return "", false
		case first == "account" || first == "iban" || first == "wallet" || first == "card":
			return ToAccount, true
		case last == "name" && (first == "host" || first == "domain"):
			return ToURL, true
		case last == "name" && first == "channel":
			return ToChannel, true
		case last == "name" && first != "recipient" && first != "payee" && first != "user":
			return "", false
		case last == "number" && first != "phone":
			return "", false
		}
		return ToAddress, true
	case last == "to" && len(w) > 1 && (first == "reply" || first == "forward" || first == "send" || first == "share" || first == "transfer" || first == "mail"):
		return ToAddress, true
	case last == "to" && len(w) > 1: // date_to, valid_to
		return "", false
	}
	k, ok := nameKinds[last]
	return k, ok
}

func singular(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && w != "address" {
		return strings.TrimSuffix(w, "s")
	}
	if w == "addresses" {
		return "address"
	}
	if w == "ids" {
		return "id"
	}
	return w
}

// nameWords cuts send_to, sendTo and Send-To alike.
func nameWords(name string) []string {
	var words []string
	var w []rune
	flush := func() {
		if len(w) > 0 {
			words = append(words, strings.ToLower(string(w)))
			w = w[:0]
		}
	}
	var before rune
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(before):
			flush()
			w = append(w, r)
		default:
			w = append(w, r)
		}
		before = r
	}
	flush()
	return words
}

var (
	channelID = regexp.MustCompile(`^[CDGUW][A-Z0-9]{8,14}$`)
	scheme    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://\S+$`)
	ibanShape = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$`)
)

func isURL(s string) bool {
	return scheme.MatchString(s) || len(s) > 7 && strings.EqualFold(s[:7], "mailto:") && !strings.ContainsAny(s, " \n")
}

// isIBAN looks at the shape only: a wrong checksum is still where money would
// be sent to.
func isIBAN(s string) bool {
	c := strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(s))
	return len(s) <= 50 && ibanShape.MatchString(c) && strings.Trim(c[4:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != ""
}

func pathShaped(s string) bool {
	return !strings.Contains(s, "@") && (strings.Contains(s, "/") || filepath.Ext(s) != "" && !strings.Contains(s, " "))
}

// splitList cuts "Ann <a@x.org>, b@y.org; c" where a list of recipients is cut,
// not inside quotes or angle brackets.
func splitList(s string) []string {
	var out []string
	start, quote, angle := 0, false, false
	for i, r := range s {
		switch {
		case r == '"':
			quote = !quote
		case quote:
		case r == '<':
			angle = true
		case r == '>':
			angle = false
		case (r == ',' || r == ';' || r == '\n') && !angle:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	out = append(out, s[start:])
	kept := out[:0]
	for _, one := range out {
		if one = strings.TrimSpace(one); one != "" {
			kept = append(kept, one)
		}
	}
	return kept
}

// mention is a destination named inside free text.
type mention struct {
	kind  DestinationKind
	value string
}

var mentionShape = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^\s"'<>|;)\x60\\]+|[\p{L}\p{N}.!#$%&*+/=?^_{|}~-]+@[\p{L}\p{N}.-]+\.[\p{L}]{2,}`)

// mentions finds addresses and URLs inside free text.
func mentions(text string) []mention {
	var out []mention
	for _, m := range mentionShape.FindAllString(text, 64) {
		if strings.Contains(m, "://") {
			out = append(out, mention{ToURL, m})
		} else {
			out = append(out, mention{ToAddress, m})
		}
	}
	return out
}

func escapePointer(k string) string {
	return strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")
}

func propertyOf(schema any, name string) any {
	m, _ := schema.(map[string]any)
	props, _ := m["properties"].(map[string]any)
	return props[name]
}

func itemsOf(schema any) any {
	m, _ := schema.(map[string]any)
	return m["items"]
}

func formatOf(schema any) string {
	m, _ := schema.(map[string]any)
	s, _ := m["format"].(string)
	return s
}
