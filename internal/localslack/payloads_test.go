package localslack

import (
	"testing"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
)

// TestEveryPayloadDecodes makes each kind of event and gesture once; slack-go
// must understand all of them.
func TestEveryPayloadDecodes(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	sock := b.connect()
	general, dm, alice, bot := b.channel("general"), b.ready.DMs["alice"], b.user("alice").ID, b.bot()

	ts := b.say("first")
	event[*slackevents.MessageEvent](b, sock, nil)
	b.local("edit", map[string]any{"user": "alice", "channel": general, "ts": ts, "text": "second"})
	if m, _ := event[*slackevents.MessageEvent](b, sock, nil); m.SubType != "message_changed" || m.Message.Text != "second" || m.PreviousMessage.Text != "first" || m.Message.Edited == nil {
		t.Errorf("message_changed: %+v", m)
	}
	b.local("react", map[string]any{"user": "alice", "channel": general, "ts": ts, "name": "eyes"})
	if r, _ := event[*slackevents.ReactionAddedEvent](b, sock, nil); r.Reaction != "eyes" || r.Item.Timestamp != ts {
		t.Errorf("reaction_added: %+v", r)
	}
	b.local("react", map[string]any{"user": "alice", "channel": general, "ts": ts, "name": "eyes", "remove": true})
	event[*slackevents.ReactionRemovedEvent](b, sock, nil)
	b.local("delete", map[string]any{"user": "alice", "channel": general, "ts": ts})
	if m, _ := event[*slackevents.MessageEvent](b, sock, nil); m.SubType != "message_deleted" || m.DeletedTimeStamp != ts {
		t.Errorf("message_deleted: %+v", m)
	}

	home := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: []slack.Block{
		slack.NewActionBlock("acts", slack.NewButtonBlockElement("run", "x", slack.NewTextBlockObject("plain_text", "Run", false, false)))}}}
	published, err := bot.PublishView(alice, home, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bot.PublishView(alice, home, "1.stale"); err == nil || err.Error() != "hash_conflict" {
		t.Errorf("published over a stale hash: %v", err)
	}
	b.local("home", map[string]any{"user": "alice"})
	if h, _ := event[*slackevents.AppHomeOpenedEvent](b, sock, nil); h.Tab != "home" || h.Channel != dm || h.View == nil || h.View.ID != published.ID {
		t.Errorf("app_home_opened: %+v", h)
	}

	root := b.local("message", map[string]any{"user": "alice", "channel": dm, "text": "go"})["ts"].(string)
	_, stream, err := bot.StartStream(dm, slack.MsgOptionTS(root))
	if err != nil {
		t.Fatal(err)
	}
	b.local("stop", map[string]any{"user": "alice", "channel": dm, "thread_ts": root})
	if s, _ := event[*slackevents.AgentSessionStoppedEvent](b, sock, nil); s.ThreadTimestamp != root || len(s.StreamingMessageTimestamps) != 1 || s.StreamingMessageTimestamps[0] != stream {
		t.Errorf("agent_session_stopped: %+v", s)
	}

	gesture := func(path string, body map[string]any) slack.InteractionCallback {
		t.Helper()
		done := b.async(path, body)
		e := b.await(sock, socketmode.EventTypeInteractive)
		sock.Ack(*e.Request)
		<-done
		return e.Data.(slack.InteractionCallback)
	}
	if c := gesture("click", map[string]any{"user": "alice", "view_id": published.ID, "action_id": "run"}); c.Container.ViewID != published.ID || c.View.Type != slack.VTHomeTab || c.ActionCallback.BlockActions[0].Value != "x" {
		t.Errorf("a press in the Home tab: %+v", c)
	}
	c := gesture("shortcut", map[string]any{"user": "alice", "callback_id": "mecha_new_session"})
	if c.Type != slack.InteractionTypeShortcut || c.CallbackID != "mecha_new_session" || c.TriggerID == "" {
		t.Errorf("shortcut: %+v", c)
	}
	if c := gesture("shortcut", map[string]any{"user": "alice", "callback_id": "mecha_ask_message", "channel": dm, "ts": root}); c.Type != slack.InteractionTypeMessageAction || c.Message.Timestamp != root || c.Channel.ID != dm {
		t.Errorf("message_action: %+v", c)
	}

	// A stack of modals, and what closing them tells.
	modal := slack.ModalViewRequest{Type: slack.VTModal, NotifyOnClose: true, Title: slack.NewTextBlockObject("plain_text", "M", false, false),
		Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewActionBlock("acts", slack.NewButtonBlockElement("more", "", slack.NewTextBlockObject("plain_text", "More", false, false)))}}}
	c = gesture("shortcut", map[string]any{"user": "alice", "callback_id": "mecha_new_session"})
	first, err := bot.OpenView(c.TriggerID, modal)
	if err != nil {
		t.Fatal(err)
	}
	top := first.ID
	for depth := 2; depth <= 4; depth++ {
		c = gesture("click", map[string]any{"user": "alice", "view_id": top, "action_id": "more"})
		pushed, err := bot.PushView(c.TriggerID, modal)
		if (err != nil) != (depth > maxStack) || err != nil && err.Error() != "push_limit_reached" {
			t.Fatalf("view %d of the stack: %v", depth, err)
		}
		if err == nil {
			if pushed.RootViewID != first.ID || pushed.PreviousViewID != top {
				t.Errorf("pushed: %+v", pushed.View)
			}
			top = pushed.ID
		}
	}
	if _, err := bot.UpdateView(modal, "", first.Hash, first.ID); err != nil {
		t.Errorf("updated with the right hash: %v", err)
	}
	if _, err := bot.UpdateView(modal, "", first.Hash, first.ID); err == nil || err.Error() != "hash_conflict" {
		t.Errorf("updated with a stale hash: %v", err)
	}
	if c := gesture("close", map[string]any{"user": "alice", "view_id": top}); c.Type != slack.InteractionTypeViewClosed || c.View.ID != top || c.IsCleared {
		t.Errorf("view_closed: %+v", c)
	}
	if got := len(b.local("views?user=alice", nil)["modals"].([]any)); got != 2 {
		t.Errorf("%d modals are open, want 2", got)
	}

	done := b.async("command", map[string]any{"user": "alice", "channel": dm, "command": "/mecha", "text": " status "})
	e := b.await(sock, socketmode.EventTypeSlashCommand)
	sock.Ack(*e.Request, map[string]any{"response_type": "in_channel", "text": "fine"})
	<-done
	if sc := e.Data.(slack.SlashCommand); sc.Command != "/mecha" || sc.Text != "status" || sc.ChannelID != dm || sc.ChannelName != "directmessage" || sc.ResponseURL == "" {
		t.Errorf("slash command: %+v", sc)
	}
	msgs := b.messages(dm, "")
	if m := msgs[len(msgs)-1].(map[string]any); m["text"] != "fine" || m["ephemeral"] == true {
		t.Errorf("answered in the channel: %v", m)
	}
}
