package localslack

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	journalName  = "workspace.jsonl"
	compactAbove = 4 << 20 // bytes; below it a journal isn't worth rewriting
	syncEvery    = time.Second
)

// journal is the workspace's append-only file of JSON lines. A line is written
// before its change is visible or answered, so it survives kill -9; the disk is
// told to keep it within a second, so a power cut may cost that second.
type journal struct {
	dir  string
	lock *os.File

	mu    sync.Mutex
	f     *os.File
	dirty bool
	err   error // the first failed write; nothing is accepted after it
}

// record is one line: exactly one of its members is set.
type record struct {
	Seed   *seed         `json:"seed,omitempty"`
	Msg    *message      `json:"msg,omitempty"`
	Del    *messageRef   `json:"del,omitempty"`
	Append *streamAppend `json:"append,omitempty"`
	File   *file         `json:"file,omitempty"`
	Home   *view         `json:"home,omitempty"`
	Title  *threadTitle  `json:"title,omitempty"`
	Chan   *channel      `json:"chan,omitempty"`
	App    *installation `json:"app,omitempty"`
	Later  *scheduled    `json:"later,omitempty"` // with Gone set: sent or taken back
}

type messageRef struct {
	Channel string    `json:"channel"`
	TS      timestamp `json:"ts"`
}

type streamAppend struct {
	messageRef
	Chunks []chunk `json:"chunks"`
}

type threadTitle struct {
	messageRef
	Title string `json:"title"`
}

// ErrInUse is wrapped by Start's error when another process has the directory.
var ErrInUse = errors.New("another process is using it; end that one or choose another directory")

// openJournal locks dir for this process and opens the journal in it.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		return nil, fmt.Errorf("make the workspace's directory: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("lock the workspace in %s: %w", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("open the workspace's journal: %w", err)
	}
	return &journal{dir: dir, lock: lock, f: f}, nil
}

// replay calls apply for each record. A torn last line, which a killed process
// leaves, is cut off; an unreadable line before that is skipped and reported.
// It returns the size of the file and how much of it is lines.
func (j *journal) replay(log *slog.Logger, apply func(*record)) (int64, error) {
	r := bufio.NewReaderSize(j.f, 1<<20)
	var good int64
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				log.Warn("the workspace's last line was cut off by a crash; it is dropped", "bytes", len(line))
			}
			break
		}
		if err != nil {
			return 0, fmt.Errorf("read the workspace's journal %s: %w", j.f.Name(), err)
		}
		good += int64(len(line))
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			log.Warn("a line of the workspace's journal can't be read; it is skipped", "line", n, "error", err)
			continue
		}
		apply(&rec)
	}
	if err := j.f.Truncate(good); err != nil {
		return 0, fmt.Errorf("cut off the journal's torn line: %w", err)
	}
	if _, err := j.f.Seek(good, io.SeekStart); err != nil {
		return 0, fmt.Errorf("go to the end of the journal: %w", err)
	}
	return good, nil
}

// write appends one record.
func (j *journal) write(rec *record) error {
	line := append(encode(rec), '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if _, err := j.f.Write(line); err != nil {
		j.err = fmt.Errorf("write the workspace's journal %s: %w", j.f.Name(), err)
		return j.err
	}
	j.dirty = true
	return nil
}

// rewrite replaces the journal by the records that emit yields, atomically.
func (j *journal) rewrite(emit func(write func(*record))) error {
	name := filepath.Join(j.dir, journalName)
	tmp, err := os.CreateTemp(j.dir, journalName+".*")
	if err != nil {
		return fmt.Errorf("compact the workspace's journal: %w", err)
	}
	defer os.Remove(tmp.Name()) // already renamed when all went well
	w := bufio.NewWriterSize(tmp, 1<<20)
	emit(func(rec *record) {
		w.Write(encode(rec))
		w.WriteByte('\n')
	})
	if err := errors.Join(w.Flush(), tmp.Sync()); err != nil {
		tmp.Close()
		return fmt.Errorf("compact the workspace's journal: %w", err)
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		tmp.Close()
		return fmt.Errorf("compact the workspace's journal: %w", err)
	}
	j.f.Close()
	j.f = tmp
	return nil
}

// keepSynced tells the disk about new lines once in a while, until stop is closed.
func (j *journal) keepSynced(stop <-chan struct{}, log *slog.Logger) {
	t := time.NewTicker(syncEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			if err := j.sync(); err != nil {
				log.Error("the workspace's journal can't be flushed", "error", err)
			}
		}
	}
}

func (j *journal) sync() error {
	j.mu.Lock()
	dirty := j.dirty
	j.dirty = false
	f := j.f
	j.mu.Unlock()
	if !dirty {
		return nil
	}
	return f.Sync()
}

