package triggers

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Calendar answers when a schedule is due in its zone. robfig/cron parses; the
// walk is ours, because robfig's loses 02:30 on the day whose clocks go forward
// and fires 01:30 twice on the day whose clocks go back.
//
// Fixed times (an hour and a minute are named) are read off the wall: one that
// does not exist fires at the first instant after the gap, one that exists
// twice fires at the earlier. Patterns (a * in minutes or hours) follow real
// time: every real hour counts. That is what ISC cron does.
type Calendar struct {
	spec  *cron.SpecSchedule
	every time.Duration // of @every; spec is nil then
	fixed bool
	loc   *time.Location
}

// horizon is how far a schedule is looked after: 29 February is eight years
// away around 2100.
const horizonYears = 9

const starBit = 1 << 63

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads five fields, or @hourly, @daily, @weekly, @monthly, @yearly,
// @every DURATION, in a zone of the IANA database. 0 and 7 are Sunday. A
// schedule that never comes is an error.
func Parse(schedule, zone string) (*Calendar, error) {
	s := strings.TrimSpace(schedule)
	if zone == "" {
		return nil, errors.New("a schedule needs a time zone, such as Europe/Berlin")
	}
	if zone == "Local" {
		return nil, errors.New("the time zone is named by its place, such as Europe/Berlin, not Local")
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %q: name one such as Europe/Berlin or UTC", zone)
	}
	switch {
	case len(s) > 256:
		return nil, errors.New("the schedule is longer than 256 characters")
	case strings.Contains(s, "TZ="):
		return nil, fmt.Errorf("the schedule %q names a zone in itself: give it as the trigger's time zone", s)
	case strings.HasPrefix(s, "@reboot"):
		return nil, errors.New("@reboot is not a time: triggers run by the clock")
	case strings.HasPrefix(s, "@every"):
		return parseEvery(s, loc)
	case strings.HasPrefix(s, "@"):
	default:
		if n := len(strings.Fields(s)); n != 5 {
			return nil, fmt.Errorf("the schedule %q has %d fields; five are wanted: minute, hour, day of month, month, day of week", s, n)
		}
	}
	c := &Calendar{loc: loc}
	if c.spec, c.fixed, err = parseSpec(s); err != nil {
		return nil, err
	}
	if c.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("the schedule %q never comes: there is no such day", s)
	}
	return c, nil
}

func parseEvery(s string, loc *time.Location) (*Calendar, error) {
	d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(s, "@every")))
	if err != nil {
		return nil, fmt.Errorf("%q: after @every comes a duration such as 90m", s)
	}
	if d < time.Minute {
		return nil, fmt.Errorf("%q: @every wants a minute at least", s)
	}
	return &Calendar{every: d, loc: loc}, nil
}

// parseSpec hands the fields to robfig, which panics on some bad input.
func parseSpec(s string) (spec *cron.SpecSchedule, fixed bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			spec, err = nil, fmt.Errorf("the schedule %q does not parse", s)
		}
	}()
	if f := strings.Fields(s); len(f) == 5 {
		f[4] = sundays(f[4])
		s = strings.Join(f, " ")
		fixed = !strings.Contains(f[0], "*") && !strings.Contains(f[1], "*")
	} else {
		fixed = s != "@hourly"
	}
	parsed, err := parser.Parse(s)
	if err != nil {
		return nil, false, fmt.Errorf("the schedule %q does not parse: %w", s, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, false, fmt.Errorf("the schedule %q is of a kind that is not understood", s)
	}
	return spec, fixed, nil
}

// sundays writes 7, also at the end of a range, as the 0 that robfig knows.
func sundays(field string) string {
	parts := strings.Split(field, ",")
	for i, p := range parts {
		body, step, stepped := strings.Cut(p, "/")
		from, to, ranged := strings.Cut(body, "-")
		switch {
		case !ranged && body == "7":
			body = "0"
		case ranged && to == "7":
			days := []string{}
			start, err1 := strconv.Atoi(from)
			by := 1
			var err2 error
			if stepped {
				by, err2 = strconv.Atoi(step)
			}
			if err1 != nil || err2 != nil || by < 1 || start < 0 || start > 7 {
				continue
			}
			for d := start; d <= 7; d += by {
				days = append(days, strconv.Itoa(d%7))
			}
			parts[i] = strings.Join(days, ",")
			continue
		default:
			continue
		}
		if stepped {
			body += "/" + step
		}
		parts[i] = body
	}
	return strings.Join(parts, ",")
}

// Zone is the schedule's.
func (c *Calendar) Zone() *time.Location { return c.loc }

// Next answers the first instant after t at which the schedule is due; the zero
// time where none comes within nine years.
func (c *Calendar) Next(t time.Time) time.Time {
	switch {
	case c.every > 0:
		n := t.UnixNano()
		d := int64(c.every)
		k := n / d
		if n < 0 && n%d != 0 {
			k--
		}
		return time.Unix(0, (k+1)*d).In(c.loc)
	case c.fixed:
		return c.nextFixed(t)
	}
	return c.nextReal(t)
}

