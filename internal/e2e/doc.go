// Package e2e is the product's proof from outside: it builds the real binary,
// starts it as a process with an empty home, and does what people do, over real
// sockets, a real MCP server's process and a real SQLite file, with Slack's
// ordinary weather on: refusals, lost answers, closed streams, flapping
// sockets, kills. It holds tests only.
//
// It knows the product by CONTRACT.md: commands, files and /_local/ endpoints.
// It must never reach into a room.
package e2e
