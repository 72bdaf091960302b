package bot

import "github.com/mecha-slack/mecha-slack/tools"

// Tools are the tools that need Slack. Of a Bot that was never made they can be
// listed, not called.
func (b *Bot) Tools() []tools.Tool {
	return []tools.Tool{proposeTool{b}, &readThread{b}}
}
