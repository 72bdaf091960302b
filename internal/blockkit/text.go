package blockkit

import "strings"

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape makes text inert in mrkdwn: & < > become entities, and nothing else
// does (Slack decodes no other entity, and measured, re-parses none of these).
// With it <!channel>, <@U1> and <http://…|label> are letters. Formatting marks
// (*, _, `) stay live; text that must show exactly as it is belongs into rich
// text.
func Escape(s string) string { return escaper.Replace(s) }
