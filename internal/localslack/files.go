package localslack

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxFile     = 128 << 20 // bytes of one upload
	maxSnippet  = 1 << 20
	maxAltText  = 1000
	maxUploads  = 1000 // begun and not completed
	uploadLife  = time.Hour
	maxChannels = 100 // one file is shared to at once
)

// file is one file's description; its bytes are in the store's blobs.
type file struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Title    string      `json:"title"`
	Mimetype string      `json:"mimetype"`
	Filetype string      `json:"filetype"`
	Size     int64       `json:"size"`
	User     string      `json:"user"`
	Created  int64       `json:"created"`
	AltText  string      `json:"alt_txt,omitempty"`
	Mode     string      `json:"mode"`
	Shares   []fileShare `json:"shares,omitempty"`
	Deleted  bool        `json:"deleted,omitempty"`
}

type fileShare struct {
	Channel  string    `json:"channel"`
	TS       timestamp `json:"ts"`
	ThreadTS timestamp `json:"thread_ts,omitempty"`
}

// wire is the file object as the API gives it. The caller holds the store's lock.
func (f *file) wire(s *store) map[string]any {
	if f.Deleted {
		return map[string]any{"id": f.ID, "mode": "tombstone"}
	}
	private := s.fileBase + "/files-pri/" + s.TeamID + "-" + f.ID
	name := url.PathEscape(f.Name)
	channels, groups, ims := []string{}, []string{}, []string{}
	public := map[string][]any{}
	for _, sh := range f.Shares {
		entry := map[string]any{"ts": sh.TS.String(), "channel_name": "", "team_id": s.TeamID, "share_user_id": f.User, "reply_users": []string{}, "reply_count": 0}
		if sh.ThreadTS != 0 {
			entry["thread_ts"] = sh.ThreadTS.String()
		}
		switch c := s.channels[sh.Channel]; {
		case c == nil:
		case c.direct():
			ims = append(ims, sh.Channel)
		case c.Private:
			entry["channel_name"] = c.Name
			groups = append(groups, sh.Channel)
		default:
			entry["channel_name"] = c.Name
			channels = append(channels, sh.Channel)
		}
		public[sh.Channel] = append(public[sh.Channel], entry)
	}
	shares := map[string]any{}
	for id, list := range public {
		kind := "public"
		if c := s.channels[id]; c != nil && !c.public() {
			kind = "private"
		}
		m, _ := shares[kind].(map[string]any)
		if m == nil {
			m = map[string]any{}
			shares[kind] = m
		}
		m[id] = list
	}
	for _, ids := range [][]string{channels, groups, ims} {
		slices.Sort(ids)
	}
	out := map[string]any{"id": f.ID, "created": f.Created, "timestamp": f.Created, "name": f.Name, "title": f.Title, "mimetype": f.Mimetype,
		"filetype": f.Filetype, "pretty_type": strings.ToUpper(f.Filetype), "user": f.User, "user_team": s.TeamID, "editable": f.Mode == "snippet",
		"size": f.Size, "mode": f.Mode, "is_external": false, "external_type": "", "is_public": len(channels) > 0, "public_url_shared": false,
		"display_as_bot": false, "username": "", "url_private": private + "/" + name, "url_private_download": private + "/download/" + name,
		"media_display_type": "unknown", "permalink": s.fileBase + "/files/" + f.User + "/" + f.ID + "/" + name,
		"permalink_public": s.fileBase + "/files/public/" + f.ID, "is_starred": false, "skipped_shares": true, "has_rich_preview": false, "file_access": "visible",
		"channels": slices.Compact(channels), "groups": slices.Compact(groups), "ims": slices.Compact(ims), "shares": shares, "comments_count": 0}
	if f.AltText != "" {
		out["alt_txt"] = f.AltText
	}
	if rasterImage(f.Mimetype) {
		out["thumb_64"], out["thumb_360"] = private+"/"+name, private+"/"+name
	}
	return out
}

// upload is one that was begun with files.getUploadURLExternal.
type upload struct {
	id, user, name, alt, snippet string
	length                       int64
	begun                        time.Time
	data                         []byte
	done                         bool
}

