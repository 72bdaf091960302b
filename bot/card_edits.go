package bot

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/mecha-slack/mecha-slack/outbox"
)

// editsOf is what people changed of a draft, argument by argument, as lines
// that went (-) and came (+). It is "" where nobody did.
func editsOf(d outbox.Draft) string {
	before, err := arguments(d.ArgsBefore)
	if err != nil {
		return ""
	}
	now, err := arguments(d.Args)
	if err != nil {
		return ""
	}
	old := map[string]string{}
	for _, a := range before {
		old[a.Key] = showArg(a).Text
	}
	var b strings.Builder
	for _, a := range now {
		was, had := old[a.Key]
		delete(old, a.Key)
		if is := showArg(a).Text; !had || was != is {
			changed(&b, a.Key, was, is)
		}
	}
	for _, a := range before {
		if was, gone := old[a.Key]; gone {
			changed(&b, a.Key, was, "")
		}
	}
	return b.String()
}

// changed writes one argument's difference, without the unified format's heads.
func changed(b *strings.Builder, key, was, is string) {
	fmt.Fprintf(b, "%s:\n", showArg(argument{Key: key}).Label)
	heads := 0
	for line := range strings.Lines(udiff.Unified("", "", ended(was), ended(is))) {
		switch {
		case heads < 2: // the two file names; a changed line may begin with -- itself
			heads++
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "\\"):
		case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "+"):
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
}

func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
