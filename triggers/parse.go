package triggers

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// descriptors are the names that stand for five fields.
var descriptors = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// field is one of the five: its name, and the largest step that can mean
// something in it.
type field struct {
	name string
	top  int
}

var fields = [5]field{{"minute", 59}, {"hour", 23}, {"day of month", 31}, {"month", 12}, {"day of week", 7}}

// item is one part of a field's list: *, a number or name, or a range of them,
// with an optional step. robfig alone would also take "*-5", "+5" and ",,".
var item = regexp.MustCompile(`^(?:[*?]|([0-9]{1,4}|[A-Za-z]{3})(?:-([0-9]{1,4}|[A-Za-z]{3}))?)(?:/([0-9]{1,9}))?$`)

// Parse reads five fields, or @hourly, @daily, @weekly, @monthly, @yearly,
// @every DURATION, in a zone of the IANA database. 0 and 7 are Sunday. A
// schedule that never comes is an error.
func Parse(schedule, zone string) (*Calendar, error) {
	loc, err := loadZone(zone)
	if err != nil {
		return nil, err
	}
	return parse(schedule, loc)
}

// loadZone refuses what does not name a place's clock for good: Local is
// whatever the machine is set to today, and the right/ files count leap
// seconds, so that their eight o'clock is not eight o'clock.
func loadZone(zone string) (*time.Location, error) {
	switch {
	case zone == "":
		return nil, errors.New("a schedule needs a time zone, such as Europe/Berlin")
	case strings.EqualFold(zone, "local"), strings.EqualFold(zone, "localtime"):
		return nil, fmt.Errorf("the time zone is named by its place, such as Europe/Berlin, not %s", zone)
	case len(zone) > 64, strings.HasPrefix(zone, "right/"):
		return nil, unknownZone(zone)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, unknownZone(zone)
	}
	return loc, nil
}

func unknownZone(zone string) error {
	return fmt.Errorf("there is no time zone %.64q: name one such as Europe/Berlin or UTC", zone)
}

func parse(schedule string, loc *time.Location) (*Calendar, error) {
	s := strings.TrimSpace(schedule)
	switch {
	case s == "":
		return nil, errors.New("a schedule is missing: five fields such as 0 7 * * 1-5, or @daily")
	case len(s) > 256:
		return nil, errors.New("the schedule is longer than 256 characters")
	case strings.Contains(strings.ToUpper(s), "TZ="):
		return nil, fmt.Errorf("the schedule %q names a zone in itself: give it as the trigger's time zone", s)
	case strings.HasPrefix(s, "@reboot"):
		return nil, errors.New("@reboot is not a time: triggers run by the clock")
	case strings.HasPrefix(s, "@every"):
		return parseEvery(s, loc)
	case strings.HasPrefix(s, "@"):
		five, ok := descriptors[strings.ToLower(s)]
		if !ok {
			return nil, fmt.Errorf("there is no schedule %q: @hourly, @daily, @weekly, @monthly, @yearly and @every DURATION are known", s)
		}
		return parseFields(five, loc)
	}
	return parseFields(s, loc)
}

// parseEvery reads @every. Its times are the whole multiples of the duration
// since 1970 (UTC), so that they can be told without knowing when a trigger
// last ran, and the ledger names each exactly.
func parseEvery(s string, loc *time.Location) (*Calendar, error) {
	d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(s, "@every")))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: after @every comes a duration such as 90m", s)
	case d < time.Minute:
		return nil, fmt.Errorf("%q: @every wants a minute at least", s)
	case d > 366*24*time.Hour:
		return nil, fmt.Errorf("%q: @every wants a year at most", s)
	case d%time.Second != 0:
		return nil, fmt.Errorf("%q: @every wants whole seconds", s)
	}
	return &Calendar{every: int64(d / time.Second), loc: loc}, nil
}

