package triggers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"github.com/mecha-slack/mecha-slack/triggers"
)

// after answers the next n times, in the zone, with its offset.
func after(t *testing.T, schedule, zone, from string, n int) []string {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Skipf("this machine's zone database has no %s", zone)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", from, loc)
	if err != nil {
		t.Fatal(err)
	}
	list, err := triggers.NextOf(schedule, zone, n, at)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range list {
		out = append(out, x.Format("01-02 15:04 -0700"))
	}
	return out
}

func TestClocksThatChange(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, zone, from string
		want                 []string
	}{
		"a time in the gap comes right after it":         {"30 2 * * *", "Europe/Berlin", "2026-03-28 12:00", []string{"03-29 03:00 +0200", "03-30 02:30 +0200"}},
		"two times in one gap come once":                 {"10,50 2 * * *", "Europe/Berlin", "2026-03-28 12:00", []string{"03-29 03:00 +0200", "03-30 02:10 +0200"}},
		"one at the gap's end and one in it come once":   {"0 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00", []string{"03-29 03:00 +0200", "03-30 02:00 +0200"}},
		"a repeated time comes at the earlier":           {"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", []string{"10-25 02:30 +0200", "10-26 02:30 +0100"}},
		"hourly counts every real hour, spring":          {"0 * * * *", "America/New_York", "2026-03-08 00:30", []string{"03-08 01:00 -0500", "03-08 03:00 -0400", "03-08 04:00 -0400"}},
		"hourly counts every real hour, autumn":          {"@hourly", "America/New_York", "2026-11-01 00:30", []string{"11-01 01:00 -0400", "11-01 01:00 -0500", "11-01 02:00 -0500"}},
		"0-23 is hourly too":                             {"0 0-23 * * *", "America/New_York", "2026-11-01 00:30", []string{"11-01 01:00 -0400", "11-01 01:00 -0500", "11-01 02:00 -0500"}},
		"Lord Howe, half an hour forward":                {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", []string{"10-04 02:30 +1100", "10-05 02:15 +1100"}},
		"Lord Howe, half an hour back":                   {"45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00", []string{"04-05 01:45 +1100", "04-06 01:45 +1030"}},
		"Lord Howe's minutes repeat":                     {"*/15 1 * * *", "Australia/Lord_Howe", "2026-04-05 01:14", []string{"04-05 01:15 +1100", "04-05 01:30 +1100", "04-05 01:45 +1100", "04-05 01:30 +1030", "04-05 01:45 +1030", "04-06 01:00 +1030"}},
		"Kathmandu, 5:45":                                {"0 7 * * *", "Asia/Kathmandu", "2026-06-01 06:59", []string{"06-01 07:00 +0545"}},
		"Beirut's day without a midnight":                {"@daily", "Asia/Beirut", "2026-03-28 12:00", []string{"03-29 01:00 +0300", "03-30 00:00 +0300"}},
		"Havana's midnight twice":                        {"@daily", "America/Havana", "2026-10-31 12:00", []string{"11-01 00:00 -0400", "11-02 00:00 -0500"}},
		"the first of a month whose midnight is missing": {"@monthly", "America/Asuncion", "2023-09-30 12:00", []string{"10-01 01:00 -0300", "11-01 00:00 -0300"}},
		"Casablanca leaves for Ramadan":                  {"30 2 * * *", "Africa/Casablanca", "2025-02-22 12:00", []string{"02-23 02:30 +0100", "02-24 02:30 +0000"}},
		"Casablanca comes back from it":                  {"30 2 * * *", "Africa/Casablanca", "2025-04-05 12:00", []string{"04-06 03:00 +0100", "04-07 02:30 +0100"}},
		"Troll, two hours forward":                       {"30 1,2 * * *", "Antarctica/Troll", "2026-03-28 12:00", []string{"03-29 03:00 +0200", "03-30 01:30 +0200"}},
		"Troll, two hours back":                          {"30 1,2 * * *", "Antarctica/Troll", "2026-10-24 12:00", []string{"10-25 01:30 +0200", "10-25 02:30 +0200", "10-26 01:30 +0000"}},
		"Apia's missing day":                             {"0 8 * * *", "Pacific/Apia", "2011-12-29 07:00", []string{"12-29 08:00 -1000", "12-31 00:00 +1400", "12-31 08:00 +1400"}},
		"Apia's missing day is no hourly day":            {"0 */12 * * *", "Pacific/Apia", "2011-12-29 11:00", []string{"12-29 12:00 -1000", "12-31 00:00 +1400", "12-31 12:00 +1400"}},
		"Istanbul, which stayed in summer":               {"30 3 * * *", "Europe/Istanbul", "2016-10-29 12:00", []string{"10-30 03:30 +0300", "10-31 03:30 +0300"}},
		"Pyongyang, half an hour for three years":        {"45 23 4 5 *", "Asia/Pyongyang", "2018-05-01 00:00", []string{"05-05 00:00 +0900"}},
		"leap days":                       {"0 0 29 2 *", "UTC", "2096-03-01 00:00", []string{"02-29 00:00 +0000"}},
		"a leap day that is a Sunday":     {"0 0 29 2 */7", "UTC", "2072-01-01 00:00", []string{"02-29 00:00 +0000", "02-29 00:00 +0000"}},
		"the thirty-first":                {"0 0 31 * *", "UTC", "2026-01-31 00:00", []string{"03-31 00:00 +0000", "05-31 00:00 +0000"}},
		"either day":                      {"0 0 13 * 5", "UTC", "2026-02-06 00:00", []string{"02-13 00:00 +0000", "02-20 00:00 +0000"}},
		"either day, on another date":     {"0 0 10 * 5", "UTC", "2026-02-06 00:00", []string{"02-10 00:00 +0000", "02-13 00:00 +0000"}},
		"a step from * does not restrict": {"0 0 */10 * 1", "UTC", "2026-06-02 00:00", []string{"08-31 00:00 +0000", "09-21 00:00 +0000"}},
		"an unordered list is a set":      {"0 8,11,14,17,20,23,2 * * *", "UTC", "2026-02-06 20:30", []string{"02-06 23:00 +0000", "02-07 02:00 +0000"}},
		"7 is Sunday":                     {"0 9 * * 7", "UTC", "2026-02-02 00:00", []string{"02-08 09:00 +0000", "02-15 09:00 +0000"}},
		"5-7 ends on it":                  {"0 9 * * 5-7", "UTC", "2026-02-06 10:00", []string{"02-07 09:00 +0000", "02-08 09:00 +0000", "02-13 09:00 +0000"}},
		"1-7/2 reaches it":                {"0 9 * * 1-7/2", "UTC", "2026-02-06 10:00", []string{"02-08 09:00 +0000", "02-09 09:00 +0000"}},
		"3,7,1 and 0 with 7":              {"0 9 * * 3,7,1,0", "UTC", "2026-02-06 10:00", []string{"02-08 09:00 +0000", "02-09 09:00 +0000", "02-11 09:00 +0000", "02-15 09:00 +0000"}},
		"7/2 is Sunday alone":             {"0 9 * * 7/2", "UTC", "2026-02-06 10:00", []string{"02-08 09:00 +0000", "02-15 09:00 +0000"}},
		"fri-sun":                         {"0 9 * feb fri-Sun", "UTC", "2026-02-06 10:00", []string{"02-07 09:00 +0000", "02-08 09:00 +0000", "02-13 09:00 +0000"}},
		"SUN-TUE":                         {"0 9 * * SUN-TUE", "UTC", "2026-02-06 10:00", []string{"02-08 09:00 +0000", "02-09 09:00 +0000", "02-10 09:00 +0000"}},
		"the last day of a leap year, by the zone's rule": {"0 7 * * *", "Europe/Berlin", "2040-12-30 12:00", []string{"12-31 07:00 +0100", "01-01 07:00 +0100"}},
		"and for a pattern":                       {"0 */12 * * *", "America/New_York", "2048-12-31 01:00", []string{"12-31 12:00 -0500", "01-01 00:00 -0500"}},
		"every 90 minutes":                        {"@every 90m", "Europe/Berlin", "2026-03-29 00:59", []string{"03-29 01:00 +0100", "03-29 03:30 +0200"}},
		"a question mark is a star, as elsewhere": {"0 9 ? * 1", "UTC", "2026-02-06 10:00", []string{"02-09 09:00 +0000"}},
		"spaces and tabs":                         {"  0\t9  * * 1 ", "UTC", "2026-02-06 10:00", []string{"02-09 09:00 +0000"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, after(t, c.schedule, c.zone, c.from, len(c.want))); diff != "" {
				t.Errorf("%q in %s (-want +got):\n%s", c.schedule, c.zone, diff)
			}
		})
	}
}

