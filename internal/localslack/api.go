package localslack

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// apiError is an answer with ok:false. Code is a name from Slack's catalogue.
type apiError struct {
	code     string
	messages []string
	extra    map[string]any
}

func (e *apiError) Error() string {
	return strings.Join(append([]string{e.code}, e.messages...), ": ")
}

// fail makes an apiError; messages go into response_metadata.messages.
func fail(code string, messages ...string) error {
	return &apiError{code: code, messages: messages}
}

// result is the answer of a method, without "ok".
type result map[string]any

// tokenKind is who a token speaks for.
type tokenKind int

const (
	botToken tokenKind = 1 << iota
	userToken
	appToken
)

// principal is whom a call is made by: a user, bots among them, or, with an
// app-level token, an app and nobody.
type principal struct {
	kind tokenKind
	user *user
	app  *app
}

// call is one call of a method.
type call struct {
	w       *Workspace
	name    string
	who     principal
	method  method
	args    args
	warning []string
	note    string // for whoever reads the inspector: what Slack would have done otherwise

	after func() // runs once the answer is on its way
}

// me is the id of the calling user.
func (c *call) me() string { return c.who.user.ID }

// api answers one Web API call. Whatever goes wrong inside Slack's rules is
// HTTP 200 with ok:false; only rate limits and staged faults differ.
func (w *Workspace) api(rw http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	start := w.cfg.Now()
	r.Body = http.MaxBytesReader(rw, r.Body, maxAPIBody)
	body := bodyType(r)
	a, err := parseArgs(r, body)
	c := &call{w: w, name: name, args: a}
	c.judgeBody(body)

	fault := w.faults.take(name)
	if fault.before(w, rw, r, c, start) {
		return
	}
	var res result
	if err == nil {
		res, err = w.dispatch(c, r, rw.Header())
	}
	if fault.after(w, c, start) {
		if err == nil && c.after != nil {
			c.after()
		}
		panic(http.ErrAbortHandler) // the work is done, the answer never arrives
	}
	w.answer(rw, c, res, err, start)
}

// judgeBody warns of what Slack warns of in a body's type, and notes where Slack
// is less forgiving than we are.
func (c *call) judgeBody(t mediaType) {
	_, charset := t.params["charset"]
	switch {
	case t.kind == "application/json" && len(c.args) > 0:
		if !charset {
			c.warning = append(c.warning, "missing_charset")
		}
		if m, ok := c.w.methods[c.name]; ok && !m.json {
			c.note = "Slack reads no JSON body for this method and would see no arguments; send a form"
		}
	case t.kind == "application/x-www-form-urlencoded" && charset:
		c.warning = append(c.warning, "superfluous_charset")
	}
}

// dispatch checks token, scope, limits and arguments, in Slack's order, and
// runs the method.
func (w *Workspace) dispatch(c *call, r *http.Request, header http.Header) (result, error) {
	m, ok := w.methods[c.name]
	if !ok {
		return nil, &apiError{code: "unknown_method", extra: map[string]any{"req_method": c.name}}
	}
	c.method = m
	if !m.open {
		token := bearer(r)
		if token == "" {
			token = c.args.str("token")
		}
		if err := w.authenticate(c, token); err != nil {
			return nil, err
		}
		if c.who.kind&m.kinds == 0 {
			return nil, fail("not_allowed_token_type")
		}
		if err := w.checkScope(c, m, header); err != nil {
			return nil, err
		}
		if c.who.kind != userToken {
			if wait := w.limits.take(c, m); wait > 0 {
				return nil, &rateLimited{after: wait}
			}
		}
	}
	if err := m.check(c.args); err != nil {
		return nil, err
	}
	return m.run(c)
}

func (w *Workspace) authenticate(c *call, token string) error {
	switch {
	case token == "":
		return fail("not_authed")
	case strings.HasPrefix(token, "xapp-"):
		for _, a := range w.apps {
			if a.token == token {
				c.who = principal{kind: appToken, app: a}
				return nil
			}
		}
	}
	u := w.store.byToken[token] // tokens never change, so no lock
	if u == nil {
		return fail("invalid_auth")
	}
	c.who = principal{kind: userToken, user: u}
	if u.Bot {
		c.who = principal{kind: botToken, user: u, app: w.appOf(u.ID)}
		if c.who.app == nil {
			return fail("account_inactive") // its manifest isn't among those of this start
		}
	}
	return nil
}

