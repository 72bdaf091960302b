package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience bounds every wait; nothing here takes a tenth of it on a quiet
// machine.
const patience = 45 * time.Second

// chromium is the one browser of this package's tests.
var chromium struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "browser") {
			t.Fatal("MECHA_TEST_REQUIRE names browser, and no Chromium is installed")
		}
		t.Skip("no Chromium is installed: the page is not looked at")
	}
	chromium.once.Do(func() {
		profile, err := os.MkdirTemp("", "browsertest-profile-")
		if err != nil {
			chromium.err = err
			return
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-quic", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "en-GB"), chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(patience))
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel := chromedp.NewContext(allocator)
		chromium.ctx, chromium.stop = ctx, func() { cancel(); stop(); os.RemoveAll(profile) }
		chromium.err = chromedp.Do(ctx, chromedp.Navigate("about:blank"))
	})
	if chromium.err != nil {
		t.Fatalf("start Chromium: %v", chromium.err)
	}
	return chromium.ctx
}

// person is somebody at the page: one tab.
type person struct {
	t      *testing.T
	ctx    context.Context
	dm     string
	mu     sync.Mutex
	wrong  []string
	shots  string
	number int
}

// sit opens the printed address in a new tab, at a width in pixels. A script
// error, or a request to anywhere else, fails the test at its end.
func sit(t *testing.T, p *product, width, height int) *person {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser(t))
	a := &person{t: t, ctx: ctx, dm: p.DMs["alice"], shots: os.Getenv("MECHA_SHOTS")}
	if a.shots == "" {
		a.shots = t.TempDir()
	}
	own, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	note := func(format string, args ...any) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
	}
	if err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			what := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				what += " " + e.ExceptionDetails.Exception.Description
			}
			note("exception: %s", what)
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err != nil || u.Host != own.Host && u.Scheme != "data" && u.Scheme != "about" && u.Scheme != "blob" {
				note("a request to another origin: %s", e.Request.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, what := range a.wrong {
			t.Errorf("the page was not clean: %s", what)
		}
	})
	must(t, ctx, network.Enable, network.EnableParams{})
	a.do(chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(p.Page))
	a.until(`document.body.dataset.connection === 'open'`)
	return a
}

// must runs a protocol command.
func must[P, R any](t *testing.T, ctx context.Context, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatalf("%s: %v", command.Method, err)
	}
}

func (a *person) do(actions ...chromedp.Action[chromedp.Void]) {
	a.t.Helper()
	ctx, stop := context.WithTimeout(a.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		a.shot("failed")
		a.t.Fatalf("browser: %v", err)
	}
}

