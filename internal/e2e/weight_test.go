package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var idleTime = flag.Duration("idle.time", 20*time.Second, "how long BenchmarkIdle looks on while nothing happens")

// bareServer is a Go program that only listens: what a process costs before it
// is anything.
const bareServer = `package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	os.Stdout.Close()
	panic(http.Serve(l, nil))
}
`

func buildBare(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	source, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "bare")
	if err := os.WriteFile(source, []byte(bareServer), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-trimpath", "-o", bin, source).CombinedOutput(); err != nil {
		b.Fatalf("cannot build the bare server: %v\n%s", err, out)
	}
	return bin
}

// BenchmarkSize is the binary's size, beside a program that only listens.
func BenchmarkSize(b *testing.B) {
	bare := buildBare(b)
	for b.Loop() {
		ours, err := os.Stat(binary)
		if err != nil {
			b.Fatal(err)
		}
		floor, err := os.Stat(bare)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(ours.Size())/1e6, "MB-binary")
		b.ReportMetric(float64(floor.Size())/1e6, "MB-floor")
	}
}

// BenchmarkIdle is what `local` costs five seconds after its start while nothing
// happens: resident memory, the part of it that is its own, and processor time;
// beside it a program that only listens.
func BenchmarkIdle(b *testing.B) {
	bare := exec.Command(buildBare(b))
	out, err := bare.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := bare.Start(); err != nil {
		b.Fatal(err)
	}
	defer bare.Wait()
	defer bare.Process.Kill()
	if _, err := out.Read(make([]byte, 64)); err != nil { // it listens
		b.Fatal(err)
	}
	for b.Loop() {
		p := launch(b, b.TempDir())
		<-time.After(5 * time.Second) // what a start leaves behind is given back
		began := p.processor()
		<-time.After(*idleTime)
		used := p.processor() - began
		all, own := residentMB(b, p.cmd.Process.Pid)
		floorAll, floorOwn := residentMB(b, bare.Process.Pid)
		b.ReportMetric(all, "MB-resident")
		b.ReportMetric(own, "MB-own")
		b.ReportMetric(floorAll, "MB-floor-resident")
		b.ReportMetric(floorOwn, "MB-floor-own")
		b.ReportMetric(float64(used.Milliseconds())/idleTime.Seconds(), "cpu-ms/s")
		p.stop()
	}
}

// residentMB is a process's resident memory, and the part of it that no file
// backs.
func residentMB(b *testing.B, pid int) (all, own float64) {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("this system tells of no process's memory:", err)
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		kB, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "VmRSS:":
			all = kB / 1024
		case "RssAnon:":
			own = kB / 1024
		}
	}
	return all, own
}
