package demomail

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestReadMessageDecodesWhatPeopleSend(t *testing.T) {
	for name, tc := range map[string]struct{ raw, subject, body string }{
		"koi8-r":                {"Subject: =?koi8-r?B?8NLJ18XU?=\nContent-Type: text/plain; charset=koi8-r\nContent-Transfer-Encoding: base64\n\n8NLJ18XU\n", "Привет", "Привет"},
		"unknown charset":       {"Subject: x\nContent-Type: text/plain; charset=klingon\n\nqapla\n", "x", "qapla\n"},
		"unknown encoding":      {"Subject: x\nContent-Transfer-Encoding: rot13\n\nuryyb\n", "x", "uryyb\n"},
		"no MIME header":        {"Subject: x\n\nplain\n", "x", "plain\n"},
		"html only":             {"Subject: x\nContent-Type: text/html\n\n<p>a <b>b</b> c<br>d</p><script>evil()</script><p>e</p>", "x", "a b c\nd\n\ne"},
		"plain before html":     {"Subject: x\nContent-Type: multipart/alternative; boundary=b\n\n--b\n\nplain\n--b\nContent-Type: text/html\n\n<p>html\n--b--\n", "x", "plain"},
		"multipart cut off":     {"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nfirst part\n--b\nContent-Ty", "x", "first part"},
		"a subject of two":      {"Subject: =?utf-8?Q?one=0D=0ABcc:_two?=\n\n\n", "one  Bcc: two", "\n"},
		"not UTF-8, says it is": {"Subject: x\nContent-Type: text/plain; charset=utf-8\n\na\xffb", "x", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ReadMessage([]byte(tc.raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.subject, tc.body}, []string{m.Subject, m.Body}); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := ReadMessage([]byte("\x00\x01\x02")); err == nil {
		t.Error("bytes without a header were taken for a mail")
	}
}

func TestDeepNestingIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("Subject: x\n")
	for i := range 20_000 {
		b.WriteString("Content-Type: multipart/mixed; boundary=b" + strings.Repeat("x", i%7) + "\n\n--b" + strings.Repeat("x", i%7) + "\n")
	}
	start := time.Now()
	if _, err := ReadMessage([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("20,000 nested multiparts took %v", took)
	}
}

func TestThreadsBySubjectOnlyAmongThoseWhoTookPart(t *testing.T) {
	read := func(raw string) *Message {
		m, err := ReadMessage([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	ask := read("From: dean@example.edu\nTo: alice@example.com\nSubject: Budget\nMessage-ID: <1@x>\n\n")
	old := read("From: alice@example.com\nTo: dean@example.edu\nSubject: AW: Re: budget\n\nfrom a program without References")
	stranger := read("From: mallory@example.net\nTo: alice@example.com\nSubject: Re: Budget\n\n")
	child := read("From: carol@example.com\nSubject: other\nReferences: <missing@x> <1@x>\nMessage-ID: <2@x>\n\n")
	sibling := read("From: carol@example.com\nSubject: other still\nIn-Reply-To: <missing@x>\n\n")
	got := threadsOf([]*Message{ask, old, stranger, child, sibling})
	want := []thread{{ask, old, child, sibling}, {stranger}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *Message) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func FuzzReadMessage(f *testing.F) {
	entries, err := seeds(noon)
	if err != nil {
		f.Fatal(err)
	}
	for _, raw := range entries {
		f.Add(raw)
	}
	owner, _ := parseAddress(defaultOwner)
	d := draft{from: owner, to: addressList{owner}, subject: "ü", body: "x\r\n", attachments: []file{{"a", []byte("b")}}}
	own, err := d.render("i@x", noon, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ReadMessage(raw)
		if err != nil {
			return
		}
		for what, s := range map[string]string{"subject": m.Subject, "from": show(m.From), "to": show(m.To), "reply-to": show(m.ReplyTo)} {
			if strings.ContainsAny(s, "\r\n") || !utf8.ValidString(s) {
				t.Errorf("%s is not one line of UTF-8: %q", what, s)
			}
		}
		if !utf8.ValidString(m.Body) {
			t.Errorf("body is not UTF-8: %q", m.Body)
		}
		// Whatever came in, an answer to it is well-formed and goes to whom it shows.
		r, err := replyTo(owner, thread{m}, m, true)
		if err != nil {
			return
		}
		r.body = m.Body
		out, err := r.render("id@example.com", noon, true)
		if err != nil {
			t.Fatalf("an answer could not be written: %v", err)
		}
		back, err := ReadMessage(out)
		if err != nil {
			t.Fatal(err)
		}
		if back.Body != m.Body || len(back.To) != len(r.to) || len(back.Bcc) != 0 {
			t.Errorf("answer to %s with %d bytes came back to %s with %d", show(r.to), len(m.Body), show(back.To), len(back.Body))
		}
		if head, _, _ := bytes.Cut(out, []byte("\r\n\r\n")); bytes.Count(head, []byte("\r\nTo: ")) != 1 {
			t.Errorf("headers were injected:\n%s", head)
		}
	})
}
