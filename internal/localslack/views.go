package localslack

import (
	"slices"
	"time"
)

const (
	triggerLife = 3 * time.Second
	maxStack    = 3
	keptTrigger = time.Minute // how long a used or expired one is told apart from an unknown one
)

// modals are the open modals of every user, bottom first, and the triggers
// that may open more. The store's lock guards them.
type modals struct {
	clock    *clock
	stacks   map[string][]*view
	triggers map[string]*trigger
}

// trigger is the permission to open a view that a gesture leaves behind.
type trigger struct {
	app    *app
	user   string
	viewID string // of the modal that the gesture was made in
	until  time.Time
	used   bool
}

// newTrigger makes a trigger; the caller holds the store's lock.
func (m *modals) newTrigger(a *app, user, viewID string, s *store) string {
	id := newTriggerID()
	m.triggers[id] = &trigger{app: a, user: user, viewID: viewID, until: m.clock.Now().Add(triggerLife)}
	m.clock.AfterFunc(keptTrigger, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(m.triggers, id)
	})
	return id
}

// use spends the trigger that a call names.
func (m *modals) use(c *call) (*trigger, error) {
	id := c.args.str("trigger_id")
	if id == "" {
		id = c.args.str("interactivity_pointer")
	}
	t := m.triggers[id]
	switch {
	case id == "":
		return nil, fail("invalid_arguments", "[ERROR] missing required field: trigger_id")
	case t == nil, t.app != c.who.app:
		return nil, fail("invalid_trigger_id")
	case t.used:
		return nil, fail("exchanged_trigger_id")
	case m.clock.Now().After(t.until):
		return nil, fail("expired_trigger_id")
	}
	t.used = true
	return t, nil
}

// find is the open modal with that id, and whose it is.
func (m *modals) find(id string) *view {
	for _, stack := range m.stacks {
		for _, v := range stack {
			if v.ID == id {
				return v
			}
		}
	}
	return nil
}

func (m *modals) byExternal(id string) *view {
	for _, stack := range m.stacks {
		for _, v := range stack {
			if v.ExternalID == id {
				return v
			}
		}
	}
	return nil
}

func (m *modals) push(v *view) { m.stacks[v.User] = append(m.stacks[v.User], v) }

// close takes v off its user's stack; with all, every modal of the user.
func (m *modals) close(v *view, all bool) (closed []*view) {
	stack := m.stacks[v.User]
	if all {
		delete(m.stacks, v.User)
		return stack
	}
	m.stacks[v.User] = slices.DeleteFunc(slices.Clone(stack), func(o *view) bool { return o == v })
	return []*view{v}
}

// showView tells the pages of the view's user. The caller holds the store's lock.
func (w *Workspace) showView(op string, v *view) {
	w.pages.publish("view", map[string]any{"op": op, "view": w.localView(v)}, v.User)
}

func viewsOpen(c *call) (result, error) { return c.openView(false) }
func viewsPush(c *call) (result, error) { return c.openView(true) }

func (c *call) openView(push bool) (result, error) {
	v, err := readView(c)
	if err != nil {
		return nil, err
	}
	if v.Type != "modal" {
		return nil, fail("invalid_arguments", "[ERROR] only a modal can be opened")
	}
	w := c.w
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if v.ExternalID != "" && w.modals.byExternal(v.ExternalID) != nil {
		return nil, fail("duplicate_external_id")
	}
	t, err := w.modals.use(c)
	if err != nil {
		return nil, err
	}
	v.User, v.App = t.user, t.app.id
	if push {
		under := w.modals.find(t.viewID)
		if under == nil {
			return nil, fail("not_found", "[ERROR] the trigger didn't come from an open modal")
		}
		err = w.pushOn(under, v)
	} else {
		err = w.openRoot(v)
	}
	if err != nil {
		return nil, err
	}
	return result{"view": w.wireView(v)}, nil
}

// openRoot shows v as a modal of its own.
func (w *Workspace) openRoot(v *view) error {
	if len(w.modals.stacks[v.User]) >= maxStack {
		return fail("push_limit_reached")
	}
	v.ID, v.Hash = newID("V0", 9), newHash(w.cfg.Now())
	v.RootID = v.ID
	w.modals.push(v)
	w.showView("open", v)
	return nil
}

// pushOn puts v on top of the modal that it belongs to.
func (w *Workspace) pushOn(under, v *view) error {
	if len(w.modals.stacks[under.User]) >= maxStack {
		return fail("push_limit_reached")
	}
	v.ID, v.Hash, v.User = newID("V0", 9), newHash(w.cfg.Now()), under.User
	v.RootID, v.PreviousID = under.RootID, under.ID
	w.modals.push(v)
	w.showView("push", v)
	return nil
}

func viewsUpdate(c *call) (result, error) {
	next, err := readView(c)
	if err != nil {
		return nil, err
	}
	w := c.w
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	var v *view
	switch id, external := c.args.str("view_id"), c.args.str("external_id"); {
	case id != "":
		if v = w.modals.find(id); v == nil {
			v = w.homeByID(id)
		}
	case external != "":
		v = w.modals.byExternal(external)
	default:
		return nil, fail("invalid_arguments", "[ERROR] missing required field: view_id or external_id")
	}
	if v == nil || v.Type != next.Type || c.w.appByID(v.App) != c.who.app {
		return nil, fail("not_found")
	}
	if hash := c.args.str("hash"); hash != "" && hash != v.Hash {
		return nil, fail("hash_conflict")
	}
	if next.ExternalID != "" {
		if other := w.modals.byExternal(next.ExternalID); other != nil && other != v {
			return nil, fail("duplicate_external_id")
		}
	}
	v.replaceWith(next)
	v.Hash = newHash(w.cfg.Now())
	if v.Type == "home" {
		if err := w.store.write(&record{Home: v}); err != nil {
			return nil, err
		}
		w.showView("publish", v)
	} else {
		w.showView("update", v)
	}
	return result{"view": w.wireView(v)}, nil
}

func (w *Workspace) homeByID(id string) *view {
	for _, v := range w.store.homes {
		if v.ID == id {
			return v
		}
	}
	return nil
}

func viewsPublish(c *call) (result, error) {
	next, err := readView(c)
	if err != nil {
		return nil, err
	}
	if next.Type != "home" {
		return nil, fail("invalid_arguments", "[ERROR] only a home view can be published")
	}
	w := c.w
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	u := w.store.users[c.args.str("user_id")]
	if u == nil || u.Bot {
		return nil, fail("invalid_arguments", "[ERROR] user_id is not a person of this workspace")
	}
	if !c.who.app.manifest.Home {
		return nil, fail("not_enabled")
	}
	key := homeKey{u.ID, c.who.app.id}
	old := w.store.homes[key]
	if hash := c.args.str("hash"); hash != "" && (old == nil || hash != old.Hash) {
		return nil, fail("hash_conflict")
	}
	next.User, next.App, next.Hash = u.ID, c.who.app.id, newHash(w.cfg.Now())
	if next.ID = newID("V0", 9); old != nil {
		next.ID = old.ID
	}
	next.RootID = next.ID
	if err := w.store.write(&record{Home: next}); err != nil {
		return nil, err
	}
	w.store.homes[key] = next
	w.showView("publish", next)
	return result{"view": w.wireView(next)}, nil
}