// nextFixed walks the wall clock, as a time in UTC that stands for it.
func (c *Calendar) nextFixed(t time.Time) time.Time {
	local := t.In(c.loc)
	// A gap can move a slot up to its own length later: begin a day before.
	wall := time.Date(local.Year(), local.Month(), local.Day()-1, 0, 0, 0, 0, time.UTC).Add(-time.Nanosecond)
	end := wall.AddDate(horizonYears, 0, 0)
	for {
		wall = c.nextWall(wall, end)
		if wall.IsZero() {
			return time.Time{}
		}
		if at := c.instant(wall); at.After(t) {
			return at
		}
	}
}

// nextWall answers the next wall time after w that matches, day by day.
func (c *Calendar) nextWall(w, end time.Time) time.Time {
	w = w.Truncate(time.Minute).Add(time.Minute)
	for w.Before(end) {
		if !c.month(w) {
			w = time.Date(w.Year(), w.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if !c.day(w) {
			w = time.Date(w.Year(), w.Month(), w.Day()+1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if c.spec.Hour&(1<<w.Hour()) == 0 {
			w = time.Date(w.Year(), w.Month(), w.Day(), w.Hour()+1, 0, 0, 0, time.UTC)
			continue
		}
		if c.spec.Minute&(1<<w.Minute()) == 0 {
			w = w.Add(time.Minute)
			continue
		}
		return w
	}
	return time.Time{}
}

// instant is when the zone's clocks show w: the earlier of two, or the first
// instant after the gap that holds it.
func (c *Calendar) instant(w time.Time) time.Time {
	at := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), 0, 0, c.loc)
	if at.Hour() == w.Hour() && at.Minute() == w.Minute() && at.Day() == w.Day() {
		// time.Date does not promise which of two it takes.
		start, _ := at.ZoneBounds()
		if start.IsZero() {
			return at
		}
		before := start.Add(-time.Nanosecond)
		_, off := at.Zone()
		_, was := before.Zone()
		if was > off {
			if earlier := at.Add(time.Duration(off-was) * time.Second); earlier.Before(start) {
				return earlier.In(c.loc)
			}
		}
		return at
	}
	// In a gap time.Date answers on one side of it or the other.
	start, end := at.ZoneBounds()
	if shown := wallOf(at); shown.After(w) {
		return start.In(c.loc) // it used the offset before: at lies after the gap
	}
	return end.In(c.loc)
}

func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// nextReal walks real minutes, skipping days and months that do not match.
func (c *Calendar) nextReal(t time.Time) time.Time {
	t = t.In(c.loc)
	at := t.Truncate(time.Minute).Add(time.Minute)
	if s := at.Second(); s != 0 { // zones of old had offsets with seconds
		at = at.Add(time.Duration(60-s) * time.Second)
	}
	end := t.AddDate(horizonYears, 0, 0)
	for at.Before(end) {
		switch {
		case !c.month(at):
			at = c.later(at, time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, c.loc))
		case !c.day(at):
			at = c.later(at, time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, c.loc))
		case c.spec.Hour&(1<<at.Hour()) == 0 || c.spec.Minute&(1<<at.Minute()) == 0:
			at = at.Add(time.Minute)
		default:
			return at
		}
	}
	return time.Time{}
}

// later jumps to a midnight that was computed on the wall. Where that midnight
// does not exist, or exists twice, it may lie a little off: never behind where
// we are, and never past the first minute of that day.
func (c *Calendar) later(at, to time.Time) time.Time {
	if first := c.instant(wallOf(to)); first.Before(to) {
		to = first
	}
	if !to.After(at) {
		return at.Add(time.Minute)
	}
	return to
}

func (c *Calendar) month(t time.Time) bool { return c.spec.Month&(1<<uint(t.Month())) != 0 }

// day: where both days are restricted, either will do.
func (c *Calendar) day(t time.Time) bool {
	dom := c.spec.Dom&(1<<uint(t.Day())) != 0
	dow := c.spec.Dow&(1<<uint(t.Weekday())) != 0
	if c.spec.Dom&starBit != 0 || c.spec.Dow&starBit != 0 {
		return dom && dow
	}
	return dom || dow
}

// Between answers the slots in (from, to], at most limit of them, oldest first;
// more tells that there are others.
func (c *Calendar) Between(from, to time.Time, limit int) (slots []time.Time, more bool) {
	for t := c.Next(from); !t.IsZero() && !t.After(to); t = c.Next(t) {
		if len(slots) == limit {
			return slots, true
		}
		slots = append(slots, t)
	}
	return slots, false
}

// NextOf answers the next n times of a schedule after from, without a trigger.
func NextOf(schedule, zone string, n int, from time.Time) ([]time.Time, error) {
	c, err := Parse(schedule, zone)
	if err != nil {
		return nil, err
	}
	list := make([]time.Time, 0, n)
	for t := from; len(list) < n; {
		if t = c.Next(t); t.IsZero() {
			break
		}
		list = append(list, t)
	}
	return list, nil
}
