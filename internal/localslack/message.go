package localslack

import (
	"encoding/json"
	"slices"
	"strconv"
)

// message is one message as the workspace keeps it. The store's lock guards
// every field; a byte slice in it is never changed in place, so that a copy of
// the struct may be read without the lock.
type message struct {
	TS          timestamp       `json:"ts"`
	ThreadTS    timestamp       `json:"thread_ts,omitempty"` // of the parent; 0 in a parent itself
	Channel     string          `json:"channel"`
	User        string          `json:"user"`
	Subtype     string          `json:"subtype,omitempty"`
	Text        string          `json:"text,omitempty"`
	ClientMsgID string          `json:"client_msg_id,omitempty"`
	Username    string          `json:"username,omitempty"`
	Blocks      json.RawMessage `json:"blocks,omitempty"`
	Attachments json.RawMessage `json:"attachments,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Files       []string        `json:"files,omitempty"`
	Edited      *edited         `json:"edited,omitempty"`
	Reactions   []reaction      `json:"reactions,omitempty"`
	Pinned      bool            `json:"pinned,omitempty"`
	Broadcast   bool            `json:"broadcast,omitempty"`
	Stream      *stream         `json:"stream,omitempty"`
	ForUser     string          `json:"-"` // set on an ephemeral message; those are never kept

	replies []*message // of a parent, ascending
}

type edited struct {
	User string    `json:"user"`
	TS   timestamp `json:"ts"`
}

type reaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
	Count int      `json:"count"`
}

// threadOf is the ts of the thread that m belongs to, its own if it could start one.
func (m *message) threadOf() timestamp {
	if m.ThreadTS != 0 {
		return m.ThreadTS
	}
	return m.TS
}

// wireMessage is a message object as Slack's API gives it, plus the local
// fields of the page's API.
type wireMessage struct {
	Type            string          `json:"type"`
	Subtype         string          `json:"subtype,omitempty"`
	Hidden          bool            `json:"hidden,omitempty"`
	User            string          `json:"user,omitempty"`
	Username        string          `json:"username,omitempty"`
	TS              string          `json:"ts"`
	ClientMsgID     string          `json:"client_msg_id,omitempty"`
	BotID           string          `json:"bot_id,omitempty"`
	AppID           string          `json:"app_id,omitempty"`
	Text            string          `json:"text"`
	Team            string          `json:"team,omitempty"`
	BotProfile      *botProfile     `json:"bot_profile,omitempty"`
	ThreadTS        string          `json:"thread_ts,omitempty"`
	ParentUserID    string          `json:"parent_user_id,omitempty"`
	Blocks          json.RawMessage `json:"blocks,omitempty"`
	Attachments     json.RawMessage `json:"attachments,omitempty"`
	Files           []any           `json:"files,omitempty"`
	Upload          *bool           `json:"upload,omitempty"`
	DisplayAsBot    *bool           `json:"display_as_bot,omitempty"`
	Metadata        json.RawMessage `json:"metadata,omitempty"`
	Edited          *wireEdited     `json:"edited,omitempty"`
	Reactions       []reaction      `json:"reactions,omitempty"`
	PinnedTo        []string        `json:"pinned_to,omitempty"`
	ReplyCount      int             `json:"reply_count,omitempty"`
	ReplyUsersCount int             `json:"reply_users_count,omitempty"`
	LatestReply     string          `json:"latest_reply,omitempty"`
	ReplyUsers      []string        `json:"reply_users,omitempty"`
	IsLocked        *bool           `json:"is_locked,omitempty"`
	Subscribed      *bool           `json:"subscribed,omitempty"`

	// Of the page's API only.
	Channel   string      `json:"channel,omitempty"`
	Ephemeral bool        `json:"ephemeral,omitempty"`
	Stream    *wireStream `json:"stream,omitempty"`

	// Of message events only.
	EventTS     string `json:"event_ts,omitempty"`
	ChannelType string `json:"channel_type,omitempty"`
}

type wireEdited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

type botProfile struct {
	ID      string            `json:"id"`
	AppID   string            `json:"app_id"`
	UserID  string            `json:"user_id"`
	Name    string            `json:"name"`
	Icons   map[string]string `json:"icons"`
	Deleted bool              `json:"deleted"`
	Updated int64             `json:"updated"`
	TeamID  string            `json:"team_id"`
}

// wire renders m as the API shows it. The caller holds the store's lock.
func (s *store) wire(m *message) *wireMessage {
	out := &wireMessage{
		Type: "message", Subtype: m.Subtype, User: m.User, Username: m.Username, TS: m.TS.String(),
		ClientMsgID: m.ClientMsgID, Text: m.Text, Team: s.TeamID,
		Blocks: m.Blocks, Attachments: m.Attachments, Metadata: m.Metadata,
		Reactions: cloneReactions(m.Reactions),
	}
	if u := s.users[m.User]; u != nil && u.Bot {
		out.BotID, out.AppID, out.BotProfile = u.BotID, u.AppID, s.profiles[u.ID]
	}
	if m.Edited != nil {
		out.Edited = &wireEdited{User: m.Edited.User, TS: m.Edited.TS.String()}
	}
	if m.Pinned {
		out.PinnedTo = []string{m.Channel}
	}
	for _, id := range m.Files {
		if f := s.files[id]; f != nil {
			out.Files = append(out.Files, f.wire(s))
		} else {
			out.Files = append(out.Files, map[string]any{"id": id, "mode": "tombstone"})
		}
	}
	if len(m.Files) > 0 {
		no := false
		out.Upload, out.DisplayAsBot = &no, &no
	}
	switch {
	case m.ThreadTS != 0:
		out.ThreadTS = m.ThreadTS.String()
		if m.Broadcast {
			out.Subtype = "thread_broadcast"
		}
		if ch := s.channels[m.Channel]; ch != nil {
			if p := ch.find(m.ThreadTS); p != nil {
				out.ParentUserID = p.User
			}
		}
	case len(m.replies) > 0:
		last := m.replies[len(m.replies)-1]
		no := false
		out.ThreadTS, out.ReplyCount, out.LatestReply = out.TS, len(m.replies), last.TS.String()
		out.ReplyUsers = replyUsers(m.replies)
		out.ReplyUsersCount = len(out.ReplyUsers)
		out.IsLocked, out.Subscribed = &no, &no
	}
	return out
}

// wireLocal renders m as the page shows it.
func (s *store) wireLocal(m *message) *wireMessage {
	out := s.wire(m)
	out.Channel, out.Ephemeral = m.Channel, m.ForUser != ""
	out.BotProfile = nil
	if m.Stream != nil {
		out.Stream = m.Stream.wire()
	}
	for i, id := range m.Files {
		if f := s.files[id]; f != nil {
			out.Files[i] = s.localFile(f)
		}
	}
	return out
}

// replyUsers is the first five distinct authors, oldest first, as Slack lists them.
func replyUsers(replies []*message) []string {
	users := make([]string, 0, 5)
	for _, r := range replies {
		if !slices.Contains(users, r.User) {
			if users = append(users, r.User); len(users) == 5 {
				break
			}
		}
	}
	return users
}

func cloneReactions(rs []reaction) []reaction {
	if len(rs) == 0 {
		return nil
	}
	out := slices.Clone(rs)
	for i := range out {
		out[i].Users = slices.Clone(out[i].Users)
	}
	return out
}

// withoutPayload is metadata as histories show it to those who didn't ask for
// all of it: the type alone.
func withoutPayload(metadata json.RawMessage) json.RawMessage {
	var m struct {
		EventType string `json:"event_type"`
	}
	if json.Unmarshal(metadata, &m) != nil || m.EventType == "" {
		return nil
	}
	return json.RawMessage(`{"event_type":` + strconv.Quote(m.EventType) + `}`)
}
