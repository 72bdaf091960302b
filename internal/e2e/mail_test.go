package e2e

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A file of the thread's workspace goes out with a draft, as it was approved.
func TestDraftWithAttachment(t *testing.T) {
	t.Parallel()
	p := start(t, allowAll, obedient(t)...)
	const numbers = "rent,900\nfood,300\n"
	a := p.dm(`CALL fs_write {"path":"out/budget.csv","content":"rent,900\nfood,300\n"}` + "\n" +
		`CALL mail__mail_send {"to":["dean@example.edu"],"subject":"Budget","body":"Attached.","attachments":["out/budget.csv"]}`)
	card := a.card("Approve")
	if w := card.words(); !strings.Contains(w, "budget.csv") {
		t.Errorf("the card shows no file: %s", w)
	}
	a.contains("Drafted, not sent")
	a.press("alice", card, "Approve")
	mail := p.onlySent()
	if !strings.Contains(mail, `budget.csv`) || !strings.Contains(mail, base64.StdEncoding.EncodeToString([]byte(numbers))) && !strings.Contains(mail, "rent,900") {
		t.Errorf("the mail: %s", mail)
	}

	// What changed after it was read is not sent.
	b := p.dm(`CALL fs_write {"path":"a.txt","content":"one"}` + "\n" + `CALL mail__mail_send {"to":["x@example.com"],"subject":"s","body":"b","attachments":["a.txt"]}`)
	card = b.card("Approve")
	b.contains("Drafted, not sent")
	files := p.work("a.txt")
	if len(files) != 1 || os.WriteFile(files[0], []byte("two"), 0o600) != nil {
		t.Fatalf("the file is at %q", files)
	}
	b.press("alice", card, "Approve")
	b.contains("a.txt", "changed")
	p.onlySent()
}

// A draft with a file does not go out while a call of its conversation runs that
// could change the file: its card says which, and takes a Cancel.
func TestDraftWaitsForARunningCall(t *testing.T) {
	t.Parallel()
	p := start(t, allowAll, obedient(t)...)
	a := p.dm(`CALL fs_write {"path":"a.txt","content":"one"}` + "\n" + `CALL mail__mail_send {"to":["x@example.com"],"subject":"s","body":"b","attachments":["a.txt"]}`)
	card := a.card("Approve")
	a.answered(1)
	a.say(`CALL shell {"command":"until test -e go; do sleep 0.05; done"}`)
	eventually(t, patience, "the command", func() error {
		list, err := a.ours()
		if err != nil {
			return err
		}
		for title, status := range list[len(list)-1].tasks() {
			if strings.Contains(title, "until test") && status == "in_progress" {
				return nil
			}
		}
		return errNone
	})
	a.press("alice", card, "Approve")
	a.contains("it waits for", "until test -e go", "still running in its conversation")
	a.press("alice", card, "Cancel")
	card = a.card("Approve")
	a.press("alice", card, "Approve")
	a.contains("it waits for")
	if n := len(p.sent()); n != 0 {
		t.Fatalf("%d mails went out beside it", n)
	}
	p.must(os.WriteFile(filepath.Join(filepath.Dir(p.work("a.txt")[0]), "go"), nil, 0o600))
	p.onlySent()
	a.contains("Sent")
}

// onlySent waits for one mail and answers it whole.
func (p *product) onlySent() (mail string) {
	p.t.Helper()
	eventually(p.t, patience, "one mail in Sent", func() error {
		files, err := filepath.Glob(filepath.Join(p.ready.Maildir, ".Sent", "new", "*"))
		if err != nil || len(files) != 1 {
			return fmt.Errorf("there are %d, %w", len(files), errNone)
		}
		b, err := os.ReadFile(files[0])
		mail = string(b)
		return err
	})
	return mail
}

// postOffice takes mail by SMTP on loopback.
type postOffice struct {
	addr  string
	mu    sync.Mutex
	mails []string
}

func newPostOffice(t *testing.T) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &postOffice{addr: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { o.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return o
}

func (o *postOffice) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	fmt.Fprint(conn, "220 test\r\n")
	var mail strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch verb := strings.ToUpper(strings.Fields(line + " .")[0]); verb {
		case "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return
		case "RCPT":
			mail.WriteString(line)
			fmt.Fprint(conn, "250 ok\r\n")
		case "DATA":
			fmt.Fprint(conn, "354 go on\r\n")
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				mail.WriteString(line)
			}
			o.mu.Lock()
			o.mails = append(o.mails, mail.String())
			o.mu.Unlock()
			fmt.Fprint(conn, "250 taken\r\n")
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}

// With --smtp an approved draft really goes out, once.
func TestDraftBySMTP(t *testing.T) {
	t.Parallel()
	office := newPostOffice(t)
	config := fmt.Sprintf("[outbox]\ntools = [\"mail__mail_send\"]\n[[mcp]]\nname = \"mail\"\ncommand = %q\nargs = [\"demo-mail\", \"--maildir\", %q, \"--smtp\", %q]\n",
		binary, filepath.Join(t.TempDir(), "maildir"), office.addr)
	p := start(t, allowAll+config, obedient(t)...)
	a := p.dm(`CALL mail__mail_send {"to":["dean@example.edu"],"subject":"Hello","body":"Really."}`)
	card := a.card("Approve")
	office.mu.Lock()
	if len(office.mails) != 0 {
		t.Error("it went out before anybody approved")
	}
	office.mu.Unlock()
	a.contains("Drafted, not sent")
	a.press("alice", card, "Approve")
	eventually(t, patience, "the mail at the other end", func() error {
		office.mu.Lock()
		defer office.mu.Unlock()
		if len(office.mails) != 1 {
			return fmt.Errorf("there are %d, %w", len(office.mails), errNone)
		}
		for _, want := range []string{"RCPT TO:<dean@example.edu>", "Subject: Hello", "Really.", "Message-Id: <"} {
			if !strings.Contains(strings.ToLower(office.mails[0]), strings.ToLower(want)) {
				return fmt.Errorf("it does not hold %q:\n%s", want, office.mails[0])
			}
		}
		return nil
	})
}
