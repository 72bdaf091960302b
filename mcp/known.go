package mcp

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// knownServer is what is known about a server that many use and that declares nothing, or the wrong thing. Like
// configuration it only widens, so a server that takes another's name gains nothing by it.
type knownServer struct {
	packages []string // as they stand in a command line, or the name that the server gives itself
	hosts    []string // of a url
	tools    []knownTool
}

// knownTool labels the tools whose name matches. The first match counts.
type knownTool struct {
	match  string // a pattern of path.Match
	caps   tools.Capabilities
	hints  tools.Hints
	reason string
}

// The labels, by what a tool does.
var (
	reads     = tools.Capabilities{PrivateData: true, UntrustedInput: true}                                          // others write what it returns
	sends     = tools.Capabilities{PrivateData: true, Egress: tools.Chosen}                                          // the model names who gets it
	fetches   = tools.Capabilities{UntrustedInput: true, Egress: tools.Chosen}                                       // a stranger's text, from where the model says
	exchanges = tools.Capabilities{PrivateData: true, UntrustedInput: true, Egress: tools.Chosen}                    // both ways
	destroys  = tools.Capabilities{PrivateData: true, Destructive: true}                                             // may overwrite or delete
	runs      = tools.Capabilities{PrivateData: true, UntrustedInput: true, Egress: tools.Chosen, Destructive: true} // anything
)

