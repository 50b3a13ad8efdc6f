package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.Bool("screenshots", false, "write the pictures of the documentation anew")

// needBrowser makes it a failure that there is no browser; otherwise the tests that need one are skipped.
const needBrowser = "SPKY_NEED_BROWSER"

// chromium is one browser for all tests of this binary.
var chromium struct {
	once  sync.Once
	ctx   context.Context
	close func()
	err   error
}

func startBrowser() {
	path := os.Getenv("SPKY_BROWSER")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		chromium.err = errors.New("there is no Chromium: install one, or name it with SPKY_BROWSER")
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-US"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	chromium.ctx, chromium.close = ctx, func() { _ = chromedp.Cancel(ctx); stop() }
	chromium.err = chromedp.Do(ctx)
}

func closeBrowser() {
	if chromium.close != nil {
		chromium.close()
	}
}

// A tab is a page of a browser in which nobody has signed in yet.
type browser struct {
	*rig

	tab context.Context

	mu   sync.Mutex
	bad  []string // what must not happen: errors on the console, requests to elsewhere
	fine []string // parts of such texts that a test expects
}

// browse opens a page, and watches what happens in it until the test's end.
func (r *rig) browse() *browser {
	r.t.Helper()
	chromium.once.Do(startBrowser)
	if chromium.err != nil {
		if os.Getenv(needBrowser) != "" {
			r.t.Fatalf("%s is set: %v", needBrowser, chromium.err)
		}
		r.t.Skipf("NO BROWSER, this is not tested: %v", chromium.err)
	}
	b := &browser{rig: r}
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.happened))
	b.tab = ctx
	r.t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, what := range b.bad {
			if !slices.ContainsFunc(b.fine, func(part string) bool { return strings.Contains(what, part) }) {
				r.t.Errorf("in the browser: %s", what)
			}
		}
		cancel()
	})
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	r.check(err)
	_, err = chromedp.Call(ctx, log.Enable, struct{}{})
	r.check(err)
	b.size(1360, 900)
	return b
}

func (b *browser) happened(event any) {
	what := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			what = "console: " + said(e.Args)
		}
	case *runtime.EventExceptionThrown:
		what = fmt.Sprintf("exception: %s %s:%d", e.ExceptionDetails.Text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber)
		if e.ExceptionDetails.Exception != nil {
			what += " " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			what = fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if to := e.Request.URL; !strings.HasPrefix(to, b.url+"/") && !strings.HasPrefix(to, "data:") && to != "about:blank" {
			what = "request to " + to
		}
	}
	if what != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.bad = append(b.bad, what)
	}
}

func said(args []*runtime.RemoteObject) string {
	var all []string
	for _, arg := range args {
		all = append(all, arg.Description+string(arg.Value))
	}
	return strings.Join(all, " ")
}

// expects says that something which would be bad elsewhere is meant to happen.
func (b *browser) expects(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fine = append(b.fine, part)
}

// do runs steps, which have to succeed while the test is patient.
func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, patience)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

func (b *browser) size(width, height int64) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(width, height))
}

func (b *browser) theme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	b.check(err)
}

// signIn goes through the login.
func (b *browser) signIn(secret string) {
	b.t.Helper()
	b.open("/admin/login")
	b.do("sign in", chromedp.SendKeys(chromedp.CSS("#token"), secret), chromedp.Submit(chromedp.CSS("#token")))
	b.await(`location.pathname === "/admin/" && !!document.querySelector(".who") && document.readyState === "complete"`)
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.url+path))
}

// eval is what an expression comes to in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, patience)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

// await waits until something is true in the page, whatever pages come and go meanwhile.
func (b *browser) await(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, patience/2)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	looking := `new Promise((done) => { const look = () => { let ok = false; try { ok = !!(` + condition + `); } catch {} if (ok) done(true); else setTimeout(look, 20); }; look(); })`
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](looking, chromedp.EvalAwaitPromise))
		switch {
		case ok:
			return
		case ctx.Err() != nil:
			b.picture("failure")
			b.t.Fatalf("never came true: %s\n%s", condition, b.text("body"))
		case err == nil:
			b.t.Fatalf("%s: came to nothing", condition)
		}
	}
}

// text is what an element says.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? "(there is no %s)"`, quoted(selector), strings.ReplaceAll(selector, `"`, "'")))
}

// click clicks what can be seen.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// picture takes one of the page, for a person to look at.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("SPKY_PICTURES")
	if *screenshots && !strings.HasPrefix(name, "failure") {
		dir = filepath.Join("..", "..", "docs", "images")
	}
	ctx, cancel := context.WithTimeout(b.tab, 30*time.Second)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil || len(png) < 1000 {
		b.t.Fatalf("picture %s of %d bytes: %v", name, len(png), err)
	}
	if dir != "" {
		b.check(os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
}

func quoted(v any) string {
	text, _ := json.Marshal(v) // a text
	return string(text)
}
