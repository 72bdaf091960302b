package redact

import (
	"regexp"
	"strings"
)

// pattern is the shape of a well-known secret. hint is a literal that every match holds, so that the common log line
// costs a substring search and no regular expression.
type pattern struct {
	hint string
	fold bool // the hint is compared without case
	re   *regexp.Regexp
	with string
}

// patterns never match a quote, and never half of a backslash escape, so that masking one inside a JSON string leaves
// a JSON string.
var patterns = []pattern{
	{hint: "PRIVATE KEY", re: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s,:]|\\+(?:[nr]|u000[aAdD])|-[A-Za-z0-9])*(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)?`), with: Mask},
	{hint: "xox", re: regexp.MustCompile(`xox[a-z](?:[.-][A-Za-z0-9]+)*-[A-Za-z0-9-]{4,}`), with: Mask},
	{hint: "xapp-", re: regexp.MustCompile(`xapp-[A-Za-z0-9-]{4,}`), with: Mask},
	{hint: "sk-", re: regexp.MustCompile(`\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{12,}`), with: Mask},
	{hint: "gh", re: regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{16,}`), with: Mask},
	{hint: "github_pat_", re: regexp.MustCompile(`github_pat_[A-Za-z0-9_]{16,}`), with: Mask},
	{hint: "IA", re: regexp.MustCompile(`\bA[KS]IA[0-9A-Z]{16}\b`), with: Mask},
	{hint: "AIza", re: regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`), with: Mask},
	{hint: "hooks.slack.com/", re: regexp.MustCompile(`(hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_-]+`), with: "${1}" + Mask},
	{hint: "bearer", fold: true, re: regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}`), with: "${1}" + Mask},
	{hint: "basic", fold: true, re: regexp.MustCompile(`(?i)(authorization:?["'=]?\s*:?\s*["']?basic\s+)[A-Za-z0-9+/=]{8,}`), with: "${1}" + Mask},
}

func maskPatterns(s string) string {
	for _, p := range patterns {
		if p.fold && !containsFold(s, p.hint) || !p.fold && !strings.Contains(s, p.hint) {
			continue
		}
		s = p.re.ReplaceAllString(s, p.with)
	}
	return s
}

// containsFold is strings.Contains without regard to ASCII case; lower must be lower-case.
func containsFold(s, lower string) bool {
	for i := 0; i+len(lower) <= len(s); i++ {
		if s[i]|0x20 == lower[0] && strings.EqualFold(s[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}
