package bot

import "github.com/mecha-slack/mecha-slack/tools"

// Tools are the tools that need Slack or a clock.
func (b *Bot) Tools() []tools.Tool {
	return []tools.Tool{proposeTool{b}, &readThread{b}}
}