// What robfig/cron alone does with the two fixed times that Issue 8 names,
// beside what we do.
func TestWhereRobfigAloneIsWrong(t *testing.T) {
	berlin, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip("no zone database")
	}
	for _, c := range []struct {
		what, schedule, from string
		robfig, ours         []string
	}{
		{"02:30 in a gap is lost for the day", "30 2 * * *", "2026-03-07 12:00",
			[]string{"03-09 02:30 -0400", "03-10 02:30 -0400"}, []string{"03-08 03:00 -0400", "03-09 02:30 -0400"}},
		{"01:30 in a repeat fires twice", "30 1 * * *", "2026-10-31 12:00",
			[]string{"11-01 01:30 -0400", "11-01 01:30 -0500"}, []string{"11-01 01:30 -0400", "11-02 01:30 -0500"}},
	} {
		s, err := cron.ParseStandard(c.schedule)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.ParseInLocation("2006-01-02 15:04", c.from, berlin)
		var robfig []string
		for range c.robfig {
			at = s.Next(at)
			robfig = append(robfig, at.Format("01-02 15:04 -0700"))
		}
		if diff := cmp.Diff(c.robfig, robfig); diff != "" {
			t.Errorf("%s: robfig has changed (-was +is):\n%s", c.what, diff)
		}
		if diff := cmp.Diff(c.ours, after(t, c.schedule, "America/New_York", c.from, len(c.ours))); diff != "" {
			t.Errorf("%s: ours (-want +got):\n%s", c.what, diff)
		}
	}
}

func TestRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct{ schedule, zone, says string }{
		{"", "UTC", "missing"},
		{"0 7 * *", "UTC", "4 fields"},
		{"0 0 7 * * *", "UTC", "leave out the seconds"},
		{"0 0 7 * * * 2027", "UTC", "leave out the seconds and the year"},
		{"@reboot", "UTC", "not a time"},
		{"@every -5m", "UTC", "a minute at least"},
		{"@every 30s", "UTC", "a minute at least"},
		{"@every 90.5s", "UTC", "whole seconds"},
		{"@every", "UTC", "duration"},
		{"@every soon", "UTC", "duration"},
		{"@every 999999h", "UTC", "a year at most"},
		{"@fortnightly", "UTC", "@weekly"},
		{"TZ=Europe/Paris 0 7 * * *", "UTC", "names a zone in itself"},
		{"CRON_TZ=Europe/Paris", "UTC", "names a zone in itself"},
		{"60 * * * *", "UTC", "60"},
		{"* 24 * * *", "UTC", "24"},
		{"* * 0 * *", "UTC", "0"},
		{"* * 32 * *", "UTC", "32"},
		{"* * * 13 *", "UTC", "13"},
		{"* * * * 8", "UTC", "8"},
		{"* * * * 6-8", "UTC", "8"},
		{"5-1 * * * *", "UTC", "beyond"},
		{"* 22-2 * * *", "UTC", "beyond"},
		{"*/0 * * * *", "UTC", "steps by nothing"},
		{"*/90 * * * *", "UTC", "@every 90m"},
		{"*/-5 * * * *", "UTC", "is no minute"},
		{"1,,2 * * * *", "UTC", "is no minute"},
		{", * * * *", "UTC", "is no minute"},
		{"*-5 * * * *", "UTC", "is no minute"},
		{"+5 * * * *", "UTC", "is no minute"},
		{"1-2-3 * * * *", "UTC", "is no minute"},
		{"1/2/3 * * * *", "UTC", "is no minute"},
		{"* * L * *", "UTC", "is no day of month"},
		{"* * * * 5#2", "UTC", "is no day of week"},
		{"* * * foo *", "UTC", "foo"},
		{"0 0 31 2 *", "UTC", "never comes"},
		{"0 0 30 feb *", "UTC", "never comes"},
		{"0 0 31 4,6,9,11 *", "UTC", "never comes"},
		{"0 0 31 2 */2", "UTC", "never comes"},
		{strings.Repeat("1,", 200) + "1 * * * *", "UTC", "longer than"},
		{"0 7 * * *", "", "needs a time zone"},
		{"0 7 * * *", "Local", "not Local"},
		{"0 7 * * *", "localtime", "named by its place"},
		{"0 7 * * *", "Mars/Olympus", "no time zone"},
		{"0 7 * * *", "../../etc/passwd", "no time zone"},
		{"0 7 * * *", "right/Europe/Berlin", "no time zone"},
	} {
		_, err := triggers.Parse(c.schedule, c.zone)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Parse(%q, %q) says %v; want something with %q", c.schedule, c.zone, err, c.says)
		}
	}
}

