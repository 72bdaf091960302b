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

	mu       sync.RWMutex
	now      func() time.Time
	journal  *journal // nil: nothing is kept
	lastTS   timestamp
	users    map[string]*user
	byToken  map[string]*user
	order    []string // channel ids in the order of their making
	channels map[string]*channel
	files    map[string]*file
	homes    map[string]*view // the Home view of each user
	titles   map[threadKey]string
	sessions map[threadKey]string // agent session status

	ephemerals map[string][]*message // by user, newest last, bounded
	blobs      blobs
	links      *linkSigner
	botProfile *botProfile
	fileBase   string
}

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

// channel is a public channel, or the direct messages of one person and a bot.
type channel struct {
	ID      string   `json:"id"`
	Name    string   `json:"name,omitempty"`
	Topic   string   `json:"topic,omitempty"`
	Created int64    `json:"created"`
	Creator string   `json:"creator"`
	Members []string `json:"members"`
	IM      bool     `json:"im,omitempty"`

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

func (c *channel) kind() string {
	if c.IM {
		return "im"
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
		users: map[string]*user{}, byToken: map[string]*user{},
		channels: map[string]*channel{}, files: map[string]*file{}, homes: map[string]*view{},
		titles: map[threadKey]string{}, sessions: map[threadKey]string{},
		ephemerals: map[string][]*message{}, links: newLinkSigner(now),
	}
	for _, u := range sd.Users {
		s.users[u.ID], s.byToken[u.Token] = u, u
	}
	bot := s.users[sd.BotUserID]
	s.botProfile = &botProfile{ID: bot.BotID, AppID: bot.AppID, UserID: bot.ID, Name: bot.Name,
		Icons: map[string]string{}, Updated: sd.Created, TeamID: sd.TeamID}
	for _, c := range sd.Channels {
		s.addChannel(c)
	}
	return s
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
// members of the workspace, direct messages to their two people.
func (s *store) visible(c *channel, userID string) bool { return !c.IM || c.has(userID) }

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
		if c := s.channels[id]; !c.IM && c.Name == name {
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
	for _, u := range s.seed.Users {
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