func parseFields(s string, loc *time.Location) (*Calendar, error) {
	f := strings.Fields(s)
	switch len(f) {
	case 5:
	case 6, 7:
		return nil, fmt.Errorf("the schedule %q has %d fields; five are wanted (minute, hour, day of month, month, day of week): leave out the seconds and the year", s, len(f))
	default:
		return nil, fmt.Errorf("the schedule %q has %d fields; five are wanted: minute, hour, day of month, month, day of week", s, len(f))
	}
	for i := range f {
		if err := check(f[i], fields[i]); err != nil {
			return nil, fmt.Errorf("the schedule %q does not parse: %w", s, err)
		}
	}
	spec, err := robfig(strings.Join(append(f[:4:4], sundays(f[4])), " "))
	if err != nil {
		return nil, fmt.Errorf("the schedule %q does not parse: %w", s, err)
	}
	const all = 1<<63 - 1 // robfig keeps its own idea of a star in the top bit
	c := &Calendar{
		loc: loc, minute: spec.Minute & all, hour: spec.Hour & all, dom: spec.Dom & all, month: spec.Month & all, dow: spec.Dow & all,
		domAny: starred(f[2]), dowAny: starred(f[4]),
	}
	// 0-23 says what * says.
	pattern := starred(f[0]) || starred(f[1]) || c.minute == 1<<60-1 || c.hour == 1<<24-1
	c.fixed = !pattern
	if c.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("the schedule %q never comes: there is no such day", s)
	}
	return c, nil
}

func starred(f string) bool { return strings.ContainsAny(f, "*?") }

func check(f string, kind field) error {
	for p := range strings.SplitSeq(f, ",") {
		m := item.FindStringSubmatch(p)
		if m == nil {
			return fmt.Errorf("%q is no %s: *, numbers, names, ranges (1-5) and steps (*/5) are known, in lists with commas", p, kind.name)
		}
		if m[3] == "" {
			continue
		}
		switch step, err := strconv.Atoi(m[3]); {
		case err != nil || step == 0:
			return fmt.Errorf("%q steps by nothing", p)
		case step > kind.top:
			return fmt.Errorf("%q steps further than a %s reaches: for longer intervals there is @every, such as @every 90m", p, kind.name)
		}
	}
	return nil
}

// robfig parses fields that were checked; it has panicked on others.
func robfig(s string) (spec *cron.SpecSchedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			spec, err = nil, fmt.Errorf("its parser broke off: %v", p)
		}
	}()
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(s)
	if err != nil {
		return nil, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("it is of a kind that is not understood")
	}
	return spec, nil
}

// weekday are the names that robfig knows, of which only sun can also end a
// range.
var weekday = map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

// sundays writes a day of the week that is 7, or a range that ends on Sunday,
// in the numbers 0 to 6 that robfig knows. What it does not understand it
// leaves for robfig to refuse.
func sundays(f string) string {
	parts := strings.Split(f, ",")
	for i, p := range parts {
		m := item.FindStringSubmatch(p)
		from, to := dayNumber(m[1]), dayNumber(m[2])
		switch {
		case m[2] == "" && from == 7: // also 7/2: no day comes after it in its week
			parts[i] = "0"
		case m[2] != "" && from >= 0 && (to == 7 || to == 0 && from > 0 && strings.EqualFold(m[2], "sun")):
			step := 1
			if m[3] != "" {
				step, _ = strconv.Atoi(m[3])
			}
			days := []string{}
			for d := from; d <= 7; d += step {
				days = append(days, strconv.Itoa(d%7))
			}
			parts[i] = strings.Join(days, ",")
		}
	}
	return strings.Join(parts, ",")
}

// dayNumber is -1 for what is no day.
func dayNumber(s string) int {
	if n, ok := weekday[strings.ToLower(s)]; ok {
		return n
	}
	if n, err := strconv.Atoi(s); err == nil && n <= 7 {
		return n
	}
	return -1
}
