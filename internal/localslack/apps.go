package localslack

import (
	"encoding/json"
	"slices"
	"strings"
)

// app is one app that is installed in the workspace.
type app struct {
	id        string
	token     string // xapp-
	verify    string // the old verification token, which payloads still carry
	bot       *user
	manifest  Manifest
	open      bool // installed without a manifest: everything is granted to it
	scopes    map[string]bool
	scopeList string
	sockets   *sockets
	hourly    hourly
	callback  json.RawMessage // what its event payloads have in common
}

// installation is what an app besides the first is known by; it is journaled,
// so that a restart gives the app the same ids and tokens.
type installation struct {
	Name   string `json:"name"` // of the manifest: the same name is the same app
	ID     string `json:"id"`
	Token  string `json:"token"`
	Verify string `json:"verify"`
	Bot    *user  `json:"bot"`
}

// install makes the apps of a workspace from its manifests: the first takes the
// place that every workspace has for one, without a manifest as an app that may
// do everything. Nothing is served yet.
func (w *Workspace) install() error {
	s := w.store
	first := &app{id: s.AppID, token: s.AppToken, verify: s.Verify, bot: s.users[s.BotUserID], open: len(w.cfg.Manifests) == 0}
	if first.open {
		first.manifest = Manifest{Name: first.bot.Name, Scopes: allScopes(w.methods), Home: true, Buttons: true}
	} else {
		first.manifest = w.cfg.Manifests[0]
	}
	w.addApp(first)
	for _, m := range w.cfg.Manifests[min(1, len(w.cfg.Manifests)):] {
		in := s.installed[m.Name]
		if in == nil {
			var err error
			if in, err = s.newInstallation(m); err != nil {
				return err
			}
		}
		w.addApp(&app{id: in.ID, token: in.Token, verify: in.Verify, bot: in.Bot, manifest: m})
	}
	w.app = first
	return nil
}

func (w *Workspace) addApp(a *app) {
	a.scopes = map[string]bool{}
	for _, scope := range a.manifest.Scopes {
		a.scopes[scope] = true
	}
	a.scopeList = strings.Join(a.manifest.Scopes, ",")
	a.sockets = newSockets(w, a)
	a.callback = w.callback(a)
	w.apps = append(w.apps, a)
}

// newInstallation makes up an app's ids and tokens, puts its bot into the public
// channels and opens its direct messages with everyone.
func (s *store) newInstallation(m Manifest) (*installation, error) {
	in := &installation{Name: m.Name, ID: newID("A0", 9), Verify: newSecret(12)}
	in.Token = "xapp-1-" + in.ID + "-" + newDigits(13) + "-" + newSecret(32)
	in.Bot = &user{ID: newID("U0", 9), Name: handle(m.BotName), RealName: m.BotName, Bot: true,
		BotID: newID("B0", 9), AppID: in.ID, Token: "xoxb-" + newDigits(13) + "-" + newDigits(13) + "-" + newSecret(12)}
	records := []*record{{App: in}}
	for _, id := range s.order {
		if c := s.channels[id]; c.public() {
			next := *c
			next.Members = append(slices.Clone(c.Members), in.Bot.ID)
			records = append(records, &record{Chan: &next})
		}
	}
	for _, p := range s.roster {
		if !p.Bot {
			records = append(records, &record{Chan: &channel{ID: newID("D0", 9), IM: true, Created: s.now().Unix(), Creator: p.ID,
				Members: []string{p.ID, in.Bot.ID}}})
		}
	}
	for _, rec := range records {
		if err := s.write(rec); err != nil {
			return nil, err
		}
		s.apply(rec)
	}
	return in, nil
}

// appOf is the app whose bot that user is, nil for a person.
func (w *Workspace) appOf(userID string) *app {
	for _, a := range w.apps {
		if a.bot.ID == userID {
			return a
		}
	}
	return nil
}

// appByID is the app with that id; "" is the first.
func (w *Workspace) appByID(id string) *app {
	if id == "" {
		return w.app
	}
	for _, a := range w.apps {
		if a.id == id {
			return a
		}
	}
	return nil
}

// hears reports whether the app subscribed to such an event.
func (a *app) hears(kind string, ch *channel) bool {
	return a.open || slices.Contains(a.manifest.Events, subscription(kind, ch))
}

// command is the app that a slash command belongs to, nil if none. An app
// without a manifest takes every command that no other has.
func (w *Workspace) command(name string) *app {
	for _, a := range w.apps {
		if slices.ContainsFunc(a.manifest.Commands, func(c Command) bool { return c.Command == name }) {
			return a
		}
	}
	if w.app.open && len(name) > 1 && name[0] == '/' {
		return w.app
	}
	return nil
}

// shortcut is a shortcut and the app that it belongs to. An app without a
// manifest has every one: on a message where one is named, else a global one.
func (w *Workspace) shortcut(appID, callback string, onMessage bool) (*app, Shortcut) {
	for _, a := range w.apps {
		for _, s := range a.manifest.Shortcuts {
			if s.CallbackID == callback && (appID == "" || appID == a.id) {
				return a, s
			}
		}
	}
	if w.app.open && callback != "" && (appID == "" || appID == w.app.id) {
		kind := map[bool]string{true: "message", false: "global"}[onMessage]
		return w.app, Shortcut{Name: callback, CallbackID: callback, Type: kind}
	}
	return nil, Shortcut{}
}
