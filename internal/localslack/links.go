package localslack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

const linkLife = 15 * time.Minute

// linkSigner makes the page's links to files: no token in them, nothing to
// guess, and dead after a quarter of an hour or a restart.
type linkSigner struct {
	key []byte
	now func() time.Time
}

func newLinkSigner(now func() time.Time) *linkSigner {
	return &linkSigner{key: []byte(newSecret(32)), now: now}
}

func (l *linkSigner) sign(id string, inline bool) string {
	mode := "d"
	if inline {
		mode = "i"
	}
	until := strconv.FormatInt(l.now().Add(linkLife).Unix(), 10)
	return "/file/" + id + "?m=" + mode + "&e=" + until + "&s=" + l.mac(id, mode, until)
}

func (l *linkSigner) mac(id, mode, until string) string {
	h := hmac.New(sha256.New, l.key)
	h.Write([]byte(id + "\x00" + mode + "\x00" + until))
	return hex.EncodeToString(h.Sum(nil))
}

func (l *linkSigner) valid(id, mode, until, mac string) bool {
	t, err := strconv.ParseInt(until, 10, 64)
	return hmac.Equal([]byte(mac), []byte(l.mac(id, mode, until))) && err == nil && l.now().Unix() <= t
}

// pageFile serves a signed link.
func (w *Workspace) pageFile(rw http.ResponseWriter, r *http.Request) {
	id, q := r.PathValue("file"), r.URL.Query()
	if !w.store.links.valid(id, q.Get("m"), q.Get("e"), q.Get("s")) {
		http.Error(rw, "this link has expired; reload the page", http.StatusForbidden)
		return
	}
	w.store.mu.RLock()
	f := w.store.files[id]
	var copied file
	if f != nil {
		copied = *f
	}
	w.store.mu.RUnlock()
	if f == nil || copied.Deleted {
		http.NotFound(rw, r)
		return
	}
	w.serveFile(rw, r, &copied, q.Get("m") == "i")
}