// FuzzParse: no text panics, and whatever parses has times that strictly
// increase, without duplicates, each at the start of a minute on some wall.
func FuzzParse(f *testing.F) {
	for _, s := range append([]string{"@every 90m", "@daily", "CRON_TZ=Europe/Paris", "0 0 29 2 */7", "7/2 7-7 1 * sun-sun", "*/59 ? 31 12 0-7"}, schedules...) {
		f.Add(s, "Europe/Berlin", int64(1774746000))
	}
	f.Add("0 2 1 * *", "Europe/Berlin", int64(1774745968)) // reaches a leap year's last day
	f.Add("30 2 * * *", "Pacific/Apia", int64(1325239200))
	f.Add("* * * * *", "Africa/Monrovia", int64(-90000000))
	f.Fuzz(func(t *testing.T, schedule, zone string, unix int64) {
		c, err := triggers.Parse(schedule, zone)
		if err != nil {
			return
		}
		at := time.Unix(unix, 999)
		slots, _ := c.Between(at, at.AddDate(60, 0, 0), 200)
		for _, s := range slots {
			if !s.After(at) {
				t.Fatalf("%q in %s: %s is not after %s", schedule, zone, s, at)
			}
			if s.Second() != 0 && !strings.HasPrefix(strings.TrimSpace(schedule), "@every") && s.Year() > 1975 {
				t.Fatalf("%q in %s: %s is no whole minute", schedule, zone, s)
			}
			if before := c.Next(s.Add(-time.Nanosecond)); !before.Equal(s) {
				t.Fatalf("%q in %s: a moment before %s the next is %s", schedule, zone, s, before)
			}
			at = s
		}
	})
}

func TestFarTimesDoNotBreakIt(t *testing.T) {
	for _, s := range []string{"* * * * *", "30 2 * * *", "@every 1h"} {
		c, err := triggers.Parse(s, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{{}, time.Unix(-1<<62, 0), time.Unix(1<<62, 0), time.Unix(0, 0), time.Date(1893, 4, 1, 0, 0, 0, 0, time.UTC), time.Date(8999, 12, 31, 23, 59, 0, 0, time.UTC)} {
			if n := c.Next(at); !n.IsZero() && !n.After(at) {
				t.Errorf("%q: after %s comes %s", s, at, n)
			}
		}
	}
	if list, err := triggers.NextOf("* * * * *", "UTC", -3, time.Unix(0, 0)); err != nil || len(list) != 0 {
		t.Errorf("a negative count answered %v, %v", list, err)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, s := range []string{"0 7 * * 1-5", "*/15 * * * *", "0 0 29 2 *", "@every 90m"} {
		b.Run(s, func(b *testing.B) {
			c, err := triggers.Parse(s, "Europe/Berlin")
			if err != nil {
				b.Fatal(err)
			}
			at := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
			for b.Loop() {
				c.Next(at)
			}
		})
	}
}