func (w *Workspace) checkScope(c *call, m method, header http.Header) error {
	if c.who.kind != botToken {
		return nil
	}
	a := c.who.app
	header.Set("X-OAuth-Scopes", a.scopeList)
	header.Set("X-Accepted-OAuth-Scopes", strings.Join(m.scopes, ","))
	if len(m.scopes) == 0 || slices.ContainsFunc(m.scopes, func(s string) bool { return a.scopes[s] }) {
		return nil
	}
	return &apiError{code: "missing_scope", extra: map[string]any{
		"needed": strings.Join(m.scopes, ","), "provided": a.scopeList}}
}

// scopePrefix is the beginning of the scopes for each kind of channel.
var scopePrefix = map[string]string{"channel": "channels:", "group": "groups:", "mpim": "mpim:", "im": "im:"}

// mayTouch checks the scope for one kind of channel, where the method's scopes
// tell kinds apart.
func (c *call) mayTouch(kind string) error {
	if c.who.kind != botToken {
		return nil
	}
	var needed []string
	for _, s := range c.method.scopes {
		if strings.HasPrefix(s, scopePrefix[kind]) {
			if c.who.app.scopes[s] {
				return nil
			}
			needed = append(needed, s)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	return &apiError{code: "missing_scope", extra: map[string]any{"needed": strings.Join(needed, ","), "provided": c.who.app.scopeList}}
}

// rateLimited is the one refusal that isn't HTTP 200.
type rateLimited struct{ after time.Duration }

func (e *rateLimited) Error() string { return "ratelimited" }

func (w *Workspace) answer(rw http.ResponseWriter, c *call, res result, err error, start time.Time) {
	status, code := http.StatusOK, ""
	if res == nil {
		res = result{}
	}
	res["ok"] = err == nil
	var limited *rateLimited
	var failed *apiError
	switch {
	case err == nil:
	case errors.As(err, &limited):
		status, code = http.StatusTooManyRequests, "ratelimited"
		seconds := int((limited.after + time.Second - 1) / time.Second)
		rw.Header().Set("Retry-After", strconv.Itoa(max(seconds, 1)))
	case errors.As(err, &failed):
		code = failed.code
		for k, v := range failed.extra {
			res[k] = v
		}
		if len(failed.messages) > 0 {
			res["response_metadata"] = map[string]any{"messages": failed.messages}
		}
	default:
		code = "internal_error"
		w.log.Error("an API method failed", "method", c.name, "error", err)
	}
	if code != "" {
		res["error"] = code
	}
	if len(c.warning) > 0 {
		res["warning"] = strings.Join(c.warning, ",")
		meta, _ := res["response_metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["warnings"] = c.warning
		res["response_metadata"] = meta
	}
	body := encode(res)
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.Header().Set("Content-Length", strconv.Itoa(len(body)))
	rw.Header().Set("Cache-Control", "private, no-cache, no-store, must-revalidate")
	rw.WriteHeader(status)
	rw.Write(body)
	w.inspector.add(entry{At: start, Kind: "call", Method: c.name, OK: err == nil, Error: code,
		Note: c.note, request: c.args.loggable(), response: body})
	if c.after != nil {
		http.NewResponseController(rw).Flush()
		c.after()
	}
}

// bearer is the token of an Authorization header.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// paged cuts a list as Slack's cursors do: the cursor is opaque, the limit
// bounded. next is "" on the last page.
func paged[T any](c *call, list []T, standard, most int) (part []T, next string, err error) {
	limit := standard
	if s := c.args.str("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 0 {
			return nil, "", fail("invalid_limit")
		}
	}
	limit = min(cmp.Or(limit, standard), most)
	from := 0
	if s := c.args.str("cursor"); s != "" {
		n, ok := strings.CutPrefix(s, "next_")
		if from, err = strconv.Atoi(n); !ok || err != nil || from < 0 || from > len(list) {
			return nil, "", fail("invalid_cursor")
		}
	}
	end := min(from+limit, len(list))
	if end < len(list) {
		next = "next_" + strconv.Itoa(end)
	}
	return list[from:end], next, nil
}
