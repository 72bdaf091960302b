package mcp

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/tools"
)

func TestAnnotationsBecomeCapabilities(t *testing.T) {
	t.Parallel()
	private := tools.Capabilities{PrivateData: true}
	for _, tt := range []struct {
		name         string
		hints        string
		server, tool Widening
		known        *knownTool
		policy       string
		want         label
	}{
		{name: "nothing declared", hints: `{}`, want: label{caps: private, unlabelled: true}},
		{name: "nothing declared, open", hints: `{}`, policy: UnannotatedOpen,
			want: label{caps: tools.Capabilities{PrivateData: true, UntrustedInput: true, Egress: tools.Chosen}, unlabelled: true}},
		{name: "open world", hints: `{"openWorldHint":true}`,
			want: label{caps: tools.Capabilities{PrivateData: true, UntrustedInput: true, Egress: tools.Chosen}}},
		{name: "closed world", hints: `{"openWorldHint":false}`, policy: UnannotatedOpen, want: label{caps: private}},
		{name: "destructive", hints: `{"destructiveHint":true,"openWorldHint":false}`,
			want: label{caps: tools.Capabilities{PrivateData: true, Destructive: true}}},
		{name: "read-only and destructive: the server's own contradiction", hints: `{"readOnlyHint":true,"destructiveHint":true,"openWorldHint":false}`,
			want: label{caps: tools.Capabilities{PrivateData: true, Destructive: true}, readOnly: true}},
		{name: "read-only and open: look-ups do not ask", hints: `{"readOnlyHint":true,"openWorldHint":true}`,
			want: label{caps: tools.Capabilities{PrivateData: true, UntrustedInput: true, Egress: tools.Chosen}, readOnly: true}},
		{name: "read-only, forced destructive", hints: `{"readOnlyHint":true}`, server: Widening{Destructive: true},
			want: label{caps: tools.Capabilities{PrivateData: true, Destructive: true}, unlabelled: true}},
		{name: "read-only, forced to send", hints: `{"readOnlyHint":true}`, tool: Widening{ExternalSend: true},
			want: label{caps: tools.Capabilities{PrivateData: true, Egress: tools.Chosen}, readOnly: true}},
		{name: "server and tool add up", hints: `{}`, server: Widening{UntrustedInput: true}, tool: Widening{ExternalSend: true},
			want: label{caps: tools.Capabilities{PrivateData: true, UntrustedInput: true, Egress: tools.Chosen}}},
		{name: "known sender that says closed world", hints: `{"openWorldHint":false}`, known: &knownTool{caps: sends},
			want: label{caps: tools.Capabilities{PrivateData: true, Egress: tools.Chosen}}},
		{name: "odd spellings", hints: `{"openWorldHint":"true","readOnlyHint":1,"destructiveHint":"maybe"}`,
			want: label{caps: tools.Capabilities{PrivateData: true, UntrustedInput: true, Egress: tools.Chosen}, readOnly: true}},
	} {
		var a annotations
		if err := json.Unmarshal([]byte(tt.hints), &a); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := labelOf(a, tt.known, tt.server, tt.tool, tt.policy)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(label{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Whatever is configured, a tool never does less than without it.
func TestLabelsOnlyWiden(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := func(name string) hint { return hint{rapid.Bool().Draw(t, name+" set"), rapid.Bool().Draw(t, name)} }
		w := func(name string) Widening {
			return Widening{rapid.Bool().Draw(t, name), rapid.Bool().Draw(t, name), rapid.Bool().Draw(t, name), rapid.Bool().Draw(t, name)}
		}
		a := annotations{ReadOnly: h("ro"), Destructive: h("d"), OpenWorld: h("ow")}
		if a.OpenWorld.value {
			a.OpenWorld.set = true
		}
		plain := labelOf(a, nil, Widening{}, Widening{}, UnannotatedClosed)
		var known *knownTool
		if rapid.Bool().Draw(t, "known") {
			known = &knownTool{caps: rapid.SampledFrom([]tools.Capabilities{reads, sends, fetches, exchanges, destroys, runs}).Draw(t, "caps")}
		}
		wide := labelOf(a, known, w("server"), w("tool"), rapid.SampledFrom([]string{UnannotatedClosed, UnannotatedOpen}).Draw(t, "policy"))
		if wide.caps.Union(plain.caps) != wide.caps {
			t.Fatalf("%+v became %+v", plain, wide)
		}
		if wide.readOnly && !plain.readOnly {
			t.Fatalf("a tool became read-only: %+v, %+v", plain, wide)
		}
		if wide.caps.Egress == tools.Blind {
			t.Fatal("a server's tool is a blind send")
		}
	})
}

func TestLooksLikeSending(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"send_email", `{}`, `its name says "send"`},
		{"slackPostMessage", `{}`, `its name says "post"`},
		{"create-issue", `{}`, `its name says "create"`},
		{"get_thread", `{"properties":{"thread":{}}}`, ""},
		{"sender_list", `{}`, ""},
		{"postal_code", `{}`, ""},
		{"open", `{"properties":{"url":{"type":"string"}}}`, `it takes "url"`},
		{"tell", `{"properties":{"recipient":{}}}`, `it takes "recipient"`},
		{"x", `not json`, ""},
	} {
		if got := looksLikeSending(tt.name, json.RawMessage(tt.schema)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestKnownServers(t *testing.T) {
	t.Parallel()
	for _, k := range knownServers {
		if len(k.packages) == 0 || len(k.tools) == 0 {
			t.Errorf("%+v names no package or no tool", k)
		}
		for i, l := range k.tools {
			if _, err := path.Match(l.match, "x"); err != nil || l.match != strings.ToLower(l.match) {
				t.Errorf("%s: pattern %q: %v", k.packages[0], l.match, err)
			}
			if len(l.reason) < 10 || l.caps == (tools.Capabilities{}) || l.caps.Egress == tools.Blind {
				t.Errorf("%s %q: a label needs a capability and a reason, and is never blind", k.packages[0], l.match)
			}
			if l.match == "*" && i != len(k.tools)-1 {
				t.Errorf("%s: what follows * is never reached", k.packages[0])
			}
		}
	}
	for _, tt := range []struct {
		cfg        Config
		saysItIs   string
		tool       string
		wantEgress tools.Egress
		known      bool
	}{
		{Config{Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-slack"}}, "", "slack_post_message", tools.Chosen, true},
		{Config{Command: "npx", Args: []string{"@modelcontextprotocol/server-slack@2025.4.25"}}, "", "slack_get_users", tools.None, true},
		{Config{Command: "node", Args: []string{"/opt/node_modules/@modelcontextprotocol/server-github/dist/index.js"}}, "", "create_issue", tools.Chosen, true},
		{Config{Command: "/usr/local/bin/github-mcp-server"}, "", "add_issue_comment", tools.Chosen, true},
		{Config{URL: "https://mcp.notion.com/mcp"}, "", "search", tools.Chosen, true},
		{Config{URL: "https://mcp.notion.com.evil.example/mcp"}, "", "search", tools.None, false},
		{Config{Command: "x"}, "google-calendar-mcp", "create-event", tools.Chosen, true},
		{Config{Command: "npx", Args: []string{"@modelcontextprotocol/server-slack-extra"}}, "", "post", tools.None, false},
	} {
		l := knownAs(tt.cfg, tt.saysItIs).tool(tt.tool)
		if (l != nil) != tt.known {
			t.Errorf("%+v: known %v", tt.cfg, l != nil)
		} else if l != nil && l.caps.Egress != tt.wantEgress {
			t.Errorf("%+v %s: egress %v", tt.cfg, tt.tool, l.caps.Egress)
		}
	}
}

func TestOfferedNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server, tool string
		prefixed     bool
		want         string
	}{
		{"mail", "mail_send", true, "mail__mail_send"},
		{"graph", "kg_search", false, "kg_search"},
		{"ms", "a.b/c", true, "ms__a_b_c_" + offeredName("ms", "a.b/c", true)[len("ms__a_b_c_"):]},
	} {
		if got := offeredName(tt.server, tt.tool, tt.prefixed); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.server, tt.tool, got, tt.want)
		}
	}
	if a, b := offeredName("s", "a.b", true), offeredName("s", "a/b", true); a == b {
		t.Errorf("a.b and a/b are both %s", a)
	}
}

// Two tools never share a name, and every name is one that providers take.
func TestOfferedNamesAreDistinct(t *testing.T) {
	t.Parallel()
	server := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9-]{0,31}|[a-c](_[a-c]){0,3}`)
	toolName := rapid.OneOf(rapid.StringMatching(`[a-c_]{1,5}`), rapid.StringMatching(`(abc){29,31}[./a-z]{0,3}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		s1, s2 := server.Draw(t, "server"), server.Draw(t, "other server")
		t1, t2 := toolName.Draw(t, "tool"), toolName.Draw(t, "other tool")
		if (Config{Name: s1, Command: "x"}).Validate() != nil || (Config{Name: s2, Command: "x"}).Validate() != nil || t1 == "" || t2 == "" {
			t.Skip()
		}
		a, b := offeredName(s1, t1, true), offeredName(s2, t2, true)
		if len(a) > maxName || strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Fatalf("%q is no name that providers take", a)
		}
		if (s1 != s2 || t1 != t2) && a == b {
			t.Fatalf("%s %q and %s %q are both %s", s1, t1, s2, t2, a)
		}
	})
}
