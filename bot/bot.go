package bot

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/slack-go/slack"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// Config is the [slack] and [digest] tables as this room reads them.
type Config struct {
	APIURL          string // "" = Slack; else a workspace's api_url, ending in /
	BotToken        string
	AppToken        string
	Streaming       string // auto, native, update, off
	FlushChars      int    // of a stream; 256
	FlushEvery      time.Duration
	MaxUploadBytes  int64
	TrustedChannels []string            // names (#general) or ids
	Approvers       map[string][]string // user → tools they decide ("*": all)
	Sockets         int                 // 2
	DigestChannel   string              // "" = the owner's DM
	DigestWhenEmpty string              // silent, say
}

// Deps are the rooms that bot stands before.
type Deps struct {
	DB       *record.DB
	Threads  *threads.Threads
	Outbox   *outbox.Outbox
	Triggers *triggers.Triggers
	// Health is the one line of the Home tab and of `status`.
	Health func() string
	// Doctor answers the findings for the word "doctor", as lines.
	Doctor func() []string
	HTTP   *http.Client // for files; nil: a client of our own
	Now    func() time.Time
	NewID  func() string
	Log    *slog.Logger
}

// Bot is one app in one workspace.
type Bot struct {
	Deps
	cfg Config
	api *slack.Client
	wire
	viewers viewers // of the Home tab (home.go)
}

// Rendering is what a post shall show now, made from the record. Whatever it
// leaves out is attached whole.
type Rendering struct {
	Text   string // the notification's text, and the fallback
	Blocks blockkit.Blocks
	// Tokens are the rows of its buttons, committed before it is sent and placed
	// once its ts is known.
	Tokens []threads.Token
	Attach []Attachment
	// Final: nothing can change any more.
	Final bool
}

// Attachment goes up beside a card whose text does not fit.
type Attachment struct {
	Name  string
	Title string
	Data  []byte
}

// Press is an interaction of a person, after the gate: a button, an input, a
// modal's submission, a shortcut, a slash command.
type Press struct {
	ID        string // the key under which it is kept (gesture.go); "" of a submission
	Kind      string // block_actions, view_submission, view_closed, shortcut, message_action, slash_command, word
	Team      string
	User      string
	UserName  string
	TriggerID string
	ActionID  string
	BlockID   string
	Value     string // of a button; the chosen option(s) of a select
	Callback  string // of a view, a shortcut; the command of a slash command
	Text      string // of a slash command, a command word
	Channel   string
	TS        string
	ThreadTS  string
	ViewID    string
	ViewHash  string
	RootView  string
	Meta      string          // a view's private_metadata: a token only
	State     json.RawMessage // a view's state.values
	Message   json.RawMessage // of a message_action
	Response  string          // response_url
}
