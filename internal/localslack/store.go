package localslack

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// store is the workspace's state. One lock guards it; a change is applied,
// written to the journal and published to pages before the lock is released,
// so all three agree on the order.
type store struct {
	seed

	mu        sync.RWMutex
	now       func() time.Time
	journal   *journal // nil: nothing is kept
	lastTS    timestamp
	roster    []*user // everyone, the bots of further apps behind the people
	users     map[string]*user
	byToken   map[string]*user
	profiles  map[string]*botProfile   // by user
	installed map[string]*installation // by the name of the manifest
	order     []string                 // channel ids in the order of their making
	channels  map[string]*channel
	files     map[string]*file
	homes     map[homeKey]*view
	titles    map[threadKey]string
	sessions  map[threadKey]string  // agent session status
	later     map[string]*scheduled // messages that are due at a time, by id

	ephemerals map[string][]*message // by user, newest last, bounded
	blobs      blobs
	links      *linkSigner
	fileBase   string
}

// homeKey names the Home tab that an app shows to a user.
type homeKey struct{ user, app string }

type threadKey struct {
	Channel string
	TS      timestamp
}

const maxEphemerals = 200 // a user

type user struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	Token    string `json:"token"`
	Owner    bool   `json:"owner,omitempty"`
	Bot      bool   `json:"bot,omitempty"`
	BotID    string `json:"bot_id,omitempty"`
	AppID    string `json:"app_id,omitempty"`
}

// channel is a public or a private channel, or direct messages: of two, or of
// a group.
type channel struct {
	ID       string   `json:"id"`
	Name     string   `json:"name,omitempty"`
	Topic    string   `json:"topic,omitempty"`
	Purpose  string   `json:"purpose,omitempty"`
	Created  int64    `json:"created"`
	Creator  string   `json:"creator"`
	Members  []string `json:"members"`
	IM       bool     `json:"im,omitempty"`
	Group    bool     `json:"group,omitempty"`
	Private  bool     `json:"private,omitempty"`
	Archived bool     `json:"archived,omitempty"`

	all []*message // every message, ascending by ts
	top []*message // those that a history shows: not replies, unless broadcast
}

func (c *channel) has(userID string) bool { return slices.Contains(c.Members, userID) }

// peer is whom a direct message is with, as userID sees it.
func (c *channel) peer(userID string) string {
	for _, m := range c.Members {
		if m != userID {
			return m
		}
	}
	return userID
}

// direct reports that c is direct messages rather than a channel.
func (c *channel) direct() bool { return c.IM || c.Group }

// public reports that everyone may read c.
func (c *channel) public() bool { return !c.IM && !c.Group && !c.Private }

// kind is the channel_type of events.
func (c *channel) kind() string {
	switch {
	case c.IM:
		return "im"
	case c.Group:
		return "mpim"
	case c.Private:
		return "group"
	}
	return "channel"
}

func byTS(m *message, ts timestamp) int { return cmp.Compare(m.TS, ts) }

func (c *channel) find(ts timestamp) *message {
	if i, ok := slices.BinarySearchFunc(c.all, ts, byTS); ok {
		return c.all[i]
	}
	return nil
}

func newStore(sd seed, now func() time.Time) *store {
	s := &store{
		seed: sd, now: now,
		users: map[string]*user{}, byToken: map[string]*user{}, profiles: map[string]*botProfile{}, installed: map[string]*installation{},
		channels: map[string]*channel{}, files: map[string]*file{}, homes: map[homeKey]*view{},
		later: map[string]*scheduled{}, titles: map[threadKey]string{}, sessions: map[threadKey]string{},
		ephemerals: map[string][]*message{}, links: newLinkSigner(now),
	}
	for _, u := range sd.Users {
		s.addUser(u)
	}
	for _, c := range sd.Channels {
		s.addChannel(c)
	}
	return s
}

