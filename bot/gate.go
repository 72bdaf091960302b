package bot

import (
	"encoding/json"
	"strings"
)

// event is an Events API payload, as far as the door looks at it.
type event struct {
	App    string `json:"api_app_id"`
	Team   string `json:"team_id"`
	ID     string `json:"event_id"`
	Shared bool   `json:"is_ext_shared_channel"`
	Event  struct {
		Type        string            `json:"type"`
		Subtype     string            `json:"subtype"`
		Channel     string            `json:"channel"`
		ChannelType string            `json:"channel_type"`
		User        string            `json:"user"`
		UserTeam    string            `json:"user_team"`
		SourceTeam  string            `json:"source_team"`
		Team        string            `json:"team"`
		BotID       string            `json:"bot_id"`
		AppID       string            `json:"app_id"`
		Hidden      bool              `json:"hidden"`
		Text        string            `json:"text"`
		TS          string            `json:"ts"`
		ThreadTS    string            `json:"thread_ts"`
		DeletedTS   string            `json:"deleted_ts"`
		Tab         string            `json:"tab"`
		Files       []slackFile       `json:"files"`
		Attachments []slackAttachment `json:"attachments"`
		Message     *editedMessage    `json:"message"`
		Previous    *editedMessage    `json:"previous_message"`
		StreamTS    json.RawMessage   `json:"streaming_message_ts"`
	} `json:"event"`
}

type editedMessage struct {
	TS     string          `json:"ts"`
	User   string          `json:"user"`
	BotID  string          `json:"bot_id"`
	Text   string          `json:"text"`
	Edited json.RawMessage `json:"edited"`
}

// admission is what the gate says of an event.
type admission int

const (
	drop    admission = iota // noise: acknowledged, nothing kept
	keyOnly                  // a message that is not ours to answer: its key is kept, no body
	message                  // ours: to the sessions
	edited                   // an owner changed a message
	deleted                  // an owner took one back
	homeOpened
	stopPressed
	codeSent // somebody who is no owner may have sent a link code
)

// door is what the gate knows.
type door struct {
	me    identity
	owner bool // the author is an owner of this team
	known bool // the message stands in a thread that is a session
}

// admit judges an event before anything of it is kept. It is pure.
func (d door) admit(e event) admission {
	ev := e.Event
	switch ev.Type {
	case "app_home_opened":
		if ev.Tab == "home" {
			return homeOpened
		}
		return drop
	case "agent_session_stopped":
		return stopPressed
	case "message", "app_mention":
	default:
		return drop
	}
	if e.Team != d.me.Team {
		return drop
	}
	switch ev.Subtype {
	case "message_changed":
		// Unfurls, replies and our own streams tell of changes too: only a new
		// text by its author counts.
		if d.owner && ev.Message != nil && ev.Previous != nil && ev.Message.BotID == "" && ev.Message.Text != ev.Previous.Text {
			return edited
		}
		return drop
	case "message_deleted":
		if d.owner {
			return deleted
		}
		return drop
	case "", "file_share", "thread_broadcast":
	default:
		return drop
	}
	switch {
	case ev.BotID != "" || ev.User == d.me.User || ev.User == "" || ev.User == "USLACK" || ev.User == "USLACKBOT" || ev.Hidden:
		return drop
	case foreign(ev.UserTeam, d.me.Team) || foreign(ev.SourceTeam, d.me.Team):
		return keyOnly // Slack Connect: a person of another team
	case !d.owner && ev.Type == "message" && ev.Subtype == "" && strings.HasPrefix(ev.Channel, "D") && looksLikeCode(ev.Text):
		return codeSent
	case !d.owner:
		return keyOnly
	case ev.ChannelType == "im" || strings.HasPrefix(ev.Channel, "D"):
		return message
	case ev.Type == "app_mention" || mentions(ev.Text, d.me.User):
		return message
	case d.known:
		return message
	}
	return keyOnly
}

func foreign(team, ours string) bool { return team != "" && team != ours }

func mentions(text, user string) bool {
	return strings.Contains(text, "<@"+user+">") || strings.Contains(text, "<@"+user+"|")
}

// author is whose message an event tells of.
func (e event) author() string {
	ev := e.Event
	switch {
	case ev.Message != nil:
		return ev.Message.User
	case ev.Previous != nil:
		return ev.Previous.User
	}
	return ev.User
}
