package bot

import (
	"encoding/json"
	"testing"
)

func TestGate(t *testing.T) {
	t.Parallel()
	const me = `"team_id":"T1","api_app_id":"A1"`
	for _, c := range []struct {
		name         string
		owner, known bool
		event        string
		want         admission
	}{
		{"an owner's DM", true, false, `{"type":"message","channel":"D1","channel_type":"im","user":"U1","text":"hi","ts":"1.1"}`, message},
		{"an owner's DM by its id alone", true, false, `{"type":"message","channel":"D1","user":"U1","text":"hi","ts":"1.1"}`, message},
		{"an owner mentions us", true, false, `{"type":"app_mention","channel":"C1","user":"U1","text":"<@UBOT> hi","ts":"1.1"}`, message},
		{"the message event of a mention", true, false, `{"type":"message","channel":"C1","channel_type":"channel","user":"U1","text":"hi <@UBOT|mecha>","ts":"1.1"}`, message},
		{"an owner in a channel, not to us", true, false, `{"type":"message","channel":"C1","user":"U1","text":"hi <@U2>","ts":"1.1"}`, keyOnly},
		{"an owner in a thread of ours", true, true, `{"type":"message","channel":"C1","user":"U1","text":"go on","ts":"1.2","thread_ts":"1.1"}`, message},
		{"an owner shares a file", true, false, `{"type":"message","subtype":"file_share","channel":"D1","user":"U1","text":"","ts":"1.1"}`, message},
		{"an owner's broadcast", true, true, `{"type":"message","subtype":"thread_broadcast","channel":"C1","user":"U1","text":"x","ts":"1.2","thread_ts":"1.1"}`, message},
		{"a stranger's DM", false, false, `{"type":"message","channel":"D2","user":"U9","text":"hi","ts":"1.1"}`, keyOnly},
		{"a stranger's mention", false, true, `{"type":"app_mention","channel":"C1","user":"U9","text":"<@UBOT> hi","ts":"1.1"}`, keyOnly},
		{"a stranger's DM that may be a code", false, false, `{"type":"message","channel":"D2","user":"U9","text":" abcdefgh23 ","ts":"1.1"}`, codeSent},
		{"a code in a channel", false, false, `{"type":"message","channel":"C1","user":"U9","text":"ABCDEFGH23","ts":"1.1"}`, keyOnly},
		{"a code from another team", false, false, `{"type":"message","channel":"D2","user":"U9","user_team":"T2","text":"ABCDEFGH23","ts":"1.1"}`, keyOnly},
		{"a bot", true, true, `{"type":"message","channel":"D1","user":"U1","bot_id":"B1","text":"hi","ts":"1.1"}`, drop},
		{"a bot's own subtype", true, true, `{"type":"message","subtype":"bot_message","channel":"C1","bot_id":"B1","text":"hi","ts":"1.1"}`, drop},
		{"ourselves", true, true, `{"type":"message","channel":"D1","user":"UBOT","text":"hi","ts":"1.1"}`, drop},
		{"Slackbot", true, true, `{"type":"message","channel":"D1","user":"USLACKBOT","text":"hi","ts":"1.1"}`, drop},
		{"nobody", true, true, `{"type":"message","channel":"D1","text":"hi","ts":"1.1"}`, drop},
		{"hidden", true, true, `{"type":"message","channel":"D1","user":"U1","hidden":true,"text":"hi","ts":"1.1"}`, drop},
		{"Slack Connect: another team's person", true, true, `{"type":"message","channel":"C1","user":"U1","user_team":"T2","text":"<@UBOT> hi","ts":"1.1"}`, keyOnly},
		{"Slack Connect: sent from another team", true, true, `{"type":"message","channel":"C1","user":"U1","source_team":"T2","text":"<@UBOT> hi","ts":"1.1"}`, keyOnly},
		{"our own team is said", true, false, `{"type":"message","channel":"D1","user":"U1","user_team":"T1","source_team":"T1","text":"hi","ts":"1.1"}`, message},
		{"an owner edits", true, false, `{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U1","text":"b","ts":"1.1"},"previous_message":{"user":"U1","text":"a","ts":"1.1"}}`, edited},
		{"an unfurl", true, false, `{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U1","text":"a","ts":"1.1"},"previous_message":{"user":"U1","text":"a","ts":"1.1"}}`, drop},
		{"our stream grows", true, false, `{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U1","bot_id":"B1","text":"b","ts":"1.1"},"previous_message":{"user":"U1","text":"a","ts":"1.1"}}`, drop},
		{"a stranger edits", false, false, `{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U9","text":"b","ts":"1.1"},"previous_message":{"user":"U9","text":"a","ts":"1.1"}}`, drop},
		{"an owner deletes", true, false, `{"type":"message","subtype":"message_deleted","channel":"D1","deleted_ts":"1.1","previous_message":{"user":"U1","text":"a","ts":"1.1"}}`, deleted},
		{"somebody joins", true, false, `{"type":"message","subtype":"channel_join","channel":"C1","user":"U1","text":"<@UBOT>","ts":"1.1"}`, drop},
		{"the Home tab", false, false, `{"type":"app_home_opened","user":"U1","tab":"home","channel":"D1"}`, homeOpened},
		{"the Messages tab", true, false, `{"type":"app_home_opened","user":"U1","tab":"messages","channel":"D1"}`, drop},
		{"the stop button", true, true, `{"type":"agent_session_stopped","user":"U1","channel":"D1","thread_ts":"1.1","streaming_message_ts":["1.2"]}`, stopPressed},
		{"a reaction", true, true, `{"type":"reaction_added","user":"U1"}`, drop},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var e event
			if err := json.Unmarshal([]byte(`{`+me+`,"event_id":"E1","event":`+c.event+`}`), &e); err != nil {
				t.Fatal(err)
			}
			d := door{me: identity{App: "A1", Team: "T1", User: "UBOT", BotID: "BBOT"}, owner: c.owner, known: c.known}
			if got := d.admit(e); got != c.want {
				t.Errorf("admission %d, want %d", got, c.want)
			}
			e.Team = "T2"
			if got := d.admit(e); got == message || got == codeSent || got == edited || got == deleted {
				t.Errorf("another team's event is admitted: %d", got)
			}
		})
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"team_id":"T1","event":{"type":"message","channel":"D1","user":"U1","text":"<@UBOT> <https://a.example|b> &lt;","ts":"1.1","files":[{"id":"F1"}],"message":null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e event
		if json.Unmarshal(b, &e) != nil {
			return
		}
		d := door{me: identity{Team: "T1", User: "UBOT"}}
		switch d.admit(e) {
		case message, edited, deleted:
			t.Errorf("somebody who is no owner is admitted: %s", b)
		}
		_ = e.author()
		_ = plain(e.Event.Text, "UBOT")
	})
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"<@UBOT> what files?", "what files?"},
		{"<@UBOT|mecha>  hi <@U2>", "hi <@U2>"},
		{"see <https://example.org/a?b=c&amp;d>", "see https://example.org/a?b=c&d"},
		{"see <http://example.org|example.org>", "see http://example.org"},
		{"see <https://evil.example|example.org>", "see example.org (https://evil.example)"},
		{"mail <mailto:dean@example.edu|dean@example.edu>", "mail dean@example.edu"},
		{"a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"},
		{"&amp;lt;", "&lt;"},
	} {
		if got := plain(c.in, "UBOT"); got != c.want {
			t.Errorf("plain(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