// knownServers is data. Every line says why.
var knownServers = []knownServer{
	{packages: []string{"@modelcontextprotocol/server-slack", "slack-mcp-server", "@korotovsky/slack-mcp-server"}, hosts: []string{"mcp.slack.com"}, tools: []knownTool{
		{"*send*", exchanges, tools.Hints{Destinations: []string{"channel_id", "channel"}}, "sends to a channel or person that the model names; declares nothing"},
		{"*post*", exchanges, tools.Hints{Destinations: []string{"channel_id", "channel"}}, "posts to a channel that the model names; declares nothing"},
		{"*add*", exchanges, tools.Hints{Destinations: []string{"channel_id", "channel"}}, "messages and reactions are seen by others"},
		{"*list*", reads, tools.Hints{}, "names and topics are written by anybody in the workspace"},
		{"*get*", reads, tools.Hints{}, "anybody in the workspace, guests and apps included, writes what it returns"},
		{"*read*", reads, tools.Hints{}, "anybody in the workspace, guests and apps included, writes what it returns"},
		{"*search*", reads, tools.Hints{}, "anybody in the workspace, guests and apps included, writes what it returns"},
		{"*history", reads, tools.Hints{}, "anybody in the workspace, guests and apps included, writes what it returns"},
		{"*replies", reads, tools.Hints{}, "anybody in the workspace, guests and apps included, writes what it returns"},
		{"*", exchanges, tools.Hints{Destinations: []string{"channel_id", "channel"}}, "replies, canvases, lists, uploads, scheduled messages: seen by others"},
	}},
	{packages: []string{"@modelcontextprotocol/server-github", "github-mcp-server", "github/github-mcp-server"}, hosts: []string{"api.githubcopilot.com"}, tools: []knownTool{
		{"delete_*", runs, tools.Hints{}, "deletes in a repository that others see"},
		{"get_*", reads, tools.Hints{}, "issues, comments and files are written by strangers"},
		{"list_*", reads, tools.Hints{}, "issues, comments and files are written by strangers"},
		{"search_*", exchanges, tools.Hints{}, "searches what strangers publish; the query goes to where anybody may watch for it"},
		{"*", exchanges, tools.Hints{Destinations: []string{"owner", "repo"}}, "creates, comments, pushes and forks where the model says; declares nothing"},
	}},
	{packages: []string{"@gongrzhe/server-gmail-autoauth-mcp", "gmail-mcp", "mcp-gsuite", "workspace-mcp", "google_workspace_mcp"}, hosts: []string{"gmailmcp.googleapis.com"}, tools: []knownTool{
		{"*send*", exchanges, tools.Hints{Destinations: []string{"to", "cc", "bcc"}, Files: []string{"attachments"}}, "sends mail to whom the model names; declares nothing"},
		{"*reply*", exchanges, tools.Hints{Destinations: []string{"to", "cc", "bcc"}, Files: []string{"attachments"}}, "answers mail"},
		{"*draft*", exchanges, tools.Hints{Destinations: []string{"to", "cc", "bcc"}, Files: []string{"attachments"}}, "a draft leaves the machine, and a later call sends it"},
		{"*delete*", runs, tools.Hints{}, "deletes mail, files or events"},
		{"get*", reads, tools.Hints{}, "anybody can write mail to the owner, and share a file"},
		{"list*", reads, tools.Hints{}, "anybody can write mail to the owner, and share a file"},
		{"read*", reads, tools.Hints{}, "anybody can write mail to the owner, and share a file"},
		{"search*", reads, tools.Hints{}, "anybody can write mail to the owner, and share a file"},
		{"*", exchanges, tools.Hints{Destinations: []string{"attendees", "share_with", "email"}}, "filters that forward, events that invite, files that are shared"},
	}},
	{packages: []string{"@cocal/google-calendar-mcp", "google-calendar-mcp", "mcp-google-calendar"}, hosts: []string{"calendarmcp.googleapis.com"}, tools: []knownTool{
		{"*delete*", runs, tools.Hints{}, "cancels, and mails the attendees"},
		{"get*", reads, tools.Hints{}, "anybody can send an invitation, and its text with it"},
		{"list*", reads, tools.Hints{}, "anybody can send an invitation, and its text with it"},
		{"search*", reads, tools.Hints{}, "anybody can send an invitation, and its text with it"},
		{"*", exchanges, tools.Hints{Destinations: []string{"attendees"}}, "creating, changing and answering mails the attendees, and says closed-world"},
	}},
	{packages: []string{"mcp-server-fetch", "@modelcontextprotocol/server-fetch", "fetch-mcp", "mcp-fetch"}, tools: []knownTool{
		{"*", fetches, tools.Hints{Destinations: []string{"url"}}, "fetches the page at a URL that the model writes: the URL is the way out"},
	}},
	{packages: []string{"@playwright/mcp", "@modelcontextprotocol/server-puppeteer", "@executeautomation/playwright-mcp-server", "chrome-devtools-mcp", "@browsermcp/mcp"}, tools: []knownTool{
		{"*", exchanges, tools.Hints{Destinations: []string{"url"}}, "drives a browser, with the owner's cookies, to any page"},
	}},
	{packages: []string{"firecrawl-mcp", "tavily-mcp", "exa-mcp-server", "@mendable/firecrawl-mcp"}, hosts: []string{"mcp.tavily.com", "mcp.exa.ai", "mcp.firecrawl.dev"}, tools: []knownTool{
		{"*", fetches, tools.Hints{Destinations: []string{"url", "urls"}}, "searches and fetches the web; some take URLs, so none is blind"},
	}},
	{packages: []string{"@modelcontextprotocol/server-brave-search", "@brave/brave-search-mcp-server", "mcp-searxng", "duckduckgo-mcp-server"}, tools: []knownTool{
		{"*", fetches, tools.Hints{}, "returns what strangers publish; a server's schema is its own, so its send is never blind"},
	}},
	{packages: []string{"@modelcontextprotocol/server-gdrive", "@isaacphi/mcp-gdrive"}, tools: []knownTool{
		{"*update*", exchanges, tools.Hints{}, "a shared sheet is read by others"},
		{"*", reads, tools.Hints{}, "files that others share are written by others"},
	}},
	{packages: []string{"@notionhq/notion-mcp-server", "@suekou/mcp-notion-server"}, hosts: []string{"mcp.notion.com"}, tools: []knownTool{
		{"*delete*", runs, tools.Hints{}, "deletes pages that others read"},
		{"*", exchanges, tools.Hints{}, "pages and comments are shared with others, both ways"},
	}},
	{packages: []string{"mcp-atlassian", "@aashari/mcp-server-atlassian-jira"}, hosts: []string{"mcp.atlassian.com"}, tools: []knownTool{
		{"*delete*", runs, tools.Hints{}, "deletes issues and pages that others read"},
		{"*", exchanges, tools.Hints{}, "issues, comments and pages are read and written by others; many issue trackers take mail from anybody"},
	}},
	{packages: []string{"@tacticlaunch/mcp-linear", "linear-mcp-server"}, hosts: []string{"mcp.linear.app"}, tools: []knownTool{
		{"*delete*", runs, tools.Hints{}, "deletes issues that others read"},
		{"*", exchanges, tools.Hints{}, "issues and comments are read and written by others"},
	}},
	{packages: []string{"@sentry/mcp-server"}, hosts: []string{"mcp.sentry.dev"}, tools: []knownTool{
		{"create*", exchanges, tools.Hints{}, "projects and keys are seen by others"},
		{"update*", exchanges, tools.Hints{}, "issues are seen by others"},
		{"*", reads, tools.Hints{}, "error reports hold what strangers sent to a service"},
	}},
	{packages: []string{"@softeria/ms-365-mcp-server"}, tools: []knownTool{
		{"delete*", runs, tools.Hints{}, "deletes mail, files or events"},
		{"send*", sends, tools.Hints{Destinations: []string{"body"}}, "sends mail and chat messages"},
		{"create*", exchanges, tools.Hints{}, "drafts, events and files that others see"},
		{"*", exchanges, tools.Hints{}, "mail, chats and files of others, and ways to change them"},
	}},
	{packages: []string{"@line/line-bot-mcp-server", "mcp-telegram", "whatsapp-mcp-server", "mcp-discord"}, tools: []knownTool{
		{"*send*", sends, tools.Hints{Destinations: []string{"to", "recipient", "chat_id", "channel", "channelId"}}, "sends to whom the model names"},
		{"*push*", sends, tools.Hints{}, "pushes a message to a person"},
		{"*broadcast*", sends, tools.Hints{}, "sends to everybody"},
		{"*", exchanges, tools.Hints{}, "messages of strangers, and ways to answer them"},
	}},
	{packages: []string{"@modelcontextprotocol/server-filesystem"}, tools: []knownTool{
		{"write_file", destroys, tools.Hints{Files: []string{"path"}}, "overwrites without asking"},
		{"edit_file", destroys, tools.Hints{Files: []string{"path"}}, "changes a file in place"},
		{"move_file", destroys, tools.Hints{Files: []string{"source", "destination"}}, "a move can replace"},
	}},
	{packages: []string{"@modelcontextprotocol/server-postgres", "mcp-server-sqlite", "@benborla29/mcp-server-mysql", "mongodb-mcp-server"}, tools: []knownTool{
		{"*", destroys, tools.Hints{}, "statements can drop tables, and \"read only\" has been got around before"},
	}},
	{packages: []string{"desktop-commander", "@wonderwhy-er/desktop-commander", "mcp-server-commands", "mcp-shell", "kubernetes-mcp-server", "mcp-server-kubernetes"}, tools: []knownTool{
		{"*", runs, tools.Hints{}, "runs commands: whatever a shell can do"},
	}},
	{packages: []string{"@zapier/mcp", "@pipedream/mcp", "composio-mcp"}, hosts: []string{"mcp.zapier.com", "actions.zapier.com", "mcp.pipedream.net", "mcp.composio.dev"}, tools: []knownTool{
		{"*", runs, tools.Hints{}, "a gateway to whatever accounts are connected to it"},
	}},
}