// addUser happens before anything is served, so tokens and names need no lock.
func (s *store) addUser(u *user) {
	s.roster = append(s.roster, u)
	s.users[u.ID], s.byToken[u.Token] = u, u
	if u.Bot {
		s.profiles[u.ID] = &botProfile{ID: u.BotID, AppID: u.AppID, UserID: u.ID, Name: u.Name,
			Icons: map[string]string{}, Updated: s.Created, TeamID: s.TeamID}
	}
}

// close flushes and unlocks what is on disk.
func (s *store) close() error {
	if s.journal == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.Close()
}

func (s *store) addChannel(c *channel) {
	s.channels[c.ID] = c
	s.order = append(s.order, c.ID)
}

// nextTS is a timestamp later than every one before it.
func (s *store) nextTS() timestamp {
	s.lastTS = max(s.lastTS+1, timestamp(s.now().UnixMicro()))
	return s.lastTS
}

// insert puts m, whose TS is set, in its place. In almost every case that is the end.
func (s *store) insert(m *message) {
	c := s.channels[m.Channel]
	c.all = insertByTS(c.all, m)
	if m.ThreadTS == 0 || m.Broadcast {
		c.top = insertByTS(c.top, m)
	}
	if m.ThreadTS != 0 {
		if p := c.find(m.ThreadTS); p != nil {
			p.replies = insertByTS(p.replies, m)
		}
	}
	s.lastTS = max(s.lastTS, m.TS)
}

func insertByTS(list []*message, m *message) []*message {
	if n := len(list); n == 0 || list[n-1].TS < m.TS {
		return append(list, m)
	}
	i, ok := slices.BinarySearchFunc(list, m.TS, byTS)
	if ok {
		list[i] = m
		return list
	}
	return slices.Insert(list, i, m)
}

// remove takes m out of its channel and thread.
func (s *store) remove(m *message) {
	c := s.channels[m.Channel]
	c.all, c.top = removeByTS(c.all, m.TS), removeByTS(c.top, m.TS)
	if m.ThreadTS != 0 {
		if p := c.find(m.ThreadTS); p != nil {
			p.replies = removeByTS(p.replies, m.TS)
		}
	}
}

func removeByTS(list []*message, ts timestamp) []*message {
	if i, ok := slices.BinarySearchFunc(list, ts, byTS); ok {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// im returns the direct-message channel of two people, nil if there is none.
func (s *store) im(a, b string) *channel {
	for _, id := range s.order {
		if c := s.channels[id]; c.IM && c.has(a) && c.has(b) {
			return c
		}
	}
	return nil
}

// visible reports whether userID may read c: public channels are open to all
// members of the workspace, all else to its members.
func (s *store) visible(c *channel, userID string) bool { return c.public() || c.has(userID) }

// resolve finds the channel that an API argument names: an id, "#name", or a
// user's id, which stands for the direct messages with that user.
func (s *store) resolve(arg, caller string) *channel {
	if c := s.channels[arg]; c != nil {
		return c
	}
	if s.users[arg] != nil {
		return s.im(caller, arg)
	}
	name := strings.TrimPrefix(arg, "#")
	for _, id := range s.order {
		if c := s.channels[id]; !c.direct() && c.Name == name {
			return c
		}
	}
	return nil
}

// userByName finds a user by id or name.
func (s *store) userByName(name string) *user {
	if u := s.users[name]; u != nil {
		return u
	}
	for _, u := range s.roster {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// findEphemeral returns userID's ephemeral message with that ts.
func (s *store) findEphemeral(userID string, ts timestamp) *message {
	for _, m := range s.ephemerals[userID] {
		if m.TS == ts {
			return m
		}
	}
	return nil
}

func (s *store) addEphemeral(m *message) {
	list := append(s.ephemerals[m.ForUser], m)
	if len(list) > maxEphemerals {
		list = slices.Clone(list[len(list)-maxEphemerals:])
	}
	s.ephemerals[m.ForUser] = list
}

func (s *store) dropEphemeral(m *message) {
	s.ephemerals[m.ForUser] = slices.DeleteFunc(s.ephemerals[m.ForUser], func(e *message) bool { return e == m })
}
