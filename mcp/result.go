package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// readResult makes an answer into an output. Text is joined; what is not text is kept as a file where there is a
// workspace, and named; structured content stands in, byte for byte, where there is no text.
func readResult(raw json.RawMessage, files *keeper) (tools.Output, error) {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
		Type       string            `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return tools.Output{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if r.Type == "input_required" {
		return tools.Output{}, errors.New("it asks for more input in the middle of a call, which is not supported")
	}
	var parts []string
	text := false
	for _, c := range r.Content {
		s, isText := readContent(c, files)
		text = text || isText
		parts = append(parts, s)
	}
	if !text && len(r.Structured) > 0 && string(r.Structured) != "null" {
		parts = append([]string{string(r.Structured)}, parts...)
	}
	content := strings.Join(parts, "\n")
	if content == "" {
		content = "(the tool returned no content)"
	}
	return tools.Output{Content: content, IsError: r.IsError, External: true}, nil
}

// readContent is one part of an answer. Parts of a type that nobody knows yet are named, not refused.
func readContent(raw json.RawMessage, files *keeper) (s string, text bool) {
	var c struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MIME     string `json:"mimeType"`
		Name     string `json:"name"`
		URI      string `json:"uri"`
		Resource *struct {
			URI  string  `json:"uri"`
			MIME string  `json:"mimeType"`
			Text *string `json:"text"`
			Blob string  `json:"blob"`
		} `json:"resource"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return "[content that cannot be read]", false
	}
	switch c.Type {
	case "text":
		return c.Text, true
	case "image", "audio":
		return files.keep(c.Type, c.MIME, c.Data), false
	case "resource_link":
		return fmt.Sprintf("[resource link: %s %s]", oneLine(c.Name, 100), oneLine(c.URI, 500)), false
	case "resource":
		if c.Resource == nil {
			return "[resource without content]", false
		}
		if c.Resource.Text != nil {
			return fmt.Sprintf("[resource: %s]\n%s", oneLine(c.Resource.URI, 500), *c.Resource.Text), true
		}
		return files.keep("resource: "+oneLine(c.Resource.URI, 500), c.Resource.MIME, c.Resource.Blob), false
	}
	return fmt.Sprintf("[content of type %q]", oneLine(c.Type, 60)), false
}

// failed is our own account of a call without a trustworthy answer.
func failed(unknown bool, format string, args ...any) tools.Output {
	return tools.Output{Content: "MCP call failed: " + fmt.Sprintf(format, args...), IsError: true, Unknown: unknown}
}

// neverRan are the errors with which a server says that it did not even begin.
var neverRan = map[int64]bool{-32700: true, -32600: true, -32601: true, -32602: true}

// quoting marks an output whose text carries words of the server.
func quoting(err error, out tools.Output) tools.Output {
	out.External = out.External || quotes(err)
	return out
}

// readAnswer makes whatever came of a call into an output.
func readAnswer(server string, a answer, files *keeper) tools.Output {
	switch {
	case a.Refused != nil:
		// The server's words, so external. Most codes leave open how far it got.
		unknown := a.Handed && !neverRan[a.Refused.Code]
		out := failed(unknown, "%s (error %d)", cut(strings.ToValidUTF8(a.Refused.Message, "\uFFFD"), 8<<10), a.Refused.Code)
		out.External = true
		return out
	case a.Err != nil && a.Handed:
		return quoting(a.Err, failed(true, "%s: %v. It was handed over, so it may have happened: find out before you try again", server, a.Err))
	case a.Err != nil:
		return quoting(a.Err, failed(false, "%s: %v. It was not handed over", server, a.Err))
	}
	out, err := readResult(a.Result, files)
	if err != nil {
		return failed(true, "%s: %v. It was handed over, so it may have happened: find out before you try again", server, err)
	}
	return out
}
