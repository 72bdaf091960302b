package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deep makes a file n directories down and returns the jail and the file's path.
func deep(b *testing.B, n int) (*Jail, string) {
	b.Helper()
	j, ws, _ := open(b)
	dir := strings.Repeat("dir/", n)
	must(b, os.MkdirAll(filepath.Join(ws, dir), 0o755))
	must(b, os.WriteFile(filepath.Join(ws, dir, "f"), []byte("x"), 0o644))
	return j, dir + "f"
}

// BenchmarkResolve compares a jail's Open with the floor: an openat walk of the same depth, one component at a time,
// that follows no link, and the fstat that any reader needs. The two take turns, so that a busy machine slows both;
// the ratio is that of the medians.
func BenchmarkResolve(b *testing.B) {
	for _, depth := range []int{1, 4, 8} {
		b.Run(fmt.Sprintf("depth%d", depth), func(b *testing.B) {
			j, p := deep(b, depth)
			root, err := os.Open(j.Path())
			must(b, err)
			defer root.Close()
			parts := strings.Split(p, "/")
			var jailed, floor []time.Duration
			for b.Loop() {
				start := time.Now()
				f, err := j.Open(p)
				if err != nil {
					b.Fatal(err)
				}
				_ = f.Close()
				between := time.Now()
				if f, err = openatWalk(root, parts); err != nil {
					b.Fatal(err)
				}
				if _, err := f.Stat(); err != nil {
					b.Fatal(err)
				}
				_ = f.Close()
				jailed, floor = append(jailed, between.Sub(start)), append(floor, time.Since(between))
			}
			b.ReportMetric(float64(median(jailed)), "jail-ns/op")
			b.ReportMetric(float64(median(floor)), "openat-ns/op")
			b.ReportMetric(float64(median(jailed))/float64(median(floor)), "ratio")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func openatWalk(root *os.File, parts []string) (*os.File, error) {
	dir := int(root.Fd())
	for i, p := range parts {
		flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if i < len(parts)-1 {
			flags |= unix.O_DIRECTORY
		}
		fd, err := unix.Openat(dir, p, flags, 0)
		if dir != int(root.Fd()) {
			_ = unix.Close(dir)
		}
		if err != nil {
			return nil, err
		}
		dir = fd
	}
	return os.NewFile(uintptr(dir), parts[len(parts)-1]), nil
}

func BenchmarkWriteFile(b *testing.B) {
	j, _, _ := open(b)
	data := make([]byte, 4096)
	for b.Loop() {
		if err := j.WriteFile("f", data); err != nil {
			b.Fatal(err)
		}
	}
}