// knownAs finds a server in the table by its command line, its url, or the name that it gives itself.
func knownAs(cfg Config, saysItIs string) *knownServer {
	for i := range knownServers {
		k := &knownServers[i]
		for _, pkg := range k.packages {
			if strings.EqualFold(saysItIs, pkg) || strings.EqualFold(filepath.Base(cfg.Command), pkg) {
				return k
			}
			for _, arg := range cfg.Args {
				if namesPackage(arg, pkg) {
					return k
				}
			}
		}
		for _, h := range k.hosts {
			if host := hostOf(cfg.URL); host == h || strings.HasSuffix(host, "."+h) {
				return k
			}
		}
	}
	return nil
}

// namesPackage reports whether an argument is a package, with or without a version, or a path into it.
func namesPackage(arg, pkg string) bool {
	if arg == pkg || strings.HasPrefix(arg, pkg+"@") {
		return true
	}
	return strings.Contains(filepath.ToSlash(arg)+"/", "/"+pkg+"/")
}

// tool finds the line about a tool.
func (k *knownServer) tool(name string) *knownTool {
	if k == nil {
		return nil
	}
	for i := range k.tools {
		if ok, _ := path.Match(k.tools[i].match, strings.ToLower(name)); ok {
			return &k.tools[i]
		}
	}
	return nil
}
