package localslack

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
)

// killed copies the state as a kill -9 at this moment would leave it: what was
// written, nothing flushed or closed.
func killed(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestStateSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	bot, general := b.bot(), b.channel("general")
	ts := b.say("root @mecha")
	b.local("message", map[string]any{"user": "alice", "channel": b.ready.DMs["alice"], "text": "a file",
		"files": []any{map[string]any{"name": "x.txt", "content_base64": base64.StdEncoding.EncodeToString([]byte("x"))}}})
	_, stream, err := bot.StartStream(general, slack.MsgOptionTS(ts), slack.MsgOptionRecipientTeamID(b.ready.TeamID),
		slack.MsgOptionRecipientUserID(b.user("alice").ID), slack.MsgOptionMarkdownText("one "))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := bot.AppendStream(general, stream, slack.MsgOptionMarkdownText("two")); err != nil {
		t.Fatal(err)
	}
	gone := b.say("gone")
	b.local("delete", map[string]any{"user": "alice", "channel": general, "ts": gone})
	if err := bot.AddReaction("eyes", slack.NewRefToMessage(general, ts)); err != nil {
		t.Fatal(err)
	}
	home := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewDividerBlock()}}}
	if _, err := bot.PublishView(b.user("alice").ID, home, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := bot.CreateConversation(slack.CreateConversationParams{ChannelName: "new"}); err != nil {
		t.Fatal(err)
	}

	again := start(t, Config{Dir: killed(t, dir)})
	was, is := b.ready, again.ready
	for _, r := range []*Ready{&was, &is} {
		r.URL, r.APIURL, r.ControlToken, r.Channels = "", "", "", nil
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("ids or tokens changed (-before +after):\n%s", diff)
	}
	strip := func(list []any) []any { // links are signed anew by each process
		for _, m := range list {
			for _, f := range asList(m.(map[string]any)["files"]) {
				delete(f.(map[string]any), "page_url")
			}
		}
		return list
	}
	for _, ch := range []string{general, b.ready.DMs["alice"]} {
		if diff := cmp.Diff(strip(b.messages(ch, "")), strip(again.messages(ch, ""))); diff != "" {
			t.Errorf("messages changed (-before +after):\n%s", diff)
		}
	}
	if diff := cmp.Diff(b.local("views?user=alice", nil), again.local("views?user=alice", nil)); diff != "" {
		t.Errorf("the Home view changed (-before +after):\n%s", diff)
	}
	if _, _, err := again.bot().AppendStream(general, stream, slack.MsgOptionMarkdownText("!")); err != nil {
		t.Errorf("the open stream goes on: %v", err)
	}
	again.channel("new")
	if ts2 := again.say("later"); ts2 <= stream {
		t.Errorf("time went back: %s after %s", ts2, stream)
	}
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

func TestATornLineIsDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	kept := b.say("kept")
	b.say("torn")
	torn := killed(t, dir)
	name := filepath.Join(torn, journalName)
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, raw[:len(raw)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Dir: torn})
	after := again.say("after")
	third := start(t, Config{Dir: killed(t, torn)})
	var got []string
	for _, m := range third.messages(b.channel("general"), "") {
		got = append(got, m.(map[string]any)["ts"].(string))
	}
	if diff := cmp.Diff([]string{kept, after}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestOneProcessPerDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	if _, err := Start(context.Background(), Config{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Start(context.Background(), Config{Dir: dir})
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	again.Close()
}

func TestALongHistoryIsCompacted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	ts, general := b.say("v"), b.channel("general")
	s := b.store
	s.mu.Lock()
	at, _ := parseTS(ts)
	m := s.channels[general].find(at)
	for range 50 {
		if err := b.edit(m, m.User, content{text: strings.Repeat("x", 100_000), hasText: true}); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Unlock()
	before := b.messages(general, "")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Dir: dir})
	if diff := cmp.Diff(before, again.messages(general, "")); diff != "" {
		t.Errorf("compaction changed a message (-before +after):\n%s", diff)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, journalName))
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("the journal has %d bytes: %v", info.Size(), err)
	}
}

func TestCloseIsQuickAndTwice(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Dir: t.TempDir()})
	b.connect()
	for range 3 {
		b.dial()
	}
	began := time.Now()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("closing took %v", took)
	}
	if err := b.Close(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}
