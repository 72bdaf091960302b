package page_test

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
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds every wait in the browser; nothing here takes a tenth of it on a quiet machine.
const patience = 20 * time.Second

// shared is the one Chromium of this package's tests: starting it costs more than most of them. Each test opens its own tabs.
var shared struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// browser is the shared headless Chromium, or a skip where none is installed.
func browser(t testing.TB) context.Context {
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
	shared.once.Do(func() {
		profile, err := os.MkdirTemp("", "page-test-")
		if err != nil {
			shared.err = err
			return
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-quic", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "en-GB"), chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(patience))
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel := chromedp.NewContext(allocator)
		shared.ctx, shared.stop = ctx, func() { cancel(); stop(); os.RemoveAll(profile) }
		shared.err = chromedp.Do(ctx, chromedp.Navigate("about:blank"))
	})
	if shared.err != nil {
		t.Fatalf("start Chromium: %v", shared.err)
	}
	return shared.ctx
}

// tab is one page under watch: what it logged, what broke its policy, what left its origin.
type tab struct {
	t    *testing.T
	f    *fake
	ctx  context.Context
	mu   sync.Mutex
	seen []string // trouble, in words
}

// open opens the page of f in a new tab. After the test, any script error, policy violation or foreign request fails it.
func open(t *testing.T, ctx context.Context, f *fake, address string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx)
	b := &tab{t: t, f: f, ctx: ctx}
	own, _ := url.Parse(f.URL)
	if err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			what := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				what += " " + e.ExceptionDetails.Exception.Description
			}
			b.trouble("exception: " + what)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError {
				b.trouble(fmt.Sprintf("console.error: %s", e.Args[0].Value))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.URL, "favicon") {
				b.trouble(fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL))
			}
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err != nil || u.Host != own.Host && u.Scheme != "data" && u.Scheme != "about" {
				b.trouble("request to another origin: " + e.Request.URL)
			}
		}
	}); err != nil {
		t.Fatalf("listen to the tab: %v", err)
	}
	t.Cleanup(func() {
		violations, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`window.violations`))
		if err != nil {
			b.trouble("reading violations: " + err.Error())
		}
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, what := range append(b.seen, violations...) {
			t.Errorf("the page was not clean: %s", what)
		}
	})
	must(t, ctx, network.Enable, network.EnableParams{})
	must(t, ctx, log.Enable, cdp.Empty{})
	must(t, ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `window.violations = []; window.xss = 0;
		document.addEventListener('securitypolicyviolation', (e) => window.violations.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile + ':' + e.lineNumber));`})
	b.run(chromedp.EmulateViewport(1280, 860), chromedp.Navigate(address))
	return b
}

// must runs a protocol command.
func must[P, R any](t *testing.T, ctx context.Context, command cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		t.Fatalf("%s: %v", command.Method, err)
	}
}

// expect forgives the trouble so far that holds what: a refusal that the test asked for.
func (b *tab) expect(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = slices.DeleteFunc(b.seen, func(s string) bool { return strings.Contains(s, what) })
}

func (b *tab) trouble(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, what)
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.shot("failed")
		b.t.Fatalf("browser: %v", err)
	}
}

// eval returns the value of a JavaScript expression, awaited.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.shot("failed")
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return out
}

// until waits for a JavaScript expression to be true, looking once a frame. (chromedp.Poll would need eval, which the
// page's policy forbids.)
func (b *tab) until(expression string) {
	b.t.Helper()
	seen := eval[bool](b, fmt.Sprintf(`new Promise((done) => { const end = performance.now() + 20000; const look = () => ((%s) ? done(true) : performance.now() > end ? done(false) : requestAnimationFrame(look)); look(); })`, expression))
	if !seen {
		b.shot("failed")
		b.t.Fatalf("never true: %s", expression)
	}
}

func id(testid string) string { return fmt.Sprintf(`[data-testid=%q]`, testid) }

func (b *tab) click(selector string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

func (b *tab) typeIn(selector, text string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// next is the next post of the page to one of paths, skipping others.
func (b *tab) next(path string) object {
	b.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		select {
		case p := <-b.f.posts:
			if p.path == path {
				return p.body
			}
		case <-deadline.C:
			b.shot("failed")
			b.t.Fatalf("the page never posted to %s", path)
		}
	}
}

// shot writes a picture into $MECHA_PAGE_SHOTS, for people who want to look at the page.
func (b *tab) shot(name string) {
	dir := os.Getenv("MECHA_PAGE_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("screenshot %s: %v", name, err)
		return
	}
	file := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(b.t.Name()+"-"+name)+".png")
	if err := os.WriteFile(file, png, 0o600); err != nil {
		b.t.Logf("screenshot %s: %v", name, err)
	}
}

// dark sets what the system prefers: dark or light, and in both nothing that moves, so that a look is a look.
func (b *tab) dark(on bool) {
	value := "light"
	if on {
		value = "dark"
	}
	must(b.t, b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}

func asJSON(v any) string {
	body, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(body)
}
