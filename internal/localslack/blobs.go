package localslack

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// blobs holds the bytes of files by their ids. A blob is written once.
type blobs interface {
	put(id string, b []byte) error
	open(id string) (io.ReadSeekCloser, error)
	remove(id string) error
}

// memoryBlobs keeps them for as long as the process lives.
type memoryBlobs struct{ m *sync.Map }

func (b memoryBlobs) put(id string, data []byte) error {
	b.m.Store(id, data)
	return nil
}

func (b memoryBlobs) open(id string) (io.ReadSeekCloser, error) {
	data, ok := b.m.Load(id)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return nopCloser{bytes.NewReader(data.([]byte))}, nil
}

func (b memoryBlobs) remove(id string) error {
	b.m.Delete(id)
	return nil
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

// diskBlobs keeps each in a file named by its id.
type diskBlobs struct{ dir string }

var fileID = regexp.MustCompile(`^F[A-Z0-9]{2,20}$`)

func (b diskBlobs) path(id string) (string, error) {
	if !fileID.MatchString(id) {
		return "", fs.ErrNotExist
	}
	return filepath.Join(b.dir, id), nil
}

func (b diskBlobs) put(id string, data []byte) error {
	name, err := b.path(id)
	if err != nil {
		return err
	}
	tmp := name + ".part"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

func (b diskBlobs) open(id string) (io.ReadSeekCloser, error) {
	name, err := b.path(id)
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

func (b diskBlobs) remove(id string) error {
	name, err := b.path(id)
	if err != nil {
		return err
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
