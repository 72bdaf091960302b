package localslack

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
)

// TestConversation is one whole conversation by the official-shaped client:
// mention, event, ack, post, stream, button, modal with errors, files.
func TestConversation(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	sock := b.connect()
	bot, alice, general := b.bot(), b.user("alice"), b.channel("general")

	// A mention is two events with two ids and one ts.
	ts := b.local("message", map[string]any{"user": "alice", "channel": general, "text": "@mecha hi <there>"})["ts"].(string)
	var ids []string
	for range 2 {
		e := b.await(sock, socketmode.EventTypeEventsAPI)
		sock.Ack(*e.Request)
		outer := e.Data.(slackevents.EventsAPIEvent)
		ids = append(ids, outer.Data.(*slackevents.EventsAPICallbackEvent).EventID)
		switch inner := outer.InnerEvent.Data.(type) {
		case *slackevents.AppMentionEvent:
			if inner.TimeStamp != ts || inner.User != alice.ID {
				t.Errorf("app_mention: %+v", inner)
			}
		case *slackevents.MessageEvent:
			if inner.TimeStamp != ts || inner.ChannelType != "channel" || inner.Text != "<@"+b.ready.BotUserID+"> hi &lt;there&gt;" {
				t.Errorf("message: %+v", inner)
			}
		default:
			t.Errorf("unexpected %T", inner)
		}
	}
	if ids[0] == ids[1] {
		t.Error("the mention and the message share an event id")
	}

	// A streamed answer in the thread.
	_, stream, err := bot.StartStream(general, slack.MsgOptionTS(ts), slack.MsgOptionRecipientTeamID(b.ready.TeamID), slack.MsgOptionRecipientUserID(alice.ID),
		slack.MsgOptionChunks(slack.TaskUpdateChunk{Type: "task_update", ID: "t1", Title: "Reading", Status: "in_progress"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Hello ", "**alice**"} {
		if _, _, err := bot.AppendStream(general, stream, slack.MsgOptionMarkdownText(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := bot.StopStream(general, stream, slack.MsgOptionBlocks(slack.NewContextBlock("", slack.NewTextBlockObject("mrkdwn", "2 turns", false, false)))); err != nil {
		t.Fatal(err)
	}
	thread := b.messages(general, ts)
	m := thread[len(thread)-1].(map[string]any)
	st := m["stream"].(map[string]any)
	if m["text"] != "Hello **alice**" || st["state"] != "done" || len(st["chunks"].([]any)) != 2 || len(m["blocks"].([]any)) != 1 {
		t.Errorf("the stream ended as %v", m)
	}
	if _, _, err := bot.AppendStream(general, stream, slack.MsgOptionMarkdownText("late")); err == nil || err.Error() != "message_not_in_streaming_state" {
		t.Errorf("an append after the stop: %v", err)
	}

	// A card with a button opens a modal within the trigger's life.
	_, card, err := bot.PostMessage(general, slack.MsgOptionTS(ts), slack.MsgOptionText("card", false), slack.MsgOptionBlocks(
		slack.NewActionBlock("acts", slack.NewButtonBlockElement("edit", "tok123", slack.NewTextBlockObject("plain_text", "Edit", false, false)))))
	if err != nil {
		t.Fatal(err)
	}
	clicked := make(chan map[string]any, 1)
	go func() {
		out, _ := b.tryLocal("click", map[string]any{"user": alice.ID, "channel": general, "ts": card, "action_id": "edit"})
		clicked <- out
	}()
	e := b.await(sock, socketmode.EventTypeInteractive)
	sock.Ack(*e.Request)
	press := e.Data.(slack.InteractionCallback)
	if a := press.ActionCallback.BlockActions[0]; press.Type != slack.InteractionTypeBlockActions || a.Value != "tok123" || a.BlockID != "acts" ||
		press.Message.Timestamp != card || press.User.ID != alice.ID || press.Container.ThreadTs != ts {
		t.Errorf("block_actions: %+v", press)
	}
	modal := slack.ModalViewRequest{Type: slack.VTModal, Title: slack.NewTextBlockObject("plain_text", "Edit", false, false),
		Submit: slack.NewTextBlockObject("plain_text", "Save", false, false), PrivateMetadata: "secret", CallbackID: "edit",
		Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewInputBlock("subject", slack.NewTextBlockObject("plain_text", "Subject", false, false), nil,
			&slack.PlainTextInputBlockElement{Type: "plain_text_input", ActionID: "v", InitialValue: "Budget"})}}}
	opened, err := bot.OpenView(press.TriggerID, modal)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bot.OpenView(press.TriggerID, modal); err == nil || err.Error() != "exchanged_trigger_id" {
		t.Errorf("a trigger used twice: %v", err)
	}
	if out := <-clicked; out["status"] != "acked" {
		t.Errorf("the click: %v", out)
	}
	views := b.local("views?user="+alice.ID, nil)["modals"].([]any)
	if v := views[0].(map[string]any); len(views) != 1 || v["id"] != opened.ID || v["private_metadata"] != nil {
		t.Errorf("the open modals: %v", views)
	}

	// Submitted: refused by the client, then by the app, then taken.
	if out := b.local("submit", map[string]any{"user": "alice", "view_id": opened.ID, "values": map[string]any{"subject": map[string]any{"v": ""}}}); out["client"] != true {
		t.Errorf("an empty required field: %v", out)
	}
	submit := func(text string, ack any) map[string]any {
		got := make(chan map[string]any, 1)
		go func() {
			out, _ := b.tryLocal("submit", map[string]any{"user": "alice", "view_id": opened.ID, "values": map[string]any{"subject": map[string]any{"v": text}}})
			got <- out
		}()
		e := b.await(sock, socketmode.EventTypeInteractive)
		in := e.Data.(slack.InteractionCallback)
		if v := in.View.State.Values["subject"]["v"].Value; in.Type != slack.InteractionTypeViewSubmission || v != text || in.View.PrivateMetadata != "secret" {
			t.Errorf("view_submission: %s %q", in.Type, v)
		}
		if ack == nil {
			sock.Ack(*e.Request)
		} else {
			sock.Ack(*e.Request, ack)
		}
		return <-got
	}
	out := submit("no", slack.NewErrorsViewSubmissionResponse(map[string]string{"subject": "too short"}))
	if ack := out["ack"].(map[string]any); ack["errors"].(map[string]any)["subject"] != "too short" {
		t.Errorf("errors: %v", out)
	}
	if out := submit("Budget 2027", nil); out["ok"] != true {
		t.Errorf("submit: %v", out)
	}
	if views := b.local("views?user=alice", nil)["modals"].([]any); len(views) != 0 {
		t.Errorf("the modal is still open: %v", views)
	}

	// The card is rewritten.
	if _, _, _, err := bot.UpdateMessage(general, card, slack.MsgOptionText("done", false)); err != nil {
		t.Fatal(err)
	}
	if out, status := b.tryLocal("click", map[string]any{"user": "alice", "channel": general, "ts": card, "action_id": "edit"}); status != 400 || out["error"] != "element_not_found" {
		t.Errorf("a press of a button that is gone: %d %v", status, out)
	}
}

func TestFilesUpAndDown(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	sock := b.connect()
	bot, dm := b.bot(), b.ready.DMs["alice"]

	// Down: a person's file reaches the app by url_private and Bearer.
	content := []byte("a,b\n1,2\n")
	b.local("message", map[string]any{"user": "alice", "channel": dm, "text": "look",
		"files": []any{map[string]any{"name": "../t.csv", "content_base64": base64.StdEncoding.EncodeToString(content)}}})
	m, _ := event(b, sock, func(m *slackevents.MessageEvent) bool { return m.SubType == "file_share" })
	if len(m.Message.Files) != 1 || m.Message.Files[0].Name != "t.csv" || m.ChannelType != "im" {
		t.Fatalf("file_share: %+v", m.Message)
	}
	var got bytes.Buffer
	if err := bot.GetFile(m.Message.Files[0].URLPrivateDownload, &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("download: %v %q", err, got.String())
	}
	if err := b.client("xoxb-wrong").GetFile(m.Message.Files[0].URLPrivateDownload, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "sign-in") {
		t.Errorf("a download without a good token: %v", err)
	}

	// Up: multipart with the doubled boundary; shared after the answer.
	root := b.messages(dm, "")[0].(map[string]any)["ts"].(string)
	f, err := bot.UploadFile(slack.UploadFileParameters{Reader: strings.NewReader("# hi"), FileSize: 4, Filename: "n.md", Title: "Notes", Channel: dm, ThreadTimestamp: root, InitialComment: "here"})
	if err != nil {
		t.Fatal(err)
	}
	b.eventually("the file is shared", func() bool {
		info, _, _, err := bot.GetFileInfo(f.ID, 0, 0)
		return err == nil && len(info.Shares.Private[dm]) == 1
	})
	thread := b.messages(dm, root)
	last := thread[len(thread)-1].(map[string]any)
	file := last["files"].([]any)[0].(map[string]any)
	if last["text"] != "here" || file["title"] != "Notes" || file["size"] != 4.0 || !strings.HasPrefix(file["page_url"].(string), "/file/") {
		t.Errorf("the share: %v", last)
	}
}

func TestHistoryAndReplies(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	bot, general := b.bot(), b.channel("general")
	_, root, err := bot.PostMessage(general, slack.MsgOptionText("root", false), slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "x", EventPayload: map[string]any{"id": "7"}}))
	if err != nil {
		t.Fatal(err)
	}
	for range 25 {
		if _, _, err := bot.PostMessage(general, slack.MsgOptionText("r", false), slack.MsgOptionTS(root)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := bot.PostMessage(general, slack.MsgOptionText("t", false)); err != nil {
			t.Fatal(err)
		}
	}
	seen, cursor := map[string]bool{}, ""
	for {
		page, err := bot.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general, Limit: 10, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			if seen[m.Timestamp] || m.ThreadTimestamp != "" && m.Timestamp != root {
				t.Errorf("twice, or a reply: %+v", m)
			}
			seen[m.Timestamp] = true
		}
		if cursor = page.ResponseMetaData.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != 26 {
		t.Errorf("the history has %d messages, want 26", len(seen))
	}
	var replies []slack.Message
	for cursor, more := "", true; more; {
		var page []slack.Message
		page, more, cursor, err = bot.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: general, Timestamp: root, Limit: 10, Cursor: cursor, IncludeAllMetadata: true})
		if err != nil {
			t.Fatal(err)
		}
		if page[0].Timestamp != root || page[0].ReplyCount != 25 || page[0].Metadata.EventPayload["id"] != "7" {
			t.Errorf("the parent: %+v", page[0])
		}
		replies = append(replies, page[1:]...)
	}
	if len(replies) != 25 {
		t.Errorf("%d replies, want 25", len(replies))
	}
	for i := 1; i < len(replies); i++ {
		if replies[i-1].Timestamp >= replies[i].Timestamp {
			t.Error("replies are out of order")
		}
	}
}
