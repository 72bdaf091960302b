package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
)

// Config is one [providers.NAME] table.
type Config struct {
	Kind    string `toml:"kind"`     // openai (the default) or anthropic
	BaseURL string `toml:"base_url"` // up to and with /v1
	Model   string `toml:"model"`
	// Profile is openai, llama-server, vllm, ollama, openrouter or compatible;
	// empty: told by the address, or asked.
	Profile string `toml:"profile"`

	APIKeyEnv  string            `toml:"api_key_env"` // name of the variable, not the key
	APIKey     string            `toml:"api_key"`
	HeadersEnv map[string]string `toml:"headers_env"` // header = name of a variable

	ContextWindow int      `toml:"context_window"` // tokens; 0: asked of the endpoint
	Vision        bool     `toml:"vision"`
	InputPrice    *float64 `toml:"input_price_per_mtok"` // USD; no cost is told unless both are set
	OutputPrice   *float64 `toml:"output_price_per_mtok"`
	CachedPrice   *float64 `toml:"cached_price_per_mtok"`

	Temperature *float64 `toml:"temperature"`
	Seed        *int     `toml:"seed"`
	Effort      string   `toml:"effort"`          // reasoning effort, as the provider spells it
	Thinking    int      `toml:"thinking_budget"` // tokens; anthropic

	MaxRetries        *int     `toml:"max_retries"` // 3 tries
	RetryAfterCapSecs int      `toml:"retry_after_cap_secs"`
	IdleTimeoutSecs   int      `toml:"idle_timeout_secs"` // silence between two pieces
	Fallbacks         []string `toml:"fallbacks"`         // names of other providers
}

// Kinds and profiles.
const (
	KindOpenAI    = "openai"
	KindAnthropic = "anthropic"

	ProfileOpenAI     = "openai"
	ProfileLlama      = "llama-server"
	ProfileVLLM       = "vllm"
	ProfileOllama     = "ollama"
	ProfileOpenRouter = "openrouter"
	ProfileCompatible = "compatible" // anything else
)

var (
	profiles = []string{ProfileOpenAI, ProfileLlama, ProfileVLLM, ProfileOllama, ProfileOpenRouter, ProfileCompatible}
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Validate refuses what cannot work, naming the key.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch c.Kind {
	case "", KindOpenAI, KindAnthropic:
	default:
		bad("kind is openai or anthropic, not %q", c.Kind)
	}
	if c.BaseURL != "" {
		if u, err := url.Parse(c.BaseURL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			bad("base_url %q is no http or https address", c.BaseURL)
		}
	}
	if c.Model == "" {
		bad("model is missing")
	}
	if c.Profile != "" && !slices.Contains(profiles, c.Profile) {
		bad("profile is one of %s, not %q", strings.Join(profiles, ", "), c.Profile)
	}
	// A key pasted where its variable's name belongs ends up in logs and
	// listings; say so without repeating it.
	if c.APIKeyEnv != "" && (!envName.MatchString(c.APIKeyEnv) || looksLikeKey(c.APIKeyEnv)) {
		bad("api_key_env is the name of an environment variable (such as OPENAI_API_KEY), not the key itself")
	}
	for h, v := range c.HeadersEnv {
		if !envName.MatchString(v) {
			bad("headers_env: the value for %q is the name of an environment variable, not the header's value", h)
		}
	}
	for key, n := range map[string]int{"context_window": c.ContextWindow, "retry_after_cap_secs": c.RetryAfterCapSecs, "idle_timeout_secs": c.IdleTimeoutSecs, "thinking_budget": c.Thinking} {
		if n < 0 {
			bad("%s is negative", key)
		}
	}
	if c.MaxRetries != nil && (*c.MaxRetries < 1 || *c.MaxRetries > 10) {
		bad("max_retries counts tries, 1 to 10")
	}
	if c.Kind == KindAnthropic && (c.Temperature != nil || c.Seed != nil) {
		bad("anthropic takes neither temperature nor seed: remove them")
	}
	return errors.Join(errs...)
}

func looksLikeKey(s string) bool {
	return strings.HasPrefix(s, "sk_") || len(s) >= 32 && strings.ContainsAny(s, "0123456789") && strings.ToUpper(s) != s
}

// Secrets reads the key and the extra headers out of the environment. It fails
// where a named variable is not set.
func (c Config) Secrets(getenv func(string) string) (key string, headers map[string]string, err error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	key = c.APIKey
	if c.APIKeyEnv != "" {
		if key = getenv(c.APIKeyEnv); key == "" {
			return "", nil, fmt.Errorf("api_key_env: %s is not set in this process's environment (a service has its own, not your shell's)", c.APIKeyEnv)
		}
	}
	headers = make(map[string]string, len(c.HeadersEnv))
	for h, name := range c.HeadersEnv {
		if headers[h] = getenv(name); headers[h] == "" {
			return "", nil, fmt.Errorf("headers_env: %s, for the header %s, is not set", name, h)
		}
	}
	return key, headers, nil
}

// Deps is what an adapter takes from outside. Zero values work.
type Deps struct {
	Key       string
	Headers   map[string]string
	Transport http.RoundTripper
	Now       func() time.Time
}

// Model is an agent.Model that can also be asked about its endpoint.
type Model interface {
	agent.Model
	// ListModels answers what the endpoint serves.
	ListModels(ctx context.Context) ([]Listed, error)
	// Probe asks the endpoint for what the configuration leaves open: its
	// profile and the context window. Not knowing is no error.
	Probe(ctx context.Context) error
}

// Listed is a model that an endpoint serves. Window is 0 where it does not say.
type Listed struct {
	ID      string `json:"id"`
	Window  int    `json:"context_window,omitempty"`
	OwnedBy string `json:"owned_by,omitempty"`
}

// New makes the adapter that the configuration names. name is the table's.
func New(name string, c Config, d Deps) (Model, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("[providers.%s] %w", name, err)
	}
	if c.Kind == KindAnthropic {
		return newMessages(name, c, d), nil
	}
	return newChat(name, c, d), nil
}
