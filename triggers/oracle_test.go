package triggers_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/triggers"
)

// The oracle is a minute walk with the semantics of ISC cron, written for this
// test and sharing nothing with the calendar: it asks the zone for the wall time
// of each real minute and looks whether the fields, expanded into sets of its
// own, hold it.
type oracle struct {
	sets  [5][60]bool
	star  [5]bool
	wild  bool  // a * in minutes or hours
	shown int64 // the most that the wall has shown, in minutes
	begun bool
	fired []int64 // minutes
}

func newOracle(schedule string) *oracle {
	o := &oracle{}
	low, high := [5]int{0, 0, 1, 1, 0}, [5]int{59, 23, 31, 12, 7}
	for i, f := range strings.Fields(schedule) {
		o.star[i] = strings.Contains(f, "*")
		for _, p := range strings.Split(f, ",") {
			body, by, stepped := strings.Cut(p, "/")
			from, to := low[i], high[i]
			if body != "*" {
				a, b, ranged := strings.Cut(body, "-")
				from = atoi(a)
				switch {
				case ranged:
					to = atoi(b)
				case !stepped:
					to = from
				}
			}
			step := 1
			if stepped {
				step = atoi(by)
			}
			for n := from; n <= to; n += step {
				if i == 4 {
					o.sets[i][n%7] = true
				} else {
					o.sets[i][n] = true
				}
			}
		}
	}
	o.wild = o.star[0] || o.star[1] || schedule == "5 0-23 * * *" // which says the same
	return o
}

