package bot

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// noSlack is a Slack that nobody reaches.
type noSlack struct{}

func (noSlack) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no Slack here")
}

// FuzzInteraction: whatever comes as a press, a submitted view, a shortcut or a
// slash command, it is acknowledged once, and without a token that we gave out it
// decides nothing.
func FuzzInteraction(f *testing.F) {
	f.Add("interactive", []byte(`{"type":"block_actions","team":{"id":"T1"},"user":{"id":"UALICE"},"trigger_id":"1.2","container":{"message_ts":"1.1","channel_id":"D1"},"actions":[{"action_id":"approve","block_id":"b","value":"token"}]}`))
	f.Add("interactive", []byte(`{"type":"view_submission","team":{"id":"T1"},"user":{"id":"UALICE"},"view":{"id":"V1","callback_id":"reject","private_metadata":"token","state":{"values":{"reason":{"reason":{"type":"plain_text_input","value":null}}}}}}`))
	f.Add("interactive", []byte(`{"type":"message_action","callback_id":"answer","team":{"id":"T1"},"user":{"id":"UMALLORY"},"message":{"ts":"1.1","text":"x","user":"U2"},"channel":{"id":"C1"},"response_url":"https://hooks.slack.com/x"}`))
	f.Add("interactive", []byte(`{"type":"view_closed","team":null,"user":{"team_id":"T1"},"actions":[{}]}`))
	f.Add("slash_commands", []byte(`{"team_id":"T1","user_id":"UALICE","channel_id":"D1","command":"/mecha","text":"approve all","trigger_id":"3"}`))
	f.Add("events_api", []byte(`{"team_id":"T1","event_id":"E1","event":{"type":"message","channel_type":"im","channel":"D1","user":"UALICE","text":"hello","ts":"1.5"}}`))
	f.Add("hello", []byte(`{}`))

	db, err := record.Open(f.Context(), filepath.Join(f.TempDir(), "mecha.db"), record.Options{Migrate: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	quiet := slog.New(slog.DiscardHandler)
	ob := outbox.New(db, outbox.Config{}, outbox.Deps{Surface: mailSurface{}, Log: quiet})
	th := threads.New(threads.Config{}, threads.Deps{DB: db, Outbox: ob, Log: quiet, Work: f.TempDir()})
	b, err := New(Config{BotToken: "xoxb-1", AppToken: "xapp-1", APIURL: "http://127.0.0.1:1/api/"}, Deps{
		DB: db, Threads: th, Outbox: ob, Triggers: triggers.New(db, triggers.Config{}, triggers.Deps{Log: quiet}), Log: quiet, HTTP: &http.Client{Transport: noSlack{}},
	})
	if err != nil {
		f.Fatal(err)
	}
	b.me = identity{App: "A1", Team: "T1", User: "UBOT", BotID: "BBOT"}
	var staged outbox.Staged
	err = db.Write(f.Context(), func(tx *record.Tx) (err error) {
		if _, err = tx.Exec(`INSERT INTO threads (key, team, channel, thread_ts, surface_channel, surface_ts, owner, state, mode, workspace, created, updated) VALUES ('T1/D1/1.0', 'T1', 'D1', '1.0', 'D1', '1.0', 'UALICE', 'running', 'ask', ?, 1, 1)`, f.TempDir()); err != nil {
			return err
		}
		if _, err = tx.Exec(`INSERT INTO people (team, user, role, name, bound_by, created) VALUES ('T1', 'UALICE', 'owner', 'alice', 'seed', 1)`); err != nil {
			return err
		}
		staged, err = ob.Stage(tx, outbox.Staging{Tool: mailTool{}, Args: json.RawMessage(`{"to":["dean@example.edu"],"subject":"s","body":"b"}`), Workspace: f.TempDir(), Team: "T1", Thread: "T1/D1/1.0", Run: "r1", Call: "c1", Requester: "UALICE"})
		return err
	})
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, kind string, payload []byte) {
		if len(payload) > 64<<10 || !json.Valid(payload) { // slack-go hands on whole frames
			return
		}
		acks := 0
		b.take(t.Context(), envelope{ID: "E", Type: kind, Payload: payload, ack: func(answer json.RawMessage) {
			acks++
			if len(answer) > 0 && !json.Valid(answer) {
				t.Errorf("the ack carries no JSON: %s", answer)
			}
		}})
		for done := false; !done; {
			select {
			case do := <-b.work:
				do()
			default:
				done = true
			}
		}
		if acks != 1 {
			t.Errorf("%d acks", acks)
		}
		d, err := ob.Get(t.Context(), staged.ID)
		if err != nil || d.State != outbox.Pending || d.Revision != 1 {
			t.Fatalf("the draft is %s, revision %d, %v", d.State, d.Revision, err)
		}
	})
}

// FuzzLoose: of a frame that slack-go could not parse nothing is taken but what
// it says.
func FuzzLoose(f *testing.F) {
	f.Add([]byte(`{"envelope_id":"e1","type":"events_api","payload":{"event":{"type":"message"}},"retry_attempt":1}`))
	f.Add([]byte(`{"envelope_id":1,"type":[]}`))
	f.Add([]byte(`{"type":"disconnect","reason":"warning"}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		e := loose(frame)
		if !json.Valid(frame) && (e.ID != "" || e.Type != "" || e.Payload != nil) {
			t.Errorf("read %+v out of no JSON", e)
		}
		if len(e.Payload) > 0 && !json.Valid(e.Payload) {
			t.Errorf("a payload that is no JSON: %s", e.Payload)
		}
	})
}

// FuzzValues: what a submitted view says is read without trust in its shape.
func FuzzValues(f *testing.F) {
	f.Add([]byte(`{"a":{"a":{"type":"plain_text_input","value":"x"}},"b":{"b":{"selected_option":{"value":"y"}}},"c":{"c":null},"d":null}`), "a")
	f.Fuzz(func(t *testing.T, state []byte, id string) {
		v, err := readValues(state)
		if err != nil {
			return
		}
		if s, ok := v.text(id); !ok && s != "" {
			t.Errorf("%q of a field that is not there", s)
		}
		v.said(id)
	})
}
