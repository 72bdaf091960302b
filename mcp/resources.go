package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mecha-slack/mecha-slack/tools"
)

// resourceTool is the one tool through which the resources of all servers are read.
const resourceTool = "mcp_read_resource"

// reader reads resources.
type reader struct {
	servers []*server
	caps    tools.Capabilities
	schema  json.RawMessage
}

// newReader is nil where no server has resources. A resource is labelled like the most dangerous tool of its servers: a
// URI may be a template, and then it is a way out like any other argument.
func newReader(servers []*server) *reader {
	r := &reader{caps: tools.Capabilities{PrivateData: true}}
	var names []string
	for _, s := range servers {
		s.mu.Lock()
		if s.state == Ready && s.abilities.resources {
			r.servers = append(r.servers, s)
			names = append(names, s.cfg.Name)
			caps := s.cfg.Capabilities.Capabilities()
			for _, t := range s.tools {
				caps = caps.Union(tools.Capabilities{UntrustedInput: t.label.caps.UntrustedInput, Egress: t.label.caps.Egress})
			}
			caps.Destructive = false // reading
			r.caps = r.caps.Union(caps)
		}
		s.mu.Unlock()
	}
	if len(names) == 0 {
		return nil
	}
	list, _ := json.Marshal(names)
	r.schema = json.RawMessage(`{"type":"object","properties":{` +
		`"server":{"type":"string","enum":` + string(list) + `,"description":"The MCP server."},` +
		`"uri":{"type":"string","description":"The resource to read. Leave it out to list what there is."}},` +
		`"required":["server"],"additionalProperties":false}`)
	return r
}

func (r *reader) Name() string { return resourceTool }

func (r *reader) Description() string {
	return "Read a resource of an MCP server by its URI, or list the server's resources when no URI is given."
}

func (r *reader) InputSchema() json.RawMessage     { return r.schema }
func (r *reader) ReadOnly() bool                   { return true }
func (r *reader) Capabilities() tools.Capabilities { return r.caps }
func (r *reader) Source() string                   { return "mcp" }

// Call reads or lists. Both only read, so nothing is unknown when they fail.
func (r *reader) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	var args struct {
		Server string `json:"server"`
		URI    string `json:"uri"`
	}
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail("the arguments cannot be read: " + err.Error()), nil
	}
	i := slices.IndexFunc(r.servers, func(s *server) bool { return s.cfg.Name == args.Server })
	if i < 0 {
		return tools.Fail(fmt.Sprintf("no MCP server named %q has resources", args.Server)), nil
	}
	s := r.servers[i]
	workspace := ""
	if !s.cfg.Shared() {
		if env.Workspace == nil {
			return failed(false, "%s runs in the workspace of a thread, and there is none", s.cfg.Name), nil
		}
		workspace = env.Workspace.Path()
	}
	p, err := s.acquire(ctx, env.Thread, workspace)
	if err != nil {
		return quoting(err, failed(false, "%s is not running: %v", s.cfg.Name, err)), nil
	}
	defer s.release(p)
	var text string
	if args.URI == "" {
		text, err = p.sess.resources(ctx)
	} else {
		text, err = p.sess.resource(ctx, args.URI)
	}
	if err != nil {
		out := failed(false, "%s: %v", s.cfg.Name, err)
		out.External = !connectionError(err) || quotes(err)
		return out, nil
	}
	return tools.Output{Content: text, External: true, What: args.URI}, nil
}

// resource reads one resource.
func (s *session) resource(ctx context.Context, uri string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("%w within %s", errNoAnswer, s.timeout))
	defer cancel()
	res, err := s.cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", err
	}
	var parts []string
	for _, c := range res.Contents {
		if c == nil {
			continue
		}
		if len(c.Blob) > 0 {
			parts = append(parts, fmt.Sprintf("[resource: %s, %s, %d bytes]", oneLine(c.URI, 500), oneLine(c.MIMEType, 60), len(c.Blob)))
			continue
		}
		parts = append(parts, c.Text)
	}
	if len(parts) == 0 {
		return "(the resource is empty)", nil
	}
	return strings.Join(parts, "\n"), nil
}

// resources lists resources and templates, one a line.
func (s *session) resources(ctx context.Context) (string, error) {
	var lines []string
	err := s.pages(ctx, "resources", func(ctx context.Context, cursor string) (string, int, error) {
		res, err := s.cs.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return "", 0, err
		}
		for _, r := range res.Resources {
			if r != nil {
				lines = append(lines, resourceLine(r.URI, r.Name, r.MIMEType, r.Description))
			}
		}
		return res.NextCursor, len(lines), nil
	})
	if err != nil {
		return "", err
	}
	templates, err := s.cs.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{})
	if err == nil { // many servers have none and say so with an error
		for _, t := range templates.ResourceTemplates {
			if t != nil {
				lines = append(lines, resourceLine(t.URITemplate, t.Name, t.MIMEType, t.Description))
			}
		}
	}
	if len(lines) == 0 {
		return "(no resources)", nil
	}
	return strings.Join(lines[:min(len(lines), maxListed)], "\n"), nil
}

func resourceLine(uri, name, mime, description string) string {
	line := oneLine(uri, 500)
	for _, s := range []string{name, mime, description} {
		if s = oneLine(s, 200); s != "" {
			line += " · " + s
		}
	}
	return line
}

// prompts lists the names of prompts, for people: none is ever put before the model.
func (s *session) prompts(ctx context.Context) []string {
	var names []string
	err := s.pages(ctx, "prompts", func(ctx context.Context, cursor string) (string, int, error) {
		res, err := s.cs.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return "", 0, err
		}
		for _, p := range res.Prompts {
			if p != nil {
				names = append(names, oneLine(p.Name, 100))
			}
		}
		return res.NextCursor, len(names), nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Debug("MCP server's prompts cannot be listed", "error", err)
	}
	return names
}
