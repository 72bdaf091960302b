package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// loaded is the product in a process of its own, between a Slack and a model
// that live in this one, so that what is measured of the process is its own.
func loaded(b testing.TB, rates float64, model http.HandlerFunc, config string) *product {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	ws, err := localslack.Start(ctx, localslack.Config{RateScale: rates})
	if err != nil {
		b.Fatal(err)
	}
	ms := httptest.NewServer(model)
	b.Cleanup(ms.Close)
	p := &product{t: b, home: b.TempDir(), log: &logTail{}}
	at, err := json.Marshal(ws.Ready())
	if err != nil {
		b.Fatal(err)
	}
	p.must(json.Unmarshal(at, &p.ready))
	config += fmt.Sprintf("\n[providers.main]\nkind = \"openai\"\nprofile = \"openai\"\nbase_url = %q\nmodel = \"metronome\"\napi_key = \"none\"\ncontext_window = 1000000\n", ms.URL+"/v1")
	p.must(os.WriteFile(filepath.Join(p.home, "config.toml"), []byte(config), 0o600))
	p.env = []string{"SLACK_BOT_TOKEN=" + p.ready.BotToken, "SLACK_APP_TOKEN=" + p.ready.AppToken}
	p.args = []string{"connect", "--api-url", p.ready.APIURL}
	p.begin()
	b.Cleanup(p.stop)
	p.dm(p.link()).contains("You own this bot")
	return p
}

var streamOrder = regexp.MustCompile(`stream (\d+) tokens`)

// metronome is a model without latency: it answers in one token, or streams as
// many as it is asked for at 200 a second. said tells a test how far it is, in
// bytes, by the text of the order.
func metronome(said func(order string, bytes int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"metronome","object":"model"}]}`)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		order, tokens := "", 0
		for _, m := range req.Messages {
			if g := streamOrder.FindStringSubmatch(contentText(m.Content)); m.Role == "user" && g != nil {
				order, tokens = contentText(m.Content), 0
				tokens, _ = strconv.Atoi(g[1])
			}
		}
		if tokens == 0 {
			chunk(w, map[string]any{"role": "assistant", "content": "Done."}, "")
		}
		const step = 10 // tokens of one tick
		tick := time.NewTicker(step * time.Second / 200)
		defer tick.Stop()
		bytes := 0
		for i := 0; i < tokens; i++ {
			if i%step == 0 {
				w.(http.Flusher).Flush()
				if said != nil && bytes > 0 {
					said(order, bytes)
				}
				select {
				case <-tick.C:
				case <-r.Context().Done():
					return
				}
			}
			word := token(i)
			bytes += len(word)
			chunk(w, map[string]any{"role": "assistant", "content": word}, "")
		}
		chunk(w, map[string]any{}, "stop")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

// token is the ith of a stream: numbered, so that what is lost, repeated or out
// of order shows; a paragraph ends now and then.
func token(i int) string {
	if i%120 == 119 {
		return fmt.Sprintf("w%d\n\n", i)
	}
	return fmt.Sprintf("w%d ", i)
}

// memory is the most and the present resident memory of the process, in MB.
func (p *product) memory() (peak, now float64) {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skip("this system tells of no process's memory:", err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "VmHWM:" {
			peak, _ = strconv.ParseFloat(f[1], 64)
		}
		if len(f) == 3 && f[0] == "VmRSS:" {
			now, _ = strconv.ParseFloat(f[1], 64)
		}
	}
	return peak / 1024, now / 1024
}

// processor is how much processor time the process has used.
func (p *product) processor() time.Duration {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')'):]))
	user, _ := strconv.Atoi(f[12])
	system, _ := strconv.Atoi(f[13])
	return time.Duration(user+system) * 10 * time.Millisecond // ticks are hundredths of a second
}

// stopped ends the process and opens what it left.
func (p *product) stopped() *record.DB {
	p.t.Helper()
	p.stop()
	db, err := record.Open(context.Background(), filepath.Join(p.home, "mecha.db"), record.Options{})
	p.must(err)
	p.t.Cleanup(func() { db.Close() })
	return db
}

// count asks the record for one number.
func count(t testing.TB, db *record.DB, query string, args ...any) (n int) {
	t.Helper()
	err := db.Read(context.Background(), func(tx *record.Tx) error { return tx.Row(query, args, &n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// asBot posts as the bot itself does: its own message, which it must not hear.
func (p *product) asBot(channel, text string) error {
	res, err := http.PostForm(p.ready.APIURL+"chat.postMessage", url.Values{"token": {p.ready.BotToken}, "channel": {channel}, "text": {text}})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var a struct {
		OK    bool
		Error string
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil || !a.OK {
		return fmt.Errorf("chat.postMessage: %s, %v", a.Error, err)
	}
	return nil
}