// eval is the value of a JavaScript expression, awaited.
func eval[T any](a *person, expression string) T {
	a.t.Helper()
	out, err := chromedp.Run(a.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		a.shot("failed")
		a.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return out
}

// until waits for a JavaScript expression to be true, looking once a frame.
func (a *person) until(format string, args ...any) {
	a.t.Helper()
	expression := fmt.Sprintf(format, args...)
	if !eval[bool](a, fmt.Sprintf(`new Promise((done) => { const end = performance.now() + %d; const look = () => ((%s) ? done(true) : performance.now() > end ? done(false) : requestAnimationFrame(look)); look(); })`,
		patience.Milliseconds(), expression)) {
		a.shot("failed")
		a.t.Fatalf("never true: %s\non the screen:\n%s", expression, eval[string](a, `document.querySelector('[data-testid=thread-pane], main')?.innerText ?? document.body.innerText`))
	}
}

// quoted is a JavaScript string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

func id(testid string) string { return fmt.Sprintf(`[data-testid=%q]`, testid) }

func (a *person) click(selector string) {
	a.t.Helper()
	a.do(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// openDM goes to the conversation with the bot; on a phone the list of
// conversations is a screen of its own.
func (a *person) openDM() {
	a.t.Helper()
	item := fmt.Sprintf(`document.querySelector('[data-testid=channel-item][data-id=%s]')`, a.dm)
	if !eval[bool](a, item+`?.checkVisibility() ?? false`) {
		a.click(`.pane-head .phone-only`)
		a.until("%s?.checkVisibility()", item)
	}
	a.click(id("channel-item") + fmt.Sprintf(`[data-id=%q]`, a.dm))
	a.until(`document.querySelector('[data-testid=composer-channel]')`)
}

// send types a message into the conversation that is open.
func (a *person) send(text string) {
	a.t.Helper()
	if eval[bool](a, `document.querySelector('[data-testid=thread-close]')?.checkVisibility() ?? false`) {
		a.click(id("thread-close"))
		a.until(`!document.querySelector('[data-testid=thread-pane]')`)
	}
	box := chromedp.CSS(id("composer-channel"))
	a.do(chromedp.WaitVisible(box), chromedp.SendKeys(box, text+kb.Enter))
}

// say types a message and opens its thread once there is an answer.
func (a *person) say(text string) {
	a.t.Helper()
	a.send(text)
	mine := fmt.Sprintf(`[...document.querySelectorAll('.pane-main [data-testid=message]')].filter((m) => m.querySelector('.msg-text')?.textContent === %s).at(-1)`, quoted(text))
	a.until(`%s?.querySelector('[data-testid=replies]')`, mine)
	ts := eval[string](a, mine+`.dataset.ts`)
	a.click(fmt.Sprintf(`.pane-main [data-ts=%q] %s`, ts, id("replies")))
	a.until(`document.querySelector('[data-testid=thread-pane][data-thread=%s]')`, quoted(ts))
}

// reads waits until the open thread shows a text.
func (a *person) reads(text string) {
	a.t.Helper()
	a.until(`document.querySelector('[data-testid=thread-pane]')?.innerText.includes(%s)`, quoted(text))
}

// settled waits until nothing streams in the open thread.
func (a *person) settled() {
	a.t.Helper()
	a.until(`!document.querySelector('[data-testid=thread-pane] [data-testid=stop]')`)
}

// buttonGone waits until the open thread has no button of that label.
func (a *person) buttonGone(label string) {
	a.t.Helper()
	a.until(`![...document.querySelectorAll('[data-testid=thread-pane] button[data-action-id]')].some((b) => b.textContent.trim() === %s)`, quoted(label))
}

// press clicks the newest button of that label within a part of the screen.
func (a *person) press(within, label string) {
	a.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s)].filter((b) => b.textContent.trim() === %s && !b.disabled).at(-1)`, quoted(within+" button[data-action-id]"), quoted(label))
	a.until("%s", find)
	// A card may be drawn again between looking and clicking: its message and
	// its action stay.
	at := eval[[]string](a, fmt.Sprintf(`(() => { const b = %s; return [b.closest('[data-testid=message]')?.dataset.ts ?? '', b.dataset.actionId]; })()`, find))
	selector := fmt.Sprintf(`[data-action-id=%q]`, at[1])
	if at[0] != "" {
		selector = fmt.Sprintf(`[data-ts=%q] `, at[0]) + selector
	}
	a.click(within + " " + selector)
}

// fill replaces what stands in the field of the open modal that has this label.
func (a *person) fill(label, text string) {
	a.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('dialog[open] [data-input]')].find((e) => e.querySelector('label')?.textContent.trim().startsWith(%s))`, quoted(label))
	a.until("%s", find)
	selector := fmt.Sprintf(`dialog[open] [data-input=%q] :is(textarea, input)`, eval[string](a, find+`.dataset.input`))
	a.do(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Focus(chromedp.CSS(selector)))
	eval[bool](a, fmt.Sprintf(`(document.querySelector(%s).select(), true)`, quoted(selector)))
	a.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// submit presses the open modal's own button and waits until the modal is gone.
func (a *person) submit() {
	a.t.Helper()
	a.click(`dialog[open] ` + id("modal-submit"))
	a.until(`!document.querySelector('dialog[open]')`)
}

const thread = `[data-testid="thread-pane"]`

// shot keeps a picture of the screen.
func (a *person) shot(name string) {
	png, err := chromedp.Run(a.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		a.t.Logf("picture %s: %v", name, err)
		return
	}
	a.number++
	file := filepath.Join(a.shots, fmt.Sprintf("%s-%02d-%s.png", strings.ReplaceAll(a.t.Name(), "/", "-"), a.number, name))
	if err := os.WriteFile(file, png, 0o600); err != nil {
		a.t.Logf("picture %s: %v", name, err)
	}
}
