package sandbox

import (
	"errors"
	"net"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	p := &planted{nonce: "n", workspace: "/h/ws", files: []string{"/h/secret", "/tmp/secret"}}
	control := finding{read: p.files, tcp: true, udp: true, abstract: "open", netns: "net:[1]", wrote: true}
	good := finding{abstract: "shut", netns: "net:[2]", home: "/h/ws", pwd: "/h/ws", status: "n", wrote: true}
	with := func(change func(f *finding)) finding { f := good; change(&f); return f }
	tests := []struct {
		name       string
		f, control finding
		want       string // part of the error; empty: none
		setup      bool   // another variant may do better
	}{
		{"all shut", good, control, "", false},
		{"a planted file", with(func(f *finding) { f.read = []string{"/h/secret"} }), control, "could read /h/secret", false},
		{"TCP", with(func(f *finding) { f.tcp = true }), control, "TCP", false},
		{"UDP", with(func(f *finding) { f.udp = true }), control, "UDP", false},
		{"abstract socket", with(func(f *finding) { f.abstract = "open" }), control, "abstract", false},
		{"our namespace", with(func(f *finding) { f.netns = control.netns }), control, "namespace", false},
		{"no /proc, but perl says shut", with(func(f *finding) { f.netns = "" }), control, "", false},
		{"no /proc and no tool", with(func(f *finding) { f.netns, f.abstract = "", "untested" }), control, "nothing could show", true},
		{"no /proc and a tool that never could", with(func(f *finding) { f.netns = "" }), finding{abstract: "shut"}, "nothing could show", true},
		{"read-only workspace", with(func(f *finding) { f.wrote = false }), control, "could not write", true},
		{"another HOME", with(func(f *finding) { f.home = "/root" }), control, "HOME=/root", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := p.judge(tt.f, tt.control, true)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			var setup *setupError
			if errors.As(err, &setup) != tt.setup {
				t.Errorf("setup error: %v, want %v", !tt.setup, tt.setup)
			}
		})
	}
	if err := p.judge(with(func(f *finding) { f.tcp, f.udp = true, true }), control, false); err != nil {
		t.Errorf("with the network on, reaching it is fine: %v", err)
	}
}

// A queue is read to its end without waiting, and what came for one run is not counted for the next.
func TestTaken(t *testing.T) {
	p, err := plant(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.remove()
	for range 2 {
		for name, got := range map[string]bool{"tcp": taken(p.tcp, accept), "udp": taken(p.udp, receive), "unix": taken(p.unix, accept)} {
			if got {
				t.Errorf("%s: something is there before anything was sent", name)
			}
		}
		for _, a := range []net.Addr{p.tcp.Addr(), p.udp.LocalAddr(), p.unix.Addr()} {
			for range 2 {
				c, err := net.Dial(a.Network(), a.String())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				_ = c.Close()
			}
		}
		for name, got := range map[string]bool{"tcp": taken(p.tcp, accept), "udp": taken(p.udp, receive), "unix": taken(p.unix, accept)} {
			if !got {
				t.Errorf("%s: what was sent was not seen", name)
			}
		}
	}
	_ = p.udp.Close()
	if !taken(p.udp, receive) {
		t.Error("a socket that cannot be looked at passes for an empty one")
	}
}

func TestAProbeThatCouldNotSucceedProvesNothing(t *testing.T) {
	p := &planted{files: []string{"a"}}
	good := finding{read: []string{"a"}, wrote: true, tcp: true, udp: true}
	if err := p.judgeControl(good, true); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(f *finding){
		"cannot read":    func(f *finding) { f.read = nil },
		"cannot write":   func(f *finding) { f.wrote = false },
		"cannot connect": func(f *finding) { f.tcp = false },
		"cannot send":    func(f *finding) { f.udp = false },
	} {
		f := good
		change(&f)
		if err := p.judgeControl(f, true); err == nil || !strings.Contains(err.Error(), "proves nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