func atoi(s string) int {
	if n := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(s)); n >= 0 {
		return n
	}
	if n := slices.Index([]string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, strings.ToLower(s)); n > 0 {
		return n
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func (o *oracle) matches(minute int64) bool {
	if !o.sets[0][minute%60] || !o.sets[1][minute/60%24] {
		return false
	}
	w := time.Unix(minute*60, 0).UTC()
	if !o.sets[3][int(w.Month())] {
		return false
	}
	dom, dow := o.sets[2][w.Day()], o.sets[4][int(w.Weekday())]
	if o.star[2] || o.star[4] {
		return dom && dow
	}
	return dom || dow
}

// minute lets one real minute pass, at which the wall shows w (in minutes).
func (o *oracle) minute(at, w int64) {
	if !o.begun {
		o.begun, o.shown = true, w-1
	}
	due := false
	if o.wild || w == o.shown+1 {
		due = o.matches(w)
	} else {
		// Every minute that the wall has come past for the first time.
		for m := o.shown + 1; m <= w; m++ {
			due = due || o.matches(m)
		}
	}
	o.shown = max(o.shown, w)
	if due {
		o.fired = append(o.fired, at)
	}
}

var zones = []string{
	"UTC", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "Europe/Dublin", "Europe/Istanbul", "Europe/Moscow", "America/New_York",
	"America/Sao_Paulo", "America/Santiago", "America/Asuncion", "America/Havana", "America/Nuuk", "America/Scoresbysund",
	"America/Caracas", "America/St_Johns", "America/Metlakatla", "Australia/Lord_Howe", "Australia/Adelaide", "Pacific/Norfolk",
	"Pacific/Chatham", "Pacific/Apia", "Pacific/Auckland", "Pacific/Fiji", "Asia/Kathmandu", "Asia/Beirut", "Asia/Gaza", "Asia/Amman",
	"Asia/Tehran", "Asia/Pyongyang", "Asia/Kolkata", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Cairo", "Africa/Juba",
	"Antarctica/Troll", "Antarctica/Casey", "Atlantic/Azores",
}

var schedules = []string{
	"30 2 * * *", "30 1 * * *", "0 0 * * *", "15 0 * * 0", "0 7 * * 1-5", "0,20,40 0-4 * * *", "0 8,11,14,17,20,23,2 * * *",
	"0 3 1,15 * 6", "59 23 28-31 * *", "30 2 * 3,10 7", "5 0-23 * * *", "0 0 */2 * 1", "17 1 * jan-dec sun,wed",
	"0 * * * *", "*/15 * * * *", "*/20 2 * * *", "30 */2 * * *", "7-59/13 * 1 * 5", "* 1 * * *",
}

// TestAgainstAMinuteWalk compares ten years (and those of the great jumps) in
// zones with every kind of clock change: at each change of the clocks, and for
// a sample of the rest; MECHA_TEST_FULL=1 walks every minute.
func TestAgainstAMinuteWalk(t *testing.T) {
	full := os.Getenv("MECHA_TEST_FULL") != ""
	type period struct{ from, to int }
	for _, zone := range zones {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Skipf("this machine's zone database has no %s", zone)
		}
		for _, p := range []period{{2011, 2013}, {2015, 2020}, {2020, 2030}} {
			t.Run(fmt.Sprintf("%s/%d", zone, p.from), func(t *testing.T) {
				t.Parallel()
				from, to := time.Date(p.from, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(p.to, 1, 1, 0, 0, 0, 0, time.UTC)
				windows := [][2]time.Time{{from, to}}
				if !full {
					windows = [][2]time.Time{{from.AddDate(0, 1, 26), from.AddDate(0, 2, 3)}, {to.AddDate(0, 0, -3), to.AddDate(0, 0, 2)}}
					for _, at := range changes(loc, from, to) {
						windows = append(windows, [2]time.Time{at.AddDate(0, 0, -2), at.AddDate(0, 0, 3)})
					}
				}
				// Beyond its table a zone goes by a rule.
				windows = append(windows, [2]time.Time{time.Date(p.to+28, 12, 30, 0, 0, 0, 0, time.UTC), time.Date(p.to+29, 1, 2, 0, 0, 0, 0, time.UTC)})
				for _, w := range windows {
					compare(t, loc, w[0], w[1])
				}
			})
		}
	}
}

// changes finds when the clocks change, by looking every hour.
func changes(loc *time.Location, from, to time.Time) (list []time.Time) {
	_, was := from.In(loc).Zone()
	for at := from; at.Before(to); at = at.Add(time.Hour) {
		if _, off := at.In(loc).Zone(); off != was {
			list, was = append(list, at), off
		}
	}
	return list
}

func compare(t *testing.T, loc *time.Location, from, to time.Time) {
	t.Helper()
	oracles := make([]*oracle, len(schedules))
	for i, s := range schedules {
		oracles[i] = newOracle(s)
	}
	// The walk begins early, so that it knows what the wall has shown.
	for at := from.AddDate(0, 0, -2); !at.After(to); at = at.Add(time.Minute) {
		_, off := at.In(loc).Zone()
		now := at.Unix()
		for _, o := range oracles {
			o.minute(now/60, (now+int64(off))/60)
		}
	}
	for i, s := range schedules {
		c, err := triggers.Parse(s, loc.String())
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		slots, _ := c.Between(from, to, 1<<30)
		for _, slot := range slots {
			got = append(got, slot.In(loc).Format(time.RFC3339))
		}
		want := []string{}
		for _, m := range oracles[i].fired {
			if at := time.Unix(m*60, 0); at.After(from) {
				want = append(want, at.In(loc).Format(time.RFC3339))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q in %s from %s (-minute walk +ours):\n%s", s, loc, from.Format(time.DateOnly), diff)
		}
	}
}

// TestAgainstSystemd asks another implementation, where it is installed. Its
// rules for a gap and a repeat differ, so these times keep clear of them.
func TestAgainstSystemd(t *testing.T) {
	bin, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, c := range []struct{ cron, systemd, zone string }{
		{"0 7 * * 1-5", "Mon..Fri *-*-* 07:00:00", "Europe/Berlin"},
		{"30 16 1,15 * *", "*-*-1,15 16:30:00", "America/New_York"},
		{"0 12 29 2 *", "*-02-29 12:00:00", "Asia/Kathmandu"},
		{"0 12 31 * *", "*-*-31 12:00:00", "Australia/Lord_Howe"},
		{"*/20 9-17/4 * 6 7", "Sun *-06-* 9/4:0/20:00", ""},
		{"5 13 * 2-11/3 sat", "Sat *-2,5,8,11-* 13:05:00", "Pacific/Apia"},
		{"45 23 28-31 1/4 *", "*-1/4-28..31 23:45:00", "UTC"},
	} {
		zone, iterations := c.zone, 60
		if zone == "" { // a step over a range has no spelling there: stay within it
			c.systemd, zone = "Sun *-06-* 9,13,17:0/20:00", "Africa/Casablanca"
		}
		if c.cron == "0 12 29 2 *" {
			iterations = 6
		}
		cmd := exec.Command(bin, "calendar", "--iterations="+strconv.Itoa(iterations), "--base-time=2026-01-01 00:00:00", c.systemd)
		cmd.Env = []string{"TZ=" + zone, "LC_ALL=C"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.systemd, err, out)
		}
		loc, _ := time.LoadLocation(zone)
		var want []string
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSpace(line)
			_, rest, ok := strings.Cut(line, ": ")
			if !ok || !strings.HasPrefix(line, "Next elapse") && !strings.HasPrefix(line, "Iter.") && !strings.HasPrefix(line, "Iteration") {
				continue
			}
			f := strings.Fields(rest)
			want = append(want, f[0]+" "+f[1]+" "+f[2])
		}
		if len(want) != iterations {
			t.Fatalf("%s answered %d times, not %d:\n%s", c.systemd, len(want), iterations, out)
		}
		list, err := triggers.NextOf(c.cron, zone, iterations, time.Date(2026, 1, 1, 0, 0, 0, 0, loc).Add(-time.Second))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range list {
			got = append(got, at.Format("Mon 2006-01-02 15:04:05"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s in %s (-systemd +ours):\n%s", c.cron, zone, diff)
		}
	}
}
