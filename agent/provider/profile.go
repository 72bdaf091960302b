package provider

import (
	"net"
	"net/url"
	"strings"
	"sync"
)

// quirks is what a server wants differently from its neighbours. It begins with
// what its profile is known to want and learns from refusals: a 400 that names
// the parameter is the server's own documentation.
type quirks struct {
	mu            sync.Mutex
	echo          echo
	newMaxTokens  bool // max_completion_tokens
	noUsageOption bool // stream_options refused
	noTemperature bool
	noSeed        bool
	noEffort      bool
	learned       int
}

// echo says which thoughts go back with the history.
type echo uint8

const (
	echoAsCame echo = iota // under the names that they came with
	echoNone
	echoAll // reasoning_content on every assistant message, empty where there is none
)

func quirksOf(profile string) *quirks {
	q := &quirks{}
	switch profile {
	case ProfileOpenAI:
		q.newMaxTokens = true
		q.echo = echoNone
	}
	return q
}

// shape is a copy for one request.
type shape struct {
	echo                                                         echo
	newMaxTokens, noUsageOption, noTemperature, noSeed, noEffort bool
}

func (q *quirks) shape() shape {
	q.mu.Lock()
	defer q.mu.Unlock()
	return shape{q.echo, q.newMaxTokens, q.noUsageOption, q.noTemperature, q.noSeed, q.noEffort}
}

// learn reads a refusal and tells whether asking again, differently, makes
// sense.
func (q *quirks) learn(status int, text string) bool {
	if status != 400 && status != 422 {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.learned >= 8 { // two refusals that contradict each other must not go on for ever
		return false
	}
	t := strings.ToLower(text)
	set := func(flag *bool, v bool) bool {
		if *flag == v {
			return false
		}
		*flag = v
		q.learned++
		return true
	}
	switch {
	case strings.Contains(t, "stream_options"):
		return set(&q.noUsageOption, true)
	case strings.Contains(t, "max_completion_tokens") && strings.Contains(t, "max_tokens"):
		// "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens'", or the reverse
		return set(&q.newMaxTokens, strings.Index(t, "max_tokens") < strings.Index(t, "max_completion_tokens"))
	case strings.Contains(t, "max_completion_tokens"):
		return set(&q.newMaxTokens, false)
	case strings.Contains(t, "reasoning_effort"):
		return set(&q.noEffort, true)
	case strings.Contains(t, "reasoning_content") || strings.Contains(t, "reasoning_details") || strings.Contains(t, "'reasoning'"):
		want := echoNone
		if containsAny(t, []string{"missing", "required", "must be", "passed back", "provide", "need"}) && !containsAny(t, []string{"not permitted", "extra", "unexpected", "unknown", "unsupported", "unrecognized"}) {
			want = echoAll
		}
		if q.echo == want {
			return false
		}
		q.echo = want
		q.learned++
		return true
	case strings.Contains(t, "temperature"):
		return set(&q.noTemperature, true)
	case strings.Contains(t, "seed"):
		return set(&q.noSeed, true)
	}
	return false
}

// profileOf tells a server by its address; "" where only asking helps.
func profileOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	switch {
	case host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com"):
		return ProfileOpenAI
	case host == "openrouter.ai" || strings.HasSuffix(host, ".openrouter.ai"):
		return ProfileOpenRouter
	case u.Port() == "11434":
		return ProfileOllama
	case host == "localhost" || net.ParseIP(host) != nil:
		return "" // a server on this machine or network: llama-server and vLLM share port 8080 and 8000 with the world
	}
	return ProfileCompatible
}
