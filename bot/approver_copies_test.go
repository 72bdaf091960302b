package bot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

// TestCopiesForApprovers: whoever decides a tool and cannot see the thread has
// its cards in their own DM, once, and the copies follow the record.
func TestCopiesForApprovers(t *testing.T) {
	b := newBench(t)
	bot := b.renderer()
	bot.cfg.Approvers = map[string][]string{"UBOB": {"mail__mail_send"}, "UCAROL": {"*"}, "UALICE": {"*"}}
	c := newApproverCopies()
	c.dms = map[string]string{"UBOB": "D2", "UCAROL": "D3"}
	draft, call := b.stage(mail, nil), b.ask("fs_write", `{"path":"a"}`, "fs_write")
	copiesOf := func(kind threads.PostKind, ref string) (channels []string) {
		list, err := b.threads.PostsOf(t.Context(), kind, ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			channels = append(channels, p.Place.Channel)
		}
		slices.Sort(channels)
		return channels
	}
	check := func(what string) {
		t.Helper()
		// The owner named as well has the thread itself.
		if got := fmt.Sprint(copiesOf(threads.PostDraft, draft), copiesOf(threads.PostApproval, call)); got != "[D2 D3] [D3]" {
			t.Errorf("%s: copies %s", what, got)
		}
	}
	bot.followApprovers(t.Context(), c)
	check("the first look")
	bot.followApprovers(t.Context(), c)
	check("the second look")
	again := newApproverCopies() // after a restart
	again.dms = c.dms
	bot.followApprovers(t.Context(), again)
	check("after a restart")

	list, _ := b.threads.PostsOf(t.Context(), threads.PostDraft, draft)
	r, err := bot.render(t.Context(), list[0])
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, r)
	if s := shownText(r.Blocks.JSON()); !strings.Contains(s, "from a conversation of <@UALICE>") {
		t.Errorf("the copy does not say whose it is: %q", s)
	}
	if !slices.Contains(r.Tokens[0].Choices, verbApprove) {
		t.Errorf("the copy offers %v", r.Tokens[0].Choices)
	}
	list, _ = b.threads.PostsOf(t.Context(), threads.PostApproval, call)
	r, err = bot.render(t.Context(), list[0])
	if err != nil || !slices.Equal(r.Tokens[0].Choices, []string{verbApprove, verbReject}) {
		t.Errorf("an approver's copy of a call offers %v, %v: allowing for the run is an owner's", r.Tokens, err)
	}
	b.exec(`UPDATE approvals SET state = 'unanswered', decided = 5, version = version + 1 WHERE call = ?`, call)
	if after, _ := b.threads.Post(t.Context(), list[0].ID); after.Want <= list[0].Want {
		t.Error("the copy does not follow the record")
	}
	if r, err = bot.render(t.Context(), list[0]); err != nil || len(r.Tokens) > 0 {
		t.Errorf("the copy of an unanswered call offers %v, %v: asking again is an owner's", r.Tokens, err)
	}
	// What is decided needs no copy.
	done := b.ask("fs_write", `{"path":"b"}`, "")
	b.exec(`UPDATE approvals SET state = 'approved', decided = 5 WHERE call = ?`, done)
	bot.followApprovers(t.Context(), c)
	if got := copiesOf(threads.PostApproval, done); len(got) > 0 {
		t.Errorf("a decided call has copies in %v", got)
	}
}

// TestCopyKeepsWhoseItIs: what is attached to a copy does not make it forget.
func TestCopyKeepsWhoseItIs(t *testing.T) {
	var body uploads
	if err := json.Unmarshal([]byte(encode(uploads{For: "UBOB"})), &body); err != nil {
		t.Fatal(err)
	}
	body.Attached++
	if s := encode(body); !strings.Contains(s, "UBOB") || !strings.Contains(s, `"attached":1`) {
		t.Errorf("the body is %s", s)
	}
}

// TestRedLineOnce: in the modal that shows everything each destination stands once.
func TestRedLineOnce(t *testing.T) {
	for _, n := range []int{1, maxSuspects, maxSuspects + 1, 30} {
		d := draftOf(outbox.Pending, "a", "b")
		d.Destinations = []tools.Destination{{Kind: tools.ToAddress, Value: "dean@example.edu", Origin: tools.FromOwner}, {Kind: tools.ToID, Value: "some-id", Suspect: true}}
		d.Red = true
		for i := range n {
			d.Destinations = append(d.Destinations, tools.Destination{Kind: tools.ToAddress, Value: fmt.Sprintf("x%02d@examp1e.net", i), Origin: tools.FromThirdParty, Suspect: true})
		}
		r := draftReading(d)
		blocks := append(append([]blockkit.Block{}, r.Blocks...), r.Foot...)
		s := shownText(blockkit.BlocksJSON(blocks))
		for _, to := range d.Destinations {
			if got := strings.Count(s, to.Value); got != 1 && to.Value != "dean@example.edu" {
				t.Errorf("of %d, %s is shown %d times", n, to.Value, got)
			}
		}
		if foot := shownText(blockkit.BlocksJSON(r.Foot)); !strings.Contains(foot, "⚠") {
			t.Errorf("of %d, nothing beside the buttons says so: %q", n, foot)
		}
	}
}

func TestSplitMrkdwnKeepsEntities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"word ", "&amp;", "&lt;", "<@U123>", "<!date^1796030100^{time}|09:15 UTC>", "\n", "ä", "𝕏", "<https://a.example/x?a=b|a.example>", "&", " "})).Draw(t, "parts")
		text := strings.Join(parts, "")
		max := rapid.IntRange(40, 80).Draw(t, "max")
		got := splitMrkdwn(text, max)
		if strings.Join(got, "") != text {
			t.Fatalf("the parts do not join to the text: %q", got)
		}
		for _, p := range got {
			if width(p) > max {
				t.Fatalf("a part has %d units, at most %d: %q", width(p), max, p)
			}
			if strings.Count(p, "<") != strings.Count(p, ">") {
				t.Fatalf("a bracket is split: %q", p)
			}
			for _, e := range []string{"&a", "&am", "&amp", "&l", "&lt"} {
				if strings.HasSuffix(p, e) {
					t.Fatalf("an entity is split: %q", p)
				}
			}
		}
	})
}