// uploads are those begun and not yet completed.
type uploads struct {
	mu      sync.Mutex
	pending map[string]*upload // by file id
}

func uploadURL(c *call) (result, error) {
	length, err := strconv.ParseInt(c.args.str("length"), 10, 64)
	switch {
	case err != nil || length <= 0 || c.args.str("filename") == "":
		return nil, fail("missing_argument")
	case length > maxFile:
		return nil, fail("file_upload_size_restricted")
	case utf8.RuneCountInString(c.args.str("alt_txt")) > maxAltText:
		return nil, fail("alt_txt_too_large")
	case c.args.str("snippet_type") != "" && length > maxSnippet:
		return nil, fail("snippet_too_large")
	}
	u := &upload{id: newID("F0", 9), user: c.me(), name: cleanName(c.args.str("filename")), alt: c.args.str("alt_txt"),
		snippet: c.args.str("snippet_type"), length: length, begun: c.w.cfg.Now()}
	ups := c.w.uploads
	ups.mu.Lock()
	defer ups.mu.Unlock()
	for id, old := range ups.pending {
		if u.begun.Sub(old.begun) > uploadLife {
			delete(ups.pending, id)
		}
	}
	if len(ups.pending) >= maxUploads {
		return nil, fail("storage_limit_reached")
	}
	ups.pending[u.id] = u
	return result{"upload_url": c.w.base + "/upload/v1/" + u.id + newSecret(16), "file_id": u.id}, nil
}

// cleanName is a file's name without directories and control characters.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = path.Base(strings.ReplaceAll(name, "\\", "/"))
	if name == "." || name == "/" {
		return "file"
	}
	short, _ := cut(name, 255)
	return short
}

// receive takes the bytes of an upload: the raw body, or the first file of a
// multipart one. The address is the secret.
func (w *Workspace) receive(rw http.ResponseWriter, r *http.Request) {
	ticket := r.PathValue("ticket")
	id := ticket[:min(len(ticket), 11)]
	w.uploads.mu.Lock()
	u := w.uploads.pending[id]
	w.uploads.mu.Unlock()
	if u == nil {
		http.Error(rw, "this upload address is unknown or expired", http.StatusNotFound)
		return
	}
	r.Body = http.MaxBytesReader(rw, r.Body, maxFile+1<<20)
	data, err := uploadBody(r)
	if err != nil {
		http.Error(rw, "the upload could not be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.uploads.mu.Lock()
	u.data, u.done = data, true
	w.uploads.mu.Unlock()
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(rw, "OK - "+strconv.Itoa(len(data)))
}

// uploadBody tolerates what follows the closing boundary: slack-go writes that
// line twice.
func uploadBody(r *http.Request) ([]byte, error) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return io.ReadAll(r.Body)
	}
	mr := multipart.NewReader(r.Body, params["boundary"])
	for {
		p, err := mr.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no file among the parts")
		}
		if err != nil {
			return nil, err
		}
		if p.FileName() != "" || p.FormName() == "file" || p.FormName() == "filename" {
			return io.ReadAll(p)
		}
	}
}

// uploadOld is files.upload, which Slack has switched off.
func uploadOld(*call) (result, error) { return nil, fail("method_deprecated") }

