package tools

import "strings"

// describe takes a description from its .md file: what the model is told.
func describe(md string) string { return strings.TrimSpace(md) }
