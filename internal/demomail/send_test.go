package demomail

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWhatIsSentDecodesToTheApprovedBytes(t *testing.T) {
	for name, body := range map[string]string{
		"no line end":     "one line",
		"line end":        "one line\n",
		"several":         "a\n\nb\n\n\n",
		"CRLF":            "a\r\nb\r\n",
		"bare CR":         "a\rb\r",
		"mixed":           "a\nb\r\nc\rd",
		"trailing spaces": "a  \nb\t\n ",
		"dots and From":   ".\n..\nFrom here on\n=20 stays\n",
		"empty":           "",
		"NUL":             "a\x00b",
		"euro":            "the revised total is 41,200 €, 12 % under plan.\n",
		"mostly not ASCII": "Приветствую, " + strings.Repeat("мир ", 100) +
			"\u200b\u202e\n",
		"long line": strings.Repeat("word ", 500),
	} {
		t.Run(name, func(t *testing.T) {
			dir := seeded(t)
			s := client(t, Config{Maildir: dir})
			if out, isErr := call(t, s, "mail_send", m{"to": []string{"dean@example.edu"}, "subject": "Budget", "body": body}); isErr {
				t.Fatal(out)
			}
			got, raw := theSent(t, dir)
			if got.Body != body {
				t.Errorf("decoded body %q, want %q", got.Body, body)
			}
			for _, line := range strings.Split(string(raw), "\r\n") {
				if len(line) > 998 || strings.ContainsAny(line, "\r\n") {
					t.Errorf("not a line of RFC 5322: %.80q", line)
				}
			}
		})
	}
}

func TestAnyBodyRoundTrips(t *testing.T) {
	owner, _ := parseAddress(defaultOwner)
	rapid.Check(t, func(t *rapid.T) {
		d := draft{from: owner, to: addressList{owner}, subject: "x", body: rapid.String().Draw(t, "body")}
		if rapid.Bool().Draw(t, "with a file") {
			d.attachments = []file{{"data.bin", rapid.SliceOf(rapid.Byte()).Draw(t, "file")}}
		}
		raw, err := d.render("id@example.com", noon, true)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := ReadMessage(raw)
		if err != nil {
			t.Fatal(err)
		}
		if msg.Body != d.body {
			t.Fatalf("got %q, want %q", msg.Body, d.body)
		}
		for i, f := range d.attachments {
			if msg.Attachments[i].Bytes != len(f.data) {
				t.Fatalf("attachment of %d bytes, want %d", msg.Attachments[i].Bytes, len(f.data))
			}
		}
	})
}

func TestHeadersOfWhatIsSent(t *testing.T) {
	dir := seeded(t)
	s := client(t, Config{Maildir: dir})
	subject := "Überarbeitetes Budget: 41.200 € " + strings.Repeat("und mehr ", 20) + "🎓"
	out, isErr := call(t, s, "mail_send", m{
		"to": []string{"Dean Ellis <dean@example.edu>", "bob@example.com"}, "cc": []string{"carol@example.com"},
		"bcc": []string{"archive@example.com"}, "subject": subject, "body": "x",
	}, "draft-1")
	if isErr {
		t.Fatal(out)
	}
	got, raw := theSent(t, dir)
	if diff := cmp.Diff(
		[]string{"Alice <alice@example.com>", "Dean Ellis <dean@example.edu>, bob@example.com", "carol@example.com", "archive@example.com", subject},
		[]string{show(got.From), show(got.To), show(got.Cc), show(got.Bcc), got.Subject},
	); diff != "" {
		t.Error(diff)
	}
	if !got.Date.Equal(noon) {
		t.Errorf("Date %v, want %v", got.Date, noon)
	}
	if !strings.HasSuffix(got.MessageID, "@example.com") || !strings.Contains(out, "<"+got.MessageID+">") {
		t.Errorf("Message-ID %q, answer:\n%s", got.MessageID, out)
	}
	if headerOf(raw, "Auto-Submitted") != "auto-generated" {
		t.Error("Auto-Submitted is missing: automatic answers would start a loop")
	}
}

