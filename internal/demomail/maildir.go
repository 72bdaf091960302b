package demomail

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// maildir is a mailbox on disk: cur and new hold what came in, .Sent/cur and
// .Sent/new what went out. Files are never changed after they are written
// (the format's rule), so a parsed message is kept by file name.
type maildir struct {
	dir string

	mu     sync.Mutex
	parsed map[string]*Message // by path below dir, without flags
}

// maxMessageBytes is the largest message file that is read; a larger one is
// listed with its headers and what fits of its text.
const maxMessageBytes = 25 << 20

// sentFolder is where Maildir++ keeps what was sent.
const sentFolder = ".Sent"

func openMaildir(dir string) (*maildir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the Maildir %q: %w", dir, err)
	}
	for _, sub := range []string{"cur", "new", "tmp"} {
		for _, folder := range []string{".", sentFolder} {
			if err := os.MkdirAll(filepath.Join(abs, folder, sub), 0o700); err != nil {
				return nil, fmt.Errorf("open the Maildir %s: %w; name a directory that you may write with --maildir", abs, err)
			}
		}
	}
	return &maildir{dir: abs, parsed: map[string]*Message{}}, nil
}

// messages reads the whole mailbox, oldest first. A file that is no message
// is left out; the second result counts those.
func (m *maildir) messages() ([]*Message, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*Message
	unreadable := 0
	seen := map[string]bool{}
	for _, sub := range []string{"new", "cur", sentFolder + "/new", sentFolder + "/cur"} {
		entries, err := os.ReadDir(filepath.Join(m.dir, sub))
		if err != nil {
			return nil, 0, fmt.Errorf("read the mailbox: %w", err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
				continue
			}
			base, _, _ := strings.Cut(e.Name(), ":") // ":2,S" are flags, which change
			key := strings.TrimSuffix(strings.TrimSuffix(sub, "new"), "cur") + base
			if seen[key] {
				continue // seen in new while a reader moved it to cur
			}
			seen[key] = true
			msg, ok := m.parsed[key]
			if !ok {
				msg, err = readMessageFile(filepath.Join(m.dir, sub, e.Name()))
				if errors.Is(err, fs.ErrNotExist) {
					continue // moved or deleted since the listing
				}
				if err != nil {
					unreadable++
					continue
				}
				msg.Sent = strings.HasPrefix(sub, sentFolder)
				m.parsed[key] = msg
			}
			all = append(all, msg)
		}
	}
	for key := range m.parsed {
		if !seen[key] {
			delete(m.parsed, key)
		}
	}
	slices.SortStableFunc(all, func(a, b *Message) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.ID, b.ID))
	})
	return all, unreadable, nil
}

// readMessageFile opens without following a link: a mailbox that a stranger
// can drop files into must not become a way to read others.
func readMessageFile(path string) (*Message, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxMessageBytes))
	if err != nil {
		return nil, err
	}
	return ReadMessage(raw)
}

// filed returns the bytes of a sent message by its file name, whether or not
// a mail reader has moved it from new to cur in the meantime.
func (m *maildir) filed(name string) ([]byte, bool, error) {
	raw, err := os.ReadFile(filepath.Join(m.dir, sentFolder, "new", name))
	if err == nil {
		return raw, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	entries, err := os.ReadDir(filepath.Join(m.dir, sentFolder, "cur"))
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if base, _, _ := strings.Cut(e.Name(), ":"); base == name {
			raw, err := os.ReadFile(filepath.Join(m.dir, sentFolder, "cur", e.Name()))
			return raw, err == nil, err
		}
	}
	return nil, false, nil
}

// file puts a sent message into .Sent/new under its name, whole or not at
// all, and durable before it returns. A name that is already taken is left as
// it is and its bytes are returned: two processes with the same key file one
// message.
func (m *maildir) file(name, unique string, raw []byte) ([]byte, error) {
	tmp := filepath.Join(m.dir, sentFolder, "tmp", name+"."+unique)
	if err := writeDurably(tmp, raw); err != nil {
		return nil, err
	}
	defer os.Remove(tmp)
	return m.publish(tmp, name, raw)
}

// publish makes the finished file tmp visible as name. It links rather than
// renames: a link refuses a name that exists, so the first one stands.
func (m *maildir) publish(tmp, name string, raw []byte) ([]byte, error) {
	target := filepath.Join(m.dir, sentFolder, "new", name)
	err := os.Link(tmp, target)
	switch {
	case errors.Is(err, fs.ErrExist):
		there, _, err := m.filed(name)
		return there, err
	case err != nil: // a file system without hard links: rename is still atomic
		if err := os.Rename(tmp, target); err != nil {
			return nil, err
		}
	}
	return raw, syncDir(filepath.Dir(target))
}

// handover is the file that says: these bytes are being given to the SMTP
// server and nobody knows yet what came of it.
func (m *maildir) handover(name string) string {
	return filepath.Join(m.dir, sentFolder, "tmp", name+".handover")
}

// handedOver are the mails of which nobody knows yet whether they arrived.
func (m *maildir) handedOver() ([]*Message, error) {
	names, err := filepath.Glob(m.handover("*"))
	if err != nil {
		return nil, err
	}
	var list []*Message
	for _, name := range names {
		msg, err := readMessageFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its outcome is known by now
		}
		if err != nil {
			return nil, fmt.Errorf("read the note of an attempt %s: %w", name, err)
		}
		msg.Sent = true
		list = append(list, msg)
	}
	return list, nil
}

// writeDurably writes a file that must not exist yet and syncs it.
func writeDurably(path string, raw []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(raw))
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err != nil {
		os.Remove(path)
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