// completeUpload is files.completeUploadExternal. The files are shared after
// the answer, as with Slack: who wants to know asks files.info.
func completeUpload(c *call) (result, error) {
	raw, _ := c.args.json("files")
	wanted, ok := rawList[struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}](raw)
	if !ok || len(wanted) == 0 {
		return nil, fail("invalid_arguments", "[ERROR] files must be an array of {id, title}")
	}
	blocks, ok := c.args.json("blocks")
	if !ok {
		return nil, fail("invalid_blocks")
	}
	if err := checkBlocks(blocks); err != nil {
		return nil, err
	}
	to := c.args.list("channels")
	if id := c.args.str("channel_id"); id != "" {
		to = []string{id}
	}
	if len(to) > maxChannels {
		return nil, fail("channels_limit_exceeded")
	}
	var ids, titles []string
	for _, f := range wanted {
		ids, titles = append(ids, f.ID), append(titles, f.Title)
	}
	done, err := c.w.finishUploads(c.me(), ids, titles)
	if err != nil {
		return nil, err
	}
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	var shares []*message
	for _, id := range to {
		ch, err := c.postable(id)
		if err != nil {
			return nil, err
		}
		thread, err := c.threadArg(ch, "thread_ts")
		if err != nil {
			return nil, err
		}
		m := &message{ThreadTS: thread, Channel: ch.ID, User: c.me(), Subtype: "file_share", Text: c.args.str("initial_comment"), Files: ids}
		if m.Text == "" {
			m.Blocks = withIDs(blocks)
		}
		shares = append(shares, m)
	}
	out := make([]any, 0, len(done))
	for _, f := range done {
		out = append(out, f.wire(s))
	}
	c.after = func() {
		for _, m := range shares {
			c.w.share(m)
		}
	}
	return result{"files": out}, nil
}

