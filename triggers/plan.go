package triggers

import (
	"container/heap"
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// plan is what the clock needs of every trigger, kept in memory: a tick that
// has nothing to do reads no rows but those that changed. The record is the
// truth; plan follows it by the rows' change numbers, whoever wrote them.
type plan struct {
	mu      sync.Mutex
	change  int64 // the newest that was read
	entries map[string]*entry
	due     byNext
	watched map[string]map[string]*entry // message triggers by channel and name
	calendars
}

// entry is one trigger.
type entry struct {
	name, kind, schedule, zone, state, catchUp string
	onEvent, channel, rawPattern               string
	version, change                            int64
	accounted                                  time.Time
	calendar                                   *Calendar
	pattern                                    *regexp.Regexp
	broken                                     error // why it can never be due
	warned                                     bool  // that its clock is not believed; of the tick alone
	next                                       time.Time
	index                                      int // in the heap; -1: not there
}

func (p *plan) begin() {
	p.entries, p.watched = map[string]*entry{}, map[string]map[string]*entry{}
	p.list, p.zones = map[[2]string]*Calendar{}, map[string]*time.Location{}
}

// refresh reads what changed.
func (t *Triggers) refresh(ctx context.Context) error {
	p := &t.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	var changed []*entry
	err := t.db.Read(ctx, func(tx *record.Tx) (err error) {
		changed, err = record.Collect(tx, scanEntry, qTriggersChanged, p.change)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot read which triggers changed: %w", err)
	}
	for _, e := range changed {
		p.take(e)
		if e.broken != nil && (e.state == "enabled" || e.state == "disabled") {
			t.Log.Error("a trigger cannot be due any more", "trigger", e.name, "error", e.broken)
		}
	}
	return nil
}

func scanEntry(r record.Scanner) (*entry, error) {
	e := &entry{index: -1}
	var accounted int64
	err := r.Scan(&e.name, &e.kind, &e.schedule, &e.zone, &e.state, &e.catchUp, &e.onEvent, &e.channel, &e.rawPattern, &accounted, &e.version, &e.change)
	e.accounted = record.Time(accounted)
	return e, err
}

func (p *plan) take(e *entry) {
	p.change = max(p.change, e.change)
	if old := p.entries[e.name]; old != nil {
		if old.index >= 0 {
			heap.Remove(&p.due, old.index)
		}
		delete(p.watched[old.channel], e.name)
		delete(p.entries, e.name)
	}
	if e.state == "deleted" {
		return
	}
	p.entries[e.name] = e
	if e.onEvent == OnMessage {
		if e.pattern, e.broken = regexp.Compile(e.rawPattern); e.broken == nil && e.state == "enabled" {
			if p.watched[e.channel] == nil {
				p.watched[e.channel] = map[string]*entry{}
			}
			p.watched[e.channel][e.name] = e
		}
		return
	}
	if e.calendar, e.broken = p.calendars.get(e.schedule, e.zone); e.broken == nil && e.state != "proposed" {
		p.reckon(e)
	}
}

// reckon puts an entry where its next slot belongs.
func (p *plan) reckon(e *entry) {
	e.next = e.calendar.Next(e.accounted)
	switch {
	case e.next.IsZero() && e.index >= 0:
		heap.Remove(&p.due, e.index)
	case e.next.IsZero():
	case e.index >= 0:
		heap.Fix(&p.due, e.index)
	default:
		heap.Push(&p.due, e)
	}
}

// dueAt answers the entries with a slot at or before at, without taking them.
func (p *plan) dueAt(at time.Time) (list []*entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var walk func(i int)
	walk = func(i int) { // below a later one there is nothing earlier
		if i < len(p.due) && !p.due[i].next.After(at) {
			list = append(list, p.due[i])
			walk(2*i + 1)
			walk(2*i + 2)
		}
	}
	walk(0)
	return list
}

// soonest is when the next slot of any trigger is due; the zero time: never.
func (p *plan) soonest() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.due) == 0 {
		return time.Time{}
	}
	return p.due[0].next
}

// byNext is a heap of entries, the soonest first.
type byNext []*entry

func (h byNext) Len() int           { return len(h) }
func (h byNext) Less(i, j int) bool { return h[i].next.Before(h[j].next) }
func (h byNext) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *byNext) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *byNext) Pop() any {
	e := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	e.index = -1
	return e
}

// calendars keeps what was parsed: many triggers share a schedule, and reading
// a zone's file costs more than a thousand times asking it.
type calendars struct {
	lock  sync.Mutex
	list  map[[2]string]*Calendar
	zones map[string]*time.Location
}

// maxCalendars bounds them; proposals and edits bring new ones for ever.
const maxCalendars = 50_000

func (c *calendars) get(schedule, zone string) (*Calendar, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	key := [2]string{schedule, zone}
	if known := c.list[key]; known != nil {
		return known, nil
	}
	loc := c.zones[zone]
	if loc == nil {
		var err error
		if loc, err = loadZone(zone); err != nil {
			return nil, err
		}
		c.zones[zone] = loc
	}
	made, err := parse(schedule, loc)
	if err != nil {
		return nil, err
	}
	if len(c.list) >= maxCalendars {
		clear(c.list)
	}
	c.list[key] = made
	return made, nil
}
