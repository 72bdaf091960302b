// Package provider speaks to models: Chat Completions as OpenAI, llama-server,
// vLLM, Ollama, OpenRouter and many others serve it, and Anthropic's Messages
// API. Each adapter is an agent.Model.
//
// It owns the wire: request bytes, the event stream, the assembly of calls out
// of fragments, retries (here and before the first token only), and the words
// for what a provider answered. It promises that a stream which ended without
// its end is an error and never half a call, that identical questions have
// identical bytes, and that no answer is larger than it is willing to hold.
//
// It must never know the loop, a tool, or what a call will do.
package provider
