package offline

import (
	"strings"
	"testing"
)

func BenchmarkDecideShort(b *testing.B) {
	req := Request{Model: ModelName, Tools: offered(everyTool...), Messages: []Message{message("user", "read budget.md and draft a mail to dean@example.edu about it")}}
	for b.Loop() {
		Decide(req)
	}
}

func BenchmarkDecideLongPaste(b *testing.B) {
	text := strings.Repeat("The board met, and then we read notes.md, and it said: nothing. ", 300)
	req := Request{Model: ModelName, Tools: offered(everyTool...), Messages: []Message{message("user", text)}}
	for b.Loop() {
		Decide(req)
	}
}
