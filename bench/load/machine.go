package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// host is the machine that the figures hold for.
type host struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
	Disk   string `json:"disk"` // the file system under the record
	Go     string `json:"go"`
	Load   string `json:"load"`
}

func machine() host {
	h := host{Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: field("/proc/cpuinfo", "model name"), Memory: field("/proc/meminfo", "MemTotal")}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		h.Load, _, _ = strings.Cut(string(b), " ")
	}
	if out, err := exec.Command("stat", "-f", "-c", "%T", os.TempDir()).Output(); err == nil {
		h.Disk = strings.TrimSpace(string(out))
	}
	return h
}

// field is the value of the first "name : value" of a file.
func field(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func (h host) String() string {
	return fmt.Sprintf("%s, %d cores, %s memory, Linux %s, %s, %s", h.CPU, h.Cores, h.Memory, h.Kernel, h.Disk, h.Go)
}
