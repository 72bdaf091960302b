package tools

import (
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/safehttp"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

// Deps is what the built-in tools need from outside.
type Deps struct {
	Config   Config
	Search   []SearchConfig
	Image    ImageConfig // zero: no image_generate
	Security Security

	Sandbox  sandbox.Backend // nil: shell is withheld
	Withheld string          // why, in words, as sandbox.Select answers it
	Children Children        // told of the shell's process groups; may be nil

	Handles Handles                  // nil: no web_search and web_open
	Drafts  DraftState               // of a conversation, for todo's checks; nil: there are none
	Todos   TodoState                // nil: kept while the process lives
	Getenv  func(name string) string // for [[search]] api_key_env; nil: no variable is set

	MaxShow  int64             // bytes of a file that show_file takes; 25 MB if 0
	Resolver safehttp.Resolver // nil: the system's
}

// Withheld is a built-in that a run does not get, and why.
type Withheld struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Builtins makes the built-in tools that the configuration leaves in. What a
// missing part keeps out is withheld and said, never silently absent; a table
// that is wrong is an error. Whoever asked for the tools closes those that are
// io.Closers, which lets go of idle connections.
func Builtins(d Deps) (list []Tool, withheld []Withheld, err error) {
	if err := d.Config.Validate(); err != nil {
		return nil, nil, err
	}
	if err := d.Security.Validate(); err != nil {
		return nil, nil, err
	}
	if d.Todos == nil {
		d.Todos = NewTodoMemory()
	}
	locks := newWorkspaceLocks()
	all := []Tool{
		&fsRead{}, fsList{}, &fsWrite{locks}, &fsEdit{locks},
		&showFile{most: d.MaxShow}, &todo{d.Todos, d.Drafts},
		&httpFetch{d.client(0)},
	}
	if d.Sandbox != nil {
		all = append(all, &shell{backend: d.Sandbox, timeout: d.Config.ShellTimeout(), children: d.Children})
	} else {
		withheld = append(withheld, Withheld{"shell", or(d.Withheld, "no sandbox was chosen")})
	}
	web, why, err := d.web()
	if err != nil {
		return nil, nil, err
	}
	if err := d.Image.Validate(); err != nil {
		return nil, nil, err
	}
	if d.Image.URL != "" {
		all = append(all, newImageGenerate(d.Image))
	}
	all = append(all, web...)
	if why != "" {
		withheld = append(withheld, Withheld{"web_search", why}, Withheld{"web_open", why})
	}

	for _, t := range all {
		if d.Config.Offers(t.Name()) {
			list = append(list, t)
		} else {
			withheld = append(withheld, Withheld{t.Name(), "[tools] leaves it out"})
		}
	}
	return list, withheld, nil
}

// web makes web_search and web_open where a [[search]] is configured.
func (d Deps) web() (list []Tool, why string, err error) {
	var chain []searchBackend
	var missing []string
	for _, c := range d.Search {
		if c.Disabled {
			continue
		}
		if err := c.Validate(); err != nil {
			return nil, "", err
		}
		key := c.APIKey
		if key == "" && c.APIKeyEnv != "" && d.Getenv != nil {
			key = d.Getenv(c.APIKeyEnv)
		}
		if key == "" && c.Kind != "searxng" {
			missing = append(missing, fmt.Sprintf("%s is not set, so %s is left out", c.APIKeyEnv, c.Kind))
			continue
		}
		b, err := newSearchBackend(c, key)
		if err != nil {
			return nil, "", err
		}
		chain = append(chain, b)
	}
	switch {
	case len(chain) == 0 && len(missing) > 0:
		return nil, strings.Join(missing, "; "), nil
	case len(chain) == 0:
		return nil, "no [[search]] is configured", nil
	case d.Handles == nil:
		return nil, "there is nowhere to keep the handles of results", nil
	}
	narrows := d.Security.Trifecta != TrifectaAllow
	return []Tool{&webSearch{chain: chain, handles: d.Handles, narrows: narrows}, &webOpen{client: d.client(openRedirects), handles: d.Handles}}, "", nil
}

// client is the guarded client under the [security] table.
func (d Deps) client(redirects int) *safehttp.Client {
	return safehttp.New(safehttp.Policy{
		AllowedDomains: d.Security.AllowedDomains, BlockedDomains: d.Security.BlockedDomains,
		AllowPrivate: !d.Security.PrivateIPsBlocked(), Resolver: d.Resolver,
		MaxBody: fetchBody, MaxRedirects: redirects,
	})
}
