// Package redact keeps secrets out of what people read: logs, errors, notices and exports.
//
// It owns a list of needles (the secrets this process has loaded, in every spelling in which they travel) and a list
// of patterns (the shapes in which well-known tokens come). Whatever matches is replaced by Mask.
//
// It promises that a valid JSON document stays a valid JSON document, and that a secret added is masked from then on.
// It must never touch the arguments of a tool call or of a draft: what is shown there is what is sent, and a masked
// argument would be a lie. It knows nothing of the rooms that use it.
//
//	r := redact.New(botToken, apiKey)
//	log := slog.New(r.Handler(slog.NewTextHandler(os.Stderr, nil)))
//	log.Info("calling", "auth", "Bearer "+apiKey) // auth="Bearer [redacted]"
package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Mask stands where a secret stood. It holds no character that JSON, a URL's path or a shell word would have to quote.
const Mask = "[redacted]"

// minSecret is the shortest secret used as a needle. A shorter one would mask ordinary words all over the log, and
// would itself be told by the holes it leaves.
const minSecret = 6

// Redactor masks secrets. It is safe for concurrent use; the zero value knows the patterns and no secrets.
type Redactor struct {
	mu       sync.RWMutex
	needles  []string // longest first: an escaped spelling is tried before the raw one that it contains
	replacer *strings.Replacer
}

// New returns a Redactor that knows the well-known token patterns and the given secrets.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		r.Add(s)
	}
	return r
}

// Add makes secret, and its URL-encoded, base64 and JSON-escaped spellings, needles from now on. Secrets shorter than
// six characters are ignored. Adding one twice is harmless.
func (r *Redactor) Add(secret string) {
	secret = strings.TrimSpace(secret)
	if len([]rune(secret)) < minSecret {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range spellings(secret) {
		if !slices.Contains(r.needles, n) {
			r.needles = append(r.needles, n)
		}
	}
	slices.SortFunc(r.needles, func(a, b string) int {
		if c := cmp.Compare(len(b), len(a)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(r.needles))
	for _, n := range r.needles {
		pairs = append(pairs, n, Mask)
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// String returns s with every secret masked. A valid JSON document stays one.
func (r *Redactor) String(s string) string {
	out := r.mask(s)
	if out == s || !startsJSON(s) || !json.Valid([]byte(s)) || json.Valid([]byte(out)) {
		return out
	}
	// A secret that holds a quote or a backslash, or one made of digits only, was cut out across JSON's own syntax.
	if doc, ok := r.document(s); ok {
		return doc
	}
	return `"` + Mask + `"`
}

// Bytes is String for bytes. The result never shares memory with b.
func (r *Redactor) Bytes(b []byte) []byte { return []byte(r.String(string(b))) }

// Holds reports whether s holds one of the secrets that were added, in any spelling. Patterns do not count: this is
// the question that a refusal ("these arguments hold a loaded secret") is built on, and it must not guess.
func (r *Redactor) Holds(s string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, n := range r.needles {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}

func (r *Redactor) mask(s string) string {
	r.mu.RLock()
	replacer := r.replacer
	r.mu.RUnlock()
	if replacer != nil {
		s = replacer.Replace(s)
	}
	return maskPatterns(s)
}

func startsJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && strings.ContainsRune(`{["-0123456789tfn`, rune(s[0]))
}
