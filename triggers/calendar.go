package triggers

import (
	"math"
	"math/bits"
	"time"
)

// Calendar answers when a schedule is due in its zone. robfig/cron parses; the
// walk is ours, because robfig's loses 02:30 on the day whose clocks go forward
// and fires 01:30 twice on the day whose clocks go back.
//
// A wall time below is what a clock on the zone's wall shows, as the seconds
// that UTC would have at that reading.
//
// Fixed times (an hour and a minute are named) fire at the first instant at
// which the wall shows them or more: one that does not exist comes at the first
// instant after the gap, one that exists twice at the earlier. Patterns (a * in
// minutes or hours) follow real time: every real hour counts. That is what ISC
// cron does.
type Calendar struct {
	loc                           *time.Location
	every                         int64 // seconds, of @every; the fields are unset then
	minute, hour, dom, month, dow uint64
	domAny, dowAny                bool // written with a *: not restricted
	fixed                         bool
}

// horizon is how far a schedule is looked after: 29 February on a given weekday
// is forty years away around 2100.
const horizon = 41 * 366 * 24 * 3600

// farthest is further than any zone has ever been from UTC.
const farthest = 26 * 3600

// beyond are the years in which nobody plans; the arithmetic stays clear of
// overflow.
const (
	yearOne = -62135596800
	year9k  = 221845392000
)

// Zone is the schedule's.
func (c *Calendar) Zone() *time.Location { return c.loc }

// Next answers the first instant after t at which the schedule is due; the zero
// time where none comes within forty years.
func (c *Calendar) Next(t time.Time) time.Time {
	now := t.Unix()
	if now < yearOne || now > year9k {
		return time.Time{}
	}
	var at int64
	var ok bool
	switch {
	case c.every > 0:
		at, ok = (floorDiv(now, c.every)+1)*c.every, true
	case c.fixed:
		at, ok = c.nextFixed(now)
	default:
		at, ok = c.nextReal(now)
	}
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0).In(c.loc)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// nextFixed walks the wall. What has been shown by now is no longer to come, so
// the walk begins at what the wall shows; in a repeat it skips what the first
// pass had.
func (c *Calendar) nextFixed(now int64) (int64, bool) {
	_, off := time.Unix(now, 0).In(c.loc).Zone()
	wall, end := now+int64(off), now+horizon
	for {
		var ok bool
		if wall, ok = c.nextWall(wall+1, end); !ok {
			return 0, false
		}
		if at := c.firstShown(wall); at > now {
			return at, true
		}
	}
}

// firstShown is the first instant at which the wall shows w, or more.
func (c *Calendar) firstShown(w int64) int64 {
	from := w - farthest
	for {
		off, end := c.stretch(from)
		at := w - off
		switch {
		case at < from:
			return from // the clocks were set past it
		case at < end:
			return at
		}
		from = end
	}
}

// nextReal walks the stretches between two changes of the clocks; within one
// the wall runs evenly.
func (c *Calendar) nextReal(now int64) (int64, bool) {
	from, last := now+1, now+horizon
	for from < last {
		off, end := c.stretch(from)
		end = min(end, last)
		if w, ok := c.nextWall(from+off, end+off); ok {
			return w - off, true
		}
		from = end
	}
	return 0, false
}

// stretch is how far the wall is from UTC at an instant, and until when at
// least it stays so.
//
// Where a zone's file ends in a rule, Go 1.26 lets every year be 365 days long:
// on the last day of a leap year ZoneBounds ends before it begins. Clocks change
// at quarters of an hour; so far is certain.
func (c *Calendar) stretch(from int64) (off, end int64) {
	t := time.Unix(from, 0).In(c.loc)
	_, o := t.Zone()
	_, bound := t.ZoneBounds()
	if bound.IsZero() {
		return int64(o), math.MaxInt64
	}
	if end = bound.Unix(); end <= from {
		end = (floorDiv(from, 900) + 1) * 900
	}
	return int64(o), end
}

// nextWall answers the first matching wall time from w on, before end.
func (c *Calendar) nextWall(w, end int64) (int64, bool) {
	w = floorDiv(w+59, 60) * 60
	if w >= end {
		return 0, false
	}
	t := time.Unix(w, 0).UTC()
	year, month, d := t.Date()
	midnight := floorDiv(w, 24*3600) * 24 * 3600
	clock := int(w-midnight) / 60
	for midnight < end {
		if c.month&(1<<month) == 0 || d > daysIn(year, month) {
			if month++; month > 12 {
				year, month = year+1, 1
			}
			d, clock = 1, 0
			midnight = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix()
			continue
		}
		if c.day(d, midnight) {
			if m, ok := c.minuteOfDay(clock); ok {
				at := midnight + int64(m)*60
				return at, at < end
			}
		}
		d, clock = d+1, 0
		midnight += 24 * 3600
	}
	return 0, false
}

// minuteOfDay is the first matching minute of a day, from clock on.
func (c *Calendar) minuteOfDay(clock int) (int, bool) {
	h, m := clock/60, clock%60
	if c.hour&(1<<h) != 0 {
		if rest := c.minute >> m; rest != 0 {
			return clock + bits.TrailingZeros64(rest), true
		}
	}
	rest := c.hour >> (h + 1)
	if rest == 0 {
		return 0, false
	}
	h += 1 + bits.TrailingZeros64(rest)
	return h*60 + bits.TrailingZeros64(c.minute), true
}

// day: where both days are restricted, either will do.
func (c *Calendar) day(d int, midnight int64) bool {
	weekday := floorDiv(midnight, 24*3600)%7 + 4 // 1 January 1970 was a Thursday
	if weekday = weekday % 7; weekday < 0 {
		weekday += 7
	}
	dom, dow := c.dom&(1<<d) != 0, c.dow&(1<<weekday) != 0
	if c.domAny || c.dowAny {
		return dom && dow
	}
	return dom || dow
}

func daysIn(year int, m time.Month) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
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
	return c.upcoming(n, from), nil
}

func (c *Calendar) upcoming(n int, from time.Time) []time.Time {
	list := make([]time.Time, 0, max(0, min(n, 64)))
	for t := from; len(list) < n; {
		if t = c.Next(t); t.IsZero() {
			break
		}
		list = append(list, t)
	}
	return list
}

// misses are the slots of an outage: the newest ones one by one, all older ones
// as one stretch.
type misses struct {
	older       int // how many are in the stretch
	first, last time.Time
	newest      []time.Time
}

// missed answers the slots in (from, to], the newest keep of them one by one.
func (c *Calendar) missed(from, to time.Time, keep int) misses {
	var m misses
	if c.every > 0 { // counted, not walked
		lo, hi := floorDiv(from.Unix(), c.every)+1, floorDiv(to.Unix(), c.every)
		if n := hi - lo + 1; n > int64(keep) {
			m.older = int(n) - keep
			m.first, m.last = time.Unix(lo*c.every, 0).In(c.loc), time.Unix((hi-int64(keep))*c.every, 0).In(c.loc)
			from = m.last
		}
	}
	for t := c.Next(from); !t.IsZero() && !t.After(to); t = c.Next(t) {
		m.newest = append(m.newest, t)
		if len(m.newest) == 2*keep {
			m.fold(keep)
		}
	}
	m.fold(keep)
	return m
}

func (m *misses) fold(keep int) {
	n := len(m.newest) - keep
	if n <= 0 {
		return
	}
	if m.older == 0 {
		m.first = m.newest[0]
	}
	m.older, m.last = m.older+n, m.newest[n-1]
	m.newest = append(m.newest[:0], m.newest[n:]...)
}
