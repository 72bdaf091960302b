package localslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Manifest is what an app's manifest says that matters here: what it may do,
// what it hears of, and what people find of it.
type Manifest struct {
	Name      string
	BotName   string
	Commands  []Command
	Shortcuts []Shortcut
	Scopes    []string // of the bot's token
	Events    []string // that its bot hears of
	Domains   []string // whose links it unfurls
	Home      bool
	Buttons   bool // interactivity is on
}

// Slack's limits on manifests.
const (
	maxAppName     = 35
	maxCommandName = 32
	maxCommands    = 50
	maxShortcuts   = 10
	maxShortcut    = 24
	maxBotEvents   = 100
)

// manifestSections are the members that Slack's manifest schema knows.
var manifestSections = []string{"$schema", "_metadata", "app_directory", "display_information", "features", "oauth_config", "settings",
	"functions", "workflows", "datastores", "outgoing_domains", "types", "external_auth_providers", "mcp_servers"}

// ParseManifest reads an app's manifest as Slack's own page for apps takes it,
// in JSON. An error names every fault that it found.
func ParseManifest(raw []byte) (Manifest, error) {
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(raw, &sections); err != nil {
		return Manifest{}, fmt.Errorf("read the manifest: it must be a JSON object (a YAML manifest has to be converted first): %w", err)
	}
	var in struct {
		Display struct {
			Name string `json:"name"`
		} `json:"display_information"`
		Features struct {
			Home struct {
				Enabled bool `json:"home_tab_enabled"`
			} `json:"app_home"`
			Bot struct {
				Name string `json:"display_name"`
			} `json:"bot_user"`
			Commands  []Command  `json:"slash_commands"`
			Shortcuts []Shortcut `json:"shortcuts"`
			Domains   []string   `json:"unfurl_domains"`
		} `json:"features"`
		OAuth struct {
			Scopes struct {
				Bot []string `json:"bot"`
			} `json:"scopes"`
		} `json:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `json:"bot_events"`
			} `json:"event_subscriptions"`
			Interactivity struct {
				Enabled bool `json:"is_enabled"`
			} `json:"interactivity"`
			SocketMode bool `json:"socket_mode_enabled"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Manifest{}, fmt.Errorf("read the manifest: %w", err)
	}
	m := Manifest{Name: in.Display.Name, BotName: in.Features.Bot.Name, Commands: in.Features.Commands, Shortcuts: in.Features.Shortcuts,
		Scopes: in.OAuth.Scopes.Bot, Events: in.Settings.Events.Bot, Domains: in.Features.Domains,
		Home: in.Features.Home.Enabled, Buttons: in.Settings.Interactivity.Enabled}
	if m.BotName == "" {
		m.BotName = m.Name
	}
	faults := m.faults()
	for section := range sections {
		if !slices.Contains(manifestSections, section) {
			faults = append(faults, fmt.Errorf("%s is not a section of a manifest", section))
		}
	}
	if !in.Settings.SocketMode {
		faults = append(faults, errors.New("settings.socket_mode_enabled must be true: this workspace delivers over Socket Mode only"))
	}
	if len(faults) > 0 {
		return Manifest{}, fmt.Errorf("read the manifest: %w", errors.Join(faults...))
	}
	return m, nil
}

// faults are what Slack would refuse the manifest for.
func (m Manifest) faults() (out []error) {
	no := func(format string, args ...any) { out = append(out, fmt.Errorf(format, args...)) }
	if n := utf8.RuneCountInString(m.Name); n == 0 || n > maxAppName {
		no("display_information.name must have 1 to %d characters", maxAppName)
	}
	if len(m.Commands) > maxCommands {
		no("features.slash_commands may be %d at most", maxCommands)
	}
	for _, c := range m.Commands {
		if !strings.HasPrefix(c.Command, "/") || len(c.Command) < 2 || len(c.Command) > maxCommandName || strings.ContainsAny(c.Command, " \t") {
			no("the slash command %q must begin with / and have 2 to %d characters without spaces", c.Command, maxCommandName)
		}
	}
	if len(m.Shortcuts) > maxShortcuts {
		no("features.shortcuts may be %d at most", maxShortcuts)
	}
	for _, s := range m.Shortcuts {
		if s.Type != "global" && s.Type != "message" {
			no("the shortcut %q must be of type global or message", s.Name)
		}
		if s.CallbackID == "" || s.Name == "" || utf8.RuneCountInString(s.Name) > maxShortcut {
			no("the shortcut %q needs a callback_id and a name of at most %d characters", s.Name, maxShortcut)
		}
	}
	if (len(m.Commands) > 0 || len(m.Shortcuts) > 0) && !slices.Contains(m.Scopes, "commands") {
		no("slash commands and shortcuts need the bot scope commands")
	}
	if len(m.Events) > maxBotEvents {
		no("settings.event_subscriptions.bot_events may be %d at most", maxBotEvents)
	}
	for _, e := range m.Events {
		if e == "message" {
			no("bot_events must name message.channels, message.groups, message.im or message.mpim, not message")
		} else if need := eventScopes[e]; len(need) > 0 && !slices.ContainsFunc(need, func(s string) bool { return slices.Contains(m.Scopes, s) }) {
			no("the event %s needs the bot scope %s", e, strings.Join(need, " or "))
		}
	}
	return out
}

// eventScopes are the scopes of which an event needs one; events that aren't
// named need none.
var eventScopes = map[string][]string{
	"app_mention":           {"app_mentions:read"},
	"message.channels":      {"channels:history"},
	"message.groups":        {"groups:history"},
	"message.im":            {"im:history"},
	"message.mpim":          {"mpim:history"},
	"reaction_added":        {"reactions:read"},
	"reaction_removed":      {"reactions:read"},
	"pin_added":             {"pins:read"},
	"pin_removed":           {"pins:read"},
	"link_shared":           {"links:read"},
	"channel_created":       {"channels:read"},
	"channel_rename":        {"channels:read"},
	"channel_archive":       {"channels:read"},
	"channel_unarchive":     {"channels:read"},
	"group_rename":          {"groups:read"},
	"group_archive":         {"groups:read"},
	"group_unarchive":       {"groups:read"},
	"member_joined_channel": {"channels:read", "groups:read"},
	"member_left_channel":   {"channels:read", "groups:read"},
}

// subscription is the name under which an app subscribes to an event.
func subscription(kind string, ch *channel) string {
	if kind != "message" || ch == nil {
		return kind
	}
	switch ch.kind() {
	case "im", "mpim":
		return "message." + ch.kind()
	case "group":
		return "message.groups"
	}
	return "message.channels"
}
