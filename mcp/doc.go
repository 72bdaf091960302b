// Package mcp makes the tools of other people's MCP servers into tools of ours.
//
// It owns the servers of the configuration: their processes (a server runs once for each thread that uses it, or once
// for all), the connection to each over a transport of our own, what they list, and the labels (capabilities) and pins
// under which that is offered. It promises that no server's failure is ours: a server that prints banners, hangs, dies,
// floods or lies costs its own calls and nobody else's; that a call is handed over at most once, and a lost answer is
// reported as unknown; that configuration and the table of known servers only ever widen what a tool may do; that a
// server sees an environment made from nothing; and that no process outlives Close.
//
// It must never know what a conversation is, who approves a call, or where pins and process groups are recorded: those
// come in as Deps. A server's words (names, errors, progress, results) are handed on as a stranger's, and its
// instructions and prompts are not handed on at all.
//
//	servers, err := mcp.Start(ctx, cfg.MCP, mcp.Deps{Pins: pins, Log: log})
//	defer servers.Close()
//	surface := servers.Tools(ctx) // anew for every run
package mcp
