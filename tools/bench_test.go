package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkFsReadTail reads the last lines of a long file by offset, beside its
// floor: reading the file through.
func BenchmarkFsReadTail(b *testing.B) {
	env := spillEnv(b)
	const lines = 1 << 20
	name := filepath.Join(env.Workspace.Path(), "long.log")
	if err := os.WriteFile(name, []byte(strings.Repeat("2026-11-30 a line of a log that someone kept for a year\n", lines)), 0o644); err != nil {
		b.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fs_read", func(b *testing.B) {
		b.SetBytes(fi.Size())
		b.ReportAllocs()
		in := json.RawMessage(fmt.Sprintf(`{"path":"long.log","offset":%d}`, lines-9))
		for b.Loop() {
			if out, err := (&fsRead{}).Call(b.Context(), in, env); err != nil || out.IsError || strings.Count(out.Content, "\n") != 10 {
				b.Fatal(out, err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(fi.Size())
		buf := make([]byte, 64<<10)
		for b.Loop() {
			f, err := os.Open(name)
			if err != nil {
				b.Fatal(err)
			}
			for {
				if _, err := f.Read(buf); err == io.EOF {
					break
				}
			}
			_ = f.Close()
		}
	})
}
