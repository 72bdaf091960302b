package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// propose sets up a trigger: a prompt that is due by the calendar.
type propose struct{ name, cron, prompt, zone, words string }

var (
	weekdays   = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	wochtage   = []string{"sonntag", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag"}
	dayName    = `(?:sun|mon|tues|wednes|thurs|fri|satur)days?|sonntags?|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?`
	when       = rx(`(?i)\b(?:(?:every|each|jeden|jede|jedes|alle)\s+(?P<unit>weekday|working day|workday|werktag|day|tag|night|morning|morgen|evening|abend|afternoon|nachmittag|hour|stunde|minute|week|woche|month|monat|weekend|wochenende|(?:` + dayName + `)(?:(?:\s*,\s*|\s+and\s+|\s+und\s+)(?:` + dayName + `))*|(?P<n>\d+)\s+(?P<what>minutes?|hours?|minuten|stunden))|(?P<word>daily|hourly|weekly|monthly|täglich|wöchentlich|werktags|on weekdays|on (?:(?:sun|mon|tues|wednes|thurs|fri|satur)days)(?:(?:\s*,\s*|\s+and\s+)(?:sun|mon|tues|wednes|thurs|fri|satur)days)*))`)
	at         = rx(`(?i)^\s*,?\s*(?:at|um|@|by|gegen)?\s*(?:(?P<h>\d{1,2})(?:[:.](?P<m>\d{2}))?\s*(?P<ap>am|pm|a\.m\.|p\.m\.)?\s*(?:o'clock|uhr)?|(?P<w>noon|midnight|mittags?|mitternacht))\b`)
	remindLead = rx(`(?i)^\s*(?:remind me|erinnere mich)\s+(?:to|an|daran)?\s*`)
	setUpLead  = rx(`(?i)^[\s,:;]*(?:please|bitte|schedule|set up|create|make|add|plan)?\s*(?:a|an|the)?\s*(?:trigger|reminder|job|schedule|task)?\s*(?:that|which|to|for|:)?\s+`)
	timeAfter  = rx(`(?i)\s+(?:at|um)\s+(\d{1,2}(?:[:.]\d{2})?\s*(?:am|pm|uhr)?|noon|midnight)\s*[.!?]?$`)
	zone       = rx(`\b(?:in|\()?\s*((?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Za-z_]+(?:/[A-Za-z_]+)?|UTC)\b(?:\s+time)?\)?`)
)

var timeBefore = rx(`(?i)\b(?:at|um)\s+(\d{1,2}(?:[:.]\d{2})?\s*(?:am|pm)?)\s*(?:uhr)?\s*,?\s*$`)

func parseSchedule(s string, q *quoted, _ *conversation) goal {
	s = q.text(s)
	loc := when.FindStringSubmatchIndex(s)
	if loc == nil {
		return nil
	}
	g := propose{}
	if m := zone.FindStringSubmatch(s); m != nil {
		g.zone = m[1]
	}
	before, after := s[:loc[0]], s[loc[1]:]
	hour, minute, timed := 8, 0, false
	if m := at.FindStringSubmatchIndex(after); m != nil {
		hour, minute, timed = clock(after, m)
		after = after[m[1]:]
	} else if m := timeBefore.FindStringSubmatchIndex(before); m != nil {
		if t := at.FindStringSubmatchIndex(before[m[2]:]); t != nil {
			hour, minute, timed = clock(before[m[2]:], t)
			before = before[:m[0]]
		}
	}
	if m := timeAfter.FindStringSubmatchIndex(after); m != nil && !timed {
		if t := at.FindStringSubmatchIndex(after[m[2]:]); t != nil {
			hour, minute, timed = clock(after[m[2]:], t)
			after = after[:m[0]]
		}
	}
	if hour > 23 || minute > 59 {
		return nil
	}
	group := func(name string) string {
		i := when.SubexpIndex(name) * 2
		if loc[i] < 0 {
			return ""
		}
		return strings.ToLower(s[loc[i]:loc[i+1]])
	}
	g.cron = cronOf(group("unit"), group("word"), group("n"), group("what"), hour, minute, timed)
	if g.cron == "" {
		return nil
	}
	rest := zone.ReplaceAllString(before+" "+after, " ")
	rest = remindLead.ReplaceAllString(rest, "remind me to ")
	rest = setUpLead.ReplaceAllString(" "+rest, "")
	g.prompt = trimEnd(strings.Trim(strings.Join(strings.Fields(rest), " "), " ,:;-"))
	if len(strings.Fields(g.prompt)) == 0 {
		return nil
	}
	g.name = slug(g.prompt)
	g.words = strings.ToLower(strings.TrimSpace(s[loc[0]:loc[1]]))
	return g
}

func clock(s string, m []int) (hour, minute int, ok bool) {
	get := func(name string) string {
		i := at.SubexpIndex(name) * 2
		if m[i] < 0 {
			return ""
		}
		return strings.ToLower(s[m[i]:m[i+1]])
	}
	switch w := get("w"); {
	case w == "noon" || strings.HasPrefix(w, "mittag"):
		return 12, 0, true
	case w != "":
		return 0, 0, true
	}
	hour, _ = strconv.Atoi(get("h"))
	minute, _ = strconv.Atoi(get("m"))
	switch ap := strings.ReplaceAll(get("ap"), ".", ""); {
	case ap == "pm" && hour < 12:
		hour += 12
	case ap == "am" && hour == 12:
		hour = 0
	}
	return hour, minute, true
}

func cronOf(unit, word, n, what string, hour, minute int, timed bool) string {
	daily := func(days string) string { return fmt.Sprintf("%d %d * * %s", minute, hour, days) }
	if n != "" {
		if strings.HasPrefix(what, "min") {
			return "*/" + n + " * * * *"
		}
		return "0 */" + n + " * * *"
	}
	if days := daysOf(unit + " " + word); days != "" {
		return daily(days)
	}
	defaultTo := func(h int) {
		if !timed {
			hour = h
		}
	}
	switch unit {
	case "weekday", "working day", "workday", "werktag":
		return daily("1-5")
	case "weekend", "wochenende":
		return daily("0,6")
	case "day", "tag", "morning", "morgen":
		return daily("*")
	case "afternoon", "nachmittag":
		defaultTo(15)
		return daily("*")
	case "evening", "abend":
		defaultTo(18)
		return daily("*")
	case "night":
		defaultTo(23)
		return daily("*")
	case "hour", "stunde":
		return "0 * * * *"
	case "minute":
		return "* * * * *"
	case "week", "woche":
		return daily("1")
	case "month", "monat":
		return fmt.Sprintf("%d %d 1 * *", minute, hour)
	}
	switch word {
	case "daily", "täglich":
		return daily("*")
	case "werktags", "on weekdays":
		return daily("1-5")
	case "weekly", "wöchentlich":
		return daily("1")
	case "monthly":
		return fmt.Sprintf("%d %d 1 * *", minute, hour)
	case "hourly":
		return "0 * * * *"
	}
	return ""
}

// daysOf lists the named days as cron does: 1,4.
func daysOf(s string) string {
	var days []string
	for i := range weekdays {
		if strings.Contains(s, weekdays[i]) || strings.Contains(s, wochtage[i]) {
			days = append(days, strconv.Itoa(i))
		}
	}
	return strings.Join(days, ",")
}

var slugWord = rx(`[a-z0-9]+`)

func slug(s string) string {
	words := slugWord.FindAllString(strings.ToLower(s), -1)
	words = slices.DeleteFunc(words, func(w string) bool {
		return slices.Contains([]string{"the", "a", "an", "me", "to", "of", "my", "and", "for", "please", "in", "on", "what", "s", "is", "are"}, w)
	})
	name := strings.Join(words[:min(len(words), 3)], "-")
	if name == "" {
		return "trigger"
	}
	return short(name, 40)
}

func (g propose) play(p *play) (string, bool) {
	args := map[string]any{"name": g.name, "schedule": g.cron, "prompt": g.prompt}
	if g.zone != "" {
		args["timezone"] = g.zone
	}
	s, ok := p.call("trigger_propose", args)
	if !ok {
		return "", false
	}
	if s.outcome == staged || s.ok() {
		return fmt.Sprintf("I proposed the trigger `%s`: %s (`%s`), to do: %s\n%s", g.name, g.words, g.cron, g.prompt, short(strings.TrimSpace(s.result), 300)), true
	}
	return trouble(s, "set up the trigger `"+g.name+"`"), true
}