func TestSameKeyAnswersAsTheFirstTimeAndWritesNothing(t *testing.T) {
	dir := seeded(t)
	at := noon
	now := func() time.Time { at = at.Add(time.Hour); return at }
	args := m{"to": []string{"dean@example.edu"}, "subject": "Budget", "body": "41,200 €\n"}
	first, _ := call(t, client(t, Config{Maildir: dir, Now: now}), "mail_send", args, "draft-7")
	before, err := os.ReadFile(sentFiles(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	again := client(t, Config{Maildir: dir, Now: now}) // another process, another hour
	second, isErr := call(t, again, "mail_send", args, "draft-7")
	if isErr || second != first {
		t.Errorf("second answer (error %v):\n%s\nfirst:\n%s", isErr, second, first)
	}
	_, after := theSent(t, dir)
	if string(after) != string(before) {
		t.Error("the filed mail was rewritten")
	}

	// A mail reader files it as read; the key still knows it.
	name := filepath.Base(sentFiles(t, dir)[0])
	if err := os.Rename(sentFiles(t, dir)[0], filepath.Join(dir, ".Sent", "cur", name+":2,S")); err != nil {
		t.Fatal(err)
	}
	if third, isErr := call(t, again, "mail_send", args, "draft-7"); isErr || third != first || len(sentFiles(t, dir)) != 0 {
		t.Errorf("after a mail reader moved it (error %v, %d new files):\n%s", isErr, len(sentFiles(t, dir)), third)
	}

	args["body"] = "42,000 €\n"
	if out, isErr := call(t, again, "mail_send", args, "draft-7"); !isErr || !strings.Contains(out, "already sent another mail") {
		t.Errorf("another mail under the same key (error %v):\n%s", isErr, out)
	}
	if out, isErr := call(t, again, "mail_send", args, "draft-8"); isErr || len(sentFiles(t, dir)) != 1 {
		t.Errorf("another key (error %v, %d files):\n%s", isErr, len(sentFiles(t, dir)), out)
	}
}

func TestSameKeyFromManyProcessesFilesOneMail(t *testing.T) {
	dir := seeded(t)
	args := m{"to": []string{"dean@example.edu"}, "subject": "Budget", "body": "once\n"}
	answers := make(chan string)
	const n = 8
	for range n {
		s := client(t, Config{Maildir: dir})
		go func() {
			out, isErr, err := tryCall(t, s, "mail_send", args, "draft-9")
			if isErr || err != nil {
				out = "failed: " + out
			}
			answers <- out
		}()
	}
	seen := map[string]int{}
	for range n {
		seen[<-answers]++
	}
	if len(seen) != 1 || len(sentFiles(t, dir)) != 1 {
		t.Errorf("%d files, answers %v", len(sentFiles(t, dir)), seen)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".Sent", "tmp", "*")); len(left) != 0 {
		t.Errorf("left in tmp: %v", left)
	}
}

func TestReplyGoesToTheMessageThatWasRead(t *testing.T) {
	dir := seeded(t)
	s := client(t, Config{Maildir: dir})
	id := threadID(t, s, "from:dean")
	// Between reading and release somebody else gets into the thread.
	intruder := "From: Dean Ellis <dean@examp1e.net>\nTo: alice@example.com\nSubject: Re: Budget for the spring term\n" +
		"References: <spring-budget-1@example.edu> <spring-budget-3@example.edu>\nDate: Mon, 30 Nov 2026 11:59:00 +0000\nMessage-ID: <x@examp1e.net>\n\nUse this address.\n"
	if err := os.WriteFile(filepath.Join(dir, "new", "intruder"), []byte(intruder), 0o600); err != nil {
		t.Fatal(err)
	}
	out, isErr := call(t, s, "mail_reply", m{"thread_id": id, "body": "41,200 €"}, "k")
	if isErr {
		t.Fatal(out)
	}
	got, raw := theSent(t, dir)
	if show(got.To) != "Dean Ellis <dean@example.edu>" || len(got.Cc) != 0 {
		t.Errorf("To %s Cc %s", show(got.To), show(got.Cc))
	}
	if got.Subject != "Re: Budget for the spring term" {
		t.Errorf("Subject %q", got.Subject)
	}
	if headerOf(raw, "In-Reply-To") != "<spring-budget-3@example.edu>" ||
		headerOf(raw, "References") != "<spring-budget-1@example.edu> <spring-budget-2@example.com> <spring-budget-3@example.edu>" {
		t.Errorf("In-Reply-To %s References %s", headerOf(raw, "In-Reply-To"), headerOf(raw, "References"))
	}
	thread, _ := call(t, s, "mail_get_thread", m{"thread_id": id})
	if !strings.Contains(thread, "5 messages") {
		t.Errorf("the answer is not in its thread:\n%s", thread)
	}
}

func TestReplyAllAndOwnMessages(t *testing.T) {
	dir := seeded(t)
	s := client(t, Config{Maildir: dir})
	call(t, s, "mail_reply", m{"thread_id": threadID(t, s, "review"), "body": "yes", "reply_all": true})
	got, _ := theSent(t, dir)
	if show(got.To) != "Bob Marsh <bob@example.com>" || show(got.Cc) != "Carol Lind <carol@example.com>" {
		t.Errorf("reply all: To %s Cc %s", show(got.To), show(got.Cc))
	}
	// Answering one's own mail writes to whom it went.
	if err := os.Remove(sentFiles(t, dir)[0]); err != nil {
		t.Fatal(err)
	}
	call(t, s, "mail_reply", m{"thread_id": threadID(t, s, "in:sent finance"), "body": "one more thing"})
	if got, _ := theSent(t, dir); show(got.To) != "Dean Ellis <dean@example.edu>" {
		t.Errorf("own message: To %s", show(got.To))
	}
}

func TestKnownFailuresSendNothing(t *testing.T) {
	dir, work := seeded(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(filepath.Dir(work), "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(filepath.Dir(work), "secret"), filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(work, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := client(t, Config{Maildir: dir, Workspace: work})
	ok := func(change m) m {
		args := m{"to": []string{"dean@example.edu"}, "subject": "s", "body": "b"}
		for k, v := range change {
			args[k] = v
		}
		return args
	}
	for name, tc := range map[string]struct {
		args m
		want string
	}{
		"subject injection": {ok(m{"subject": "x\r\nBcc: mallory@example.net"}), "one line"},
		"address injection": {ok(m{"to": []string{"dean@example.edu\nBcc: mallory@example.net"}}), "line break"},
		"name injection":    {ok(m{"to": []string{"\"Dean\r\nBcc: m@example.net\" <dean@example.edu>"}}), "line break"},
		"two in one":        {ok(m{"to": []string{"dean@example.edu, mallory@example.net"}}), "not one mail address"},
		"no address":        {ok(m{"cc": []string{"the dean"}}), "not one mail address"},
		"IDN homograph":     {ok(m{"to": []string{"dean@exаmple.edu"}}), "plain ASCII"},
		"nobody":            {ok(m{"to": []string{}}), "nobody"},
		"traversal":         {ok(m{"attachments": []string{"../secret"}}), "inside the workspace"},
		"absolute":          {ok(m{"attachments": []string{"/etc/passwd"}}), "inside the workspace"},
		"link out":          {ok(m{"attachments": []string{"link"}}), "link"},
		"directory":         {ok(m{"attachments": []string{"dir"}}), "not a regular file"},
		"missing":           {ok(m{"attachments": []string{"none.txt"}}), "none.txt"},
		"wrong type":        {ok(m{"to": "dean@example.edu"}), "wrong type"},
	} {
		out, isErr := call(t, s, "mail_send", tc.args)
		if !isErr || !strings.Contains(out, tc.want) {
			t.Errorf("%s: error %v, want %q in %q", name, isErr, tc.want, out)
		}
	}
	if out, isErr := call(t, s, "mail_reply", m{"thread_id": "0", "body": "b"}); !isErr || !strings.Contains(out, "nothing was sent") {
		t.Errorf("reply to nothing: error %v, %q", isErr, out)
	}
	if n := len(sentFiles(t, dir)); n != 0 {
		t.Errorf("%d mails were sent", n)
	}
}

func TestAttachmentsTravelWhole(t *testing.T) {
	dir, work := seeded(t), t.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "out", "budget.md"), []byte("# Budget\r\n\x00\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := client(t, Config{Maildir: dir, Workspace: work})
	if out, isErr := call(t, s, "mail_send", m{"to": []string{"dean@example.edu"}, "subject": "s", "body": "see file\n", "attachments": []string{"out/budget.md"}}); isErr {
		t.Fatal(out)
	}
	got, _ := theSent(t, dir)
	if got.Body != "see file\n" || len(got.Attachments) != 1 || got.Attachments[0].Name != "budget.md" || got.Attachments[0].Bytes != 12 {
		t.Errorf("body %q attachments %+v", got.Body, got.Attachments)
	}
}

func TestSeedingHappensOnce(t *testing.T) {
	dir := seeded(t)
	if err := os.Remove(filepath.Join(dir, "new", "seed-7-receipt")); err != nil {
		t.Fatal(err)
	}
	if err := SeedAt(dir, noon.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new", "seed-7-receipt")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a mail that its owner deleted came back")
	}

	own := filepath.Join(t.TempDir(), "own")
	if _, err := openMaildir(own); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "cur", "1.mine:2,S"), []byte("Subject: x\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Seed(own); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(filepath.Join(own, "new")); len(files) != 0 {
		t.Errorf("seeded into somebody's own mailbox: %v", files)
	}
}