// finishUploads makes files of the uploads with those ids.
func (w *Workspace) finishUploads(user string, ids, titles []string) ([]*file, error) {
	w.uploads.mu.Lock()
	var ready []*upload
	for _, id := range ids {
		u := w.uploads.pending[id]
		if u == nil || u.user != user || !u.done {
			w.uploads.mu.Unlock()
			return nil, fail("file_not_found")
		}
		ready = append(ready, u)
	}
	for _, id := range ids {
		delete(w.uploads.pending, id)
	}
	w.uploads.mu.Unlock()

	var out []*file
	for i, u := range ready {
		f, err := w.addFile(u.id, user, u.name, titles[i], u.alt, u.snippet, u.data)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// addFile stores bytes and their description.
func (w *Workspace) addFile(id, user, name, title, alt, snippet string, data []byte) (*file, error) {
	f := &file{ID: id, Name: name, Title: cmp.Or(title, name), Size: int64(len(data)), User: user, Created: w.cfg.Now().Unix(),
		AltText: alt, Mode: "hosted"}
	f.Mimetype, f.Filetype = fileKind(name, data)
	if snippet != "" {
		f.Mode, f.Filetype, f.Mimetype = "snippet", snippet, "text/plain"
	}
	if err := w.store.blobs.put(id, data); err != nil {
		return nil, fail("internal_error", "store the file: "+err.Error())
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.store.write(&record{File: f}); err != nil {
		return nil, err
	}
	w.store.files[id] = f
	return f, nil
}

// fileKind judges by the name first, as Slack does, then by the bytes.
func fileKind(name string, data []byte) (mimetype, filetype string) {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	known := map[string]string{"md": "text/markdown", "txt": "text/plain", "csv": "text/csv", "json": "application/json", "go": "text/plain",
		"py": "text/x-python", "html": "text/html", "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
		"gif": "image/gif", "webp": "image/webp", "pdf": "application/pdf", "zip": "application/zip", "yaml": "text/yaml", "yml": "text/yaml"}
	if m, ok := known[ext]; ok {
		return m, ext
	}
	m, _, _ := mime.ParseMediaType(http.DetectContentType(data))
	if m == "text/plain" {
		return m, cmp.Or(ext, "text")
	}
	return m, cmp.Or(ext, "binary")
}

// share posts a message that carries files.
func (w *Workspace) share(m *message) (timestamp, error) {
	s := w.store
	s.mu.Lock()
	m.TS = s.nextTS()
	var err error
	for _, id := range m.Files {
		f := s.files[id]
		if f == nil {
			continue
		}
		next := *f
		next.Shares = append(slices.Clone(f.Shares), fileShare{m.Channel, m.TS, m.ThreadTS})
		if err = s.write(&record{File: &next}); err != nil {
			break
		}
		*f = next
	}
	var wire *wireMessage
	if err == nil {
		wire, err = w.post(m)
	}
	ch := s.channels[m.Channel]
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	w.announce(ch, wire)
	return m.TS, nil
}

func (c *call) file() (*file, error) {
	f := c.w.store.files[c.args.str("file")]
	switch {
	case f == nil || !c.w.mayRead(f, c.me()):
		return nil, fail("file_not_found")
	case f.Deleted:
		return nil, fail("file_deleted")
	}
	return f, nil
}

// mayRead: one's own files, and those shared where one may read. The caller
// holds the store's lock.
func (w *Workspace) mayRead(f *file, user string) bool {
	return f.User == user || slices.ContainsFunc(f.Shares, func(sh fileShare) bool {
		c := w.store.channels[sh.Channel]
		return c != nil && w.store.visible(c, user)
	})
}

func filesInfo(c *call) (result, error) {
	c.w.store.mu.RLock()
	defer c.w.store.mu.RUnlock()
	f, err := c.file()
	if err != nil {
		return nil, err
	}
	return result{"file": f.wire(c.w.store), "comments": []any{}, "response_metadata": map[string]any{"next_cursor": ""}}, nil
}

func filesList(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*file
	for _, f := range s.files {
		if !f.Deleted && c.w.mayRead(f, c.me()) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *file) int { return cmp.Or(cmp.Compare(b.Created, a.Created), strings.Compare(a.ID, b.ID)) })
	out := []any{}
	for _, f := range all[:min(len(all), 100)] {
		out = append(out, f.wire(s))
	}
	return result{"files": out, "paging": map[string]any{"count": 100, "total": len(all), "page": 1, "pages": (len(all) + 99) / 100}}, nil
}

func filesDelete(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := c.file()
	if err != nil {
		return nil, err
	}
	if f.User != c.me() {
		return nil, fail("cant_delete_file")
	}
	next := *f
	next.Deleted = true
	if err := s.write(&record{File: &next}); err != nil {
		return nil, err
	}
	*f = next
	return result{}, s.blobs.remove(f.ID)
}

// download serves url_private by token. Without a good one it leads to HTML, as
// Slack does, and apps have to notice.
func (w *Workspace) download(rw http.ResponseWriter, r *http.Request) {
	u := w.store.byToken[bearer(r)]
	id := strings.TrimPrefix(r.PathValue("file"), w.store.TeamID+"-")
	w.store.mu.RLock()
	f := w.store.files[id]
	may := u != nil && f != nil && !f.Deleted && w.mayRead(f, u.ID) && w.maySeeFiles(u)
	var copied file
	if may {
		copied = *f
	}
	w.store.mu.RUnlock()
	if !may {
		rw.Header().Set("X-Slack-Meta", "acl_fail")
		http.Redirect(rw, r, "/signin?redir="+url.QueryEscape(r.URL.EscapedPath()), http.StatusFound)
		return
	}
	w.serveFile(rw, r, &copied, false)
}

// maySeeFiles: a person always, a bot with the scope for it.
func (w *Workspace) maySeeFiles(u *user) bool {
	if !u.Bot {
		return true
	}
	a := w.appOf(u.ID)
	return a != nil && a.scopes["files:read"]
}

// serveFile sends bytes that someone uploaded. They never run on this origin:
// attachment, nosniff and an empty sandbox; only raster images are shown inline.
func (w *Workspace) serveFile(rw http.ResponseWriter, r *http.Request, f *file, inline bool) {
	body, err := w.store.blobs.open(f.ID)
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	defer body.Close()
	h := rw.Header()
	disposition := "attachment"
	if inline && rasterImage(f.Mimetype) {
		disposition = "inline"
	}
	h.Set("Content-Type", cmp.Or(f.Mimetype, "application/octet-stream"))
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": f.Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
	http.ServeContent(rw, r, "", time.Time{}, body)
}

func rasterImage(mimetype string) bool {
	switch mimetype {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// localFile is a file as the page shows it, with links that need no token.
func (s *store) localFile(f *file) any {
	if f.Deleted {
		return map[string]any{"id": f.ID, "mode": "tombstone"}
	}
	out := map[string]any{"id": f.ID, "name": f.Name, "mimetype": f.Mimetype, "size": f.Size, "filetype": f.Filetype, "title": f.Title,
		"page_url": s.links.sign(f.ID, false)}
	if rasterImage(f.Mimetype) {
		out["thumb_page_url"] = s.links.sign(f.ID, true)
	}
	return out
}
