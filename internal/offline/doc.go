// Package offline is a model without a model: an OpenAI-compatible server on
// loopback that answers from rules, or from a script.
//
// It owns three things that are useful apart:
//
//   - The wire: GET /v1/models and POST /v1/chat/completions, streamed as real
//     servers stream (text in pieces of a few words, a call's arguments in
//     fragments, a usage chunk, [DONE]) and as strict as the strictest of them
//     (validate.go): a history that any provider would refuse is refused here.
//   - The rules: [Decide] reads a conversation and the offered tools and says
//     what the next turn is. It is a pure function: the same request gives the
//     same turn, on every machine.
//   - The script: a [Script] answers each request with the turn that a test
//     wrote down, faults included.
//
// The rules obey whatever they read, on purpose: an instruction in a mail or a
// page is carried out with the next calls. What happens then is what the rest
// of the product is for, and a newcomer should see it.
//
// It never reaches the network, never reads a file, and knows nothing of Slack,
// threads or the outbox: only messages, tools and results, as any model does.
//
// A test drives exact turns like this:
//
//	script := offline.NewScript(
//		offline.Says("On it. ", "One moment.").Calling("fs_read", `{"path":"a.md"}`),
//		offline.Fails(offline.RateLimited(time.Second)),
//		offline.Says("a.md is empty."),
//	)
//	srv, err := offline.Start(ctx, offline.Config{Script: script})
//	// … srv.URL() is the base URL; script.Requests() what was asked.
package offline
