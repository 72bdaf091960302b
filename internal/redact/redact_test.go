package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPatterns(t *testing.T) {
	r := New()
	key := "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA+/=\n-----END RSA PRIVATE KEY-----"
	escaped, _ := json.Marshal(key)
	tests := []struct{ in, want string }{
		{"token xoxb-123456789012-abcDEF done", "token [redacted] done"},
		{"xoxp-1-2-3456", "[redacted]"},
		{"xoxa-2-abcd", "[redacted]"},
		{"xoxr-abcd", "[redacted]"},
		{"xoxs-abcd", "[redacted]"},
		{"xoxe.xoxp-1-Mi0yLTEyMzQ", "[redacted]"},
		{"xoxe-1-My0xLTEyMzQ", "[redacted]"},
		{"xapp-1-A012-345-deadbeef", "[redacted]"},
		{"key=sk-abcdefghijklmnop1234", "key=[redacted]"},
		{"sk-ant-api03-AbCdEf_gh-ijkl", "[redacted]"},
		{"sk-proj-AbCdEf_gh-ijklmno", "[redacted]"},
		{"ghp_abcdefghijklmnopqrst1234", "[redacted]"},
		{"gho_abcdefghijklmnopqrst1234", "[redacted]"},
		{"github_pat_11ABCDEFG0abcdefghij", "[redacted]"},
		{"AKIAIOSFODNN7EXAMPLE", "[redacted]"},
		{"Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]"},
		{"authorization: bearer ABCDEFGHIJ==", "authorization: bearer [redacted]"},
		{"Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"},
		{"https://hooks.slack.com/services/T0/B0/abc?x=1", "https://hooks.slack.com/services/[redacted]?x=1"},
		{key, "[redacted]"},
		{string(escaped), `"[redacted]"`},
		{"-----BEGIN PRIVATE KEY-----\nMIIcut", "[redacted]"},
		{"-----BEGIN PUBLIC KEY-----\nMII", "-----BEGIN PUBLIC KEY-----\nMII"},
		{`{"a":"xoxb-1-abcd","b":["Bearer abcdefgh"]}`, `{"a":"[redacted]","b":["Bearer [redacted]"]}`},
		{"nothing here", "nothing here"},
		{"the task-force is disk-bound and risk-averse", "the task-force is disk-bound and risk-averse"},
		{"a bearer of news", "a bearer of news"},
		{"foxbox-1234", "foxbox-1234"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := r.String(tt.in); got != tt.want {
			t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestSpellings(t *testing.T) {
	const secret = `p/ss "w\rd" & +é<`
	r := New(secret)
	inJSON, _ := json.Marshal(map[string]string{"k": secret})
	noHTML := strings.NewReplacer(`\u003c`, "<", `\u0026`, "&").Replace(string(inJSON))
	b64 := base64.StdEncoding
	tests := map[string]string{
		"raw":              "x" + secret + "y",
		"query":            "https://x.example/?k=" + url.QueryEscape(secret) + "&z=1",
		"query, lower hex": regexp.MustCompile(`%..`).ReplaceAllStringFunc(url.QueryEscape(secret), strings.ToLower),
		"path":             "/a/" + url.PathEscape(secret) + "/b",
		"JSON":             string(inJSON),
		"JSON, HTML kept":  noHTML,
	}
	for name, in := range tests {
		got := r.String(in)
		if got == in || strings.Contains(got, "ss") {
			t.Errorf("%s: %q became %q", name, in, got)
		}
		if !r.Holds(in) {
			t.Errorf("%s: Holds(%q) is false", name, in)
		}
	}
	for _, user := range []string{"", "u", "us", "use", "user:"} {
		for _, tail := range []string{"", "x", "xy", "xyz"} {
			for _, enc := range []*base64.Encoding{b64, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				in := enc.EncodeToString([]byte(user + secret + tail))
				got := r.String(in)
				if !strings.Contains(got, Mask) {
					t.Errorf("base64 of %q+secret+%q: %q is unchanged", user, tail, in)
				}
				// What is left around the mask must not give the secret back.
				for part := range strings.SplitSeq(got, Mask) {
					if len(part) > len(user)*2+len(tail)*2+6 {
						t.Errorf("base64 of %q+secret+%q leaves %q", user, tail, part)
					}
				}
			}
		}
	}
}

func TestShortSecretsAreNotNeedles(t *testing.T) {
	r := New("", "a", "12345", "     ", "abc  ")
	const in = "a 12345 abc     the rest"
	if got := r.String(in); got != in || r.Holds(in) {
		t.Errorf("got %q", got)
	}
	r.Add("123456")
	if got := r.String("x123456y"); got != "x"+Mask+"y" {
		t.Errorf("got %q", got)
	}
	r.Add("123456") // twice is once
	if len(r.needles) != len(New("123456").needles) {
		t.Errorf("needles: %q", r.needles)
	}
}

func TestOneSecretInsideAnother(t *testing.T) {
	for _, secrets := range [][]string{{"secret", "secret-long"}, {"secret-long", "secret"}} {
		if got := New(secrets...).String("a secret-long b secret c"); got != "a [redacted] b [redacted] c" {
			t.Errorf("%q: %q", secrets, got)
		}
	}
}

func TestHoldsDoesNotGuess(t *testing.T) {
	if New().Holds("xoxb-123456-abcdef") {
		t.Error("a pattern counts as a loaded secret")
	}
}

func TestJSONStaysJSON(t *testing.T) {
	tests := []struct{ name, secret, in, want string }{
		{"ends with a backslash", `abcdef\`, `{"a":"abcdef\"x","b":1}`, ""}, // the raw spelling occurs across an escape
		{"holds a quote", `abc","d":`, `{"x":"abc","d":1}`, ""},
		{"digits of a number", `123456`, `{"n":91234567,"s":"123456"}`, ""},
		{"a key", `secret-key`, `{"secret-key":[true,null,1.50]}`, `{"[redacted]":[true,null,1.50]}`},
	}
	for _, tt := range tests {
		got := New(tt.secret).String(tt.in)
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: %s became %s", tt.name, tt.in, got)
		}
		if tt.want != "" && got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestAnyDocumentStaysOneAndLosesItsSecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z"\\/<&\n0-9é]{6,12}`).Draw(t, "secret")
		if len([]rune(strings.TrimSpace(secret))) < minSecret {
			t.Skip("too short to be a needle")
		}
		around := rapid.SliceOfN(rapid.StringMatching(`[a-z"\\{},:0-9]{0,8}`), 4, 4).Draw(t, "around")
		doc, err := json.Marshal(map[string]any{around[0]: around[1] + secret + around[2], "n": []any{1, secret, nil}, "k" + secret: around[3]})
		if err != nil {
			t.Fatal(err)
		}
		got := New(secret).Bytes(doc)
		if !json.Valid(got) {
			t.Fatalf("%s became %s", doc, got)
		}
		// Read back, no value and no key holds the secret, unless the mask itself spells it.
		var v map[string]any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatal(err)
		}
		flat, trimmed := flatten(v), strings.TrimSpace(secret)
		if strings.Contains(flat, trimmed) && !strings.Contains(Mask, trimmed) {
			t.Fatalf("%q is still in %s", trimmed, got)
		}
	})
}

func flatten(v any) string {
	switch v := v.(type) {
	case map[string]any:
		s := ""
		for k, e := range v {
			s += k + "\x00" + flatten(e) + "\x00"
		}
		return s
	case []any:
		s := ""
		for _, e := range v {
			s += flatten(e) + "\x00"
		}
		return s
	case string:
		return v
	default:
		return ""
	}
}

func FuzzString(f *testing.F) {
	f.Add(`{"a":"xoxb-1-abcd"}`, "secret")
	f.Add("-----BEGIN PRIVATE KEY-----\\n\\", `q"\x`)
	f.Add(`["Bearer \u0041bcdefghij"]`, "123456")
	f.Fuzz(func(t *testing.T, in, secret string) {
		r := New(secret)
		out := r.String(in)
		if json.Valid([]byte(in)) && !json.Valid([]byte(out)) {
			t.Errorf("with %q, %q became %q", secret, in, out)
		}
	})
}

func BenchmarkString(b *testing.B) {
	r := New("a-loaded-secret-1", "a-loaded-secret-2", "a-loaded-secret-3")
	line := `{"time":"2026-01-01T00:00:00Z","level":"INFO","msg":"call done","tool":"fs_read","thread":"T1/C1/1735689600.000100","ms":12}`
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		_ = r.String(line)
	}
}