// Close flushes and unlocks.
func (j *journal) Close() error {
	err := j.sync()
	if cerr := j.f.Close(); !errors.Is(cerr, fs.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return errors.Join(err, j.lock.Close())
}

// write journals a change before it is applied. Without a journal it is free.
func (s *store) write(rec *record) error {
	if s.journal == nil {
		return nil
	}
	if err := s.journal.write(rec); err != nil {
		return fail("internal_error", err.Error())
	}
	return nil
}

// apply replays one record.
func (s *store) apply(rec *record) {
	switch {
	case rec.Msg != nil:
		m := rec.Msg
		c := s.channels[m.Channel]
		if c == nil {
			return
		}
		if m.Stream != nil {
			m.Stream.chars = textLength(m.Stream.Chunks)
		}
		if old := c.find(m.TS); old != nil {
			m.replies = old.replies
			*old = *m
			return
		}
		s.insert(m)
	case rec.Del != nil:
		if c := s.channels[rec.Del.Channel]; c != nil {
			if m := c.find(rec.Del.TS); m != nil {
				s.remove(m)
			}
		}
	case rec.Append != nil:
		if c := s.channels[rec.Append.Channel]; c != nil {
			if m := c.find(rec.Append.TS); m != nil && m.Stream != nil {
				m.Stream.add(rec.Append.Chunks)
				m.Text = m.Stream.text()
			}
		}
	case rec.File != nil:
		s.files[rec.File.ID] = rec.File
	case rec.Home != nil:
		rec.Home.values = initialValues(rec.Home.Blocks)
		s.homes[homeKey{rec.Home.User, cmp.Or(rec.Home.App, s.AppID)}] = rec.Home
	case rec.Title != nil:
		s.titles[threadKey{rec.Title.Channel, rec.Title.TS}] = rec.Title.Title
	case rec.Chan != nil:
		if old := s.channels[rec.Chan.ID]; old != nil {
			rec.Chan.all, rec.Chan.top = old.all, old.top
			*old = *rec.Chan
			return
		}
		s.addChannel(rec.Chan)
	case rec.App != nil:
		s.installed[rec.App.Name] = rec.App
		s.addUser(rec.App.Bot)
	case rec.Later != nil:
		if delete(s.later, rec.Later.ID); !rec.Later.Gone {
			s.later[rec.Later.ID] = rec.Later
		}
	}
}

// snapshot emits the whole state as records, the fewest that make it again.
func (s *store) snapshot(emit func(*record)) {
	emit(&record{Seed: &s.seed})
	for _, in := range s.installed {
		emit(&record{App: in})
	}
	for _, id := range s.order {
		emit(&record{Chan: s.channels[id]})
	}
	for _, l := range s.later {
		emit(&record{Later: l})
	}
	for _, f := range s.files {
		emit(&record{File: f})
	}
	for _, v := range s.homes {
		emit(&record{Home: v})
	}
	for k, title := range s.titles {
		emit(&record{Title: &threadTitle{messageRef(k), title}})
	}
	for _, id := range s.order {
		for _, m := range s.channels[id].all {
			emit(&record{Msg: m})
		}
	}
}

// openStore makes the state of a workspace: a fresh one, or that in dir.
func openStore(cfg Config, log *slog.Logger) (*store, error) {
	if cfg.Dir == "" {
		s := newStore(newSeed(cfg, cfg.Now()), cfg.Now)
		s.blobs = memoryBlobs{m: new(sync.Map)}
		return s, nil
	}
	j, err := openJournal(cfg.Dir)
	if err != nil {
		return nil, err
	}
	var s *store
	size, err := j.replay(log, func(rec *record) {
		if rec.Seed != nil && s == nil {
			s = newStore(*rec.Seed, cfg.Now)
		} else if s != nil {
			s.apply(rec)
		}
	})
	if err != nil {
		j.Close()
		return nil, err
	}
	if s == nil && size > 0 {
		j.Close()
		return nil, fmt.Errorf("read the workspace's journal %s: its first line can't be read, so nothing in it can; move the file away to start afresh",
			filepath.Join(cfg.Dir, journalName))
	}
	fresh := s == nil
	if fresh {
		s = newStore(newSeed(cfg, cfg.Now()), cfg.Now)
		err = j.write(&record{Seed: &s.seed})
	} else if size > compactAbove {
		err = s.compact(j, size)
	}
	if err != nil {
		j.Close()
		return nil, err
	}
	s.journal, s.blobs = j, diskBlobs{dir: filepath.Join(cfg.Dir, "files")}
	return s, nil
}

// compact rewrites the journal if at least half of it is history.
func (s *store) compact(j *journal, size int64) error {
	var live int64
	s.snapshot(func(rec *record) { live += int64(len(encode(rec))) + 1 })
	if live*2 > size {
		return nil
	}
	return j.rewrite(s.snapshot)
}
