package demomail

import (
	"regexp"
	"strings"
)

// thread is a conversation, oldest message first.
type thread []*Message

// threadsOf groups messages by the ids they name each other with and, for
// mail programs that name none, by subject: a "Re: X" joins the newest earlier
// thread about X in which its sender already took part. A stranger's "Re: X"
// stays alone. The messages come oldest first, and so do the threads.
func threadsOf(messages []*Message) []thread {
	sets := disjoint{}
	for i, m := range messages {
		sets.add(i)
		if m.MessageID != "" {
			sets.join(i, sets.named(m.MessageID))
		}
		for _, ref := range m.References {
			sets.join(i, sets.named(ref))
		}
	}
	for i, m := range messages {
		if len(m.References) > 0 || !replyPrefix.MatchString(m.Subject) {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			earlier := messages[j]
			if sameSubject(earlier, m) && tookPart(earlier, m) {
				sets.join(i, j)
				break
			}
		}
	}
	index := map[int]int{}
	var threads []thread
	for i, m := range messages {
		root := sets.root(i)
		at, ok := index[root]
		if !ok {
			at = len(threads)
			index[root] = at
			threads = append(threads, nil)
		}
		threads[at] = append(threads[at], m)
	}
	return threads
}

// findThread returns the thread that holds the message with this id, and the
// message itself.
func findThread(messages []*Message, id string) (thread, *Message) {
	for _, t := range threadsOf(messages) {
		for _, m := range t {
			if m.ID == id {
				return t, m
			}
		}
	}
	return nil, nil
}

// replyPrefix is what mail programs put before a subject when answering or
// forwarding, in the languages that come up.
var replyPrefix = regexp.MustCompile(`(?i)^\s*(?:(?:re|aw|antw|sv|fwd?|wg|tr)(?:\[\d+\])?\s*:\s*)+`)

func bareSubject(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(replyPrefix.ReplaceAllString(s, ""))), " ")
}

func sameSubject(a, b *Message) bool {
	s := bareSubject(b.Subject)
	return s != "" && bareSubject(a.Subject) == s
}

// tookPart reports whether m's sender wrote or received the earlier message.
func tookPart(earlier, m *Message) bool {
	for _, from := range m.From {
		for _, list := range [][]string{bare(earlier.From), bare(earlier.To), bare(earlier.Cc)} {
			for _, a := range list {
				if a != "" && a == strings.ToLower(from.Address) {
					return true
				}
			}
		}
	}
	return false
}

// disjoint is a union-find over message indices and, as negative numbers, the
// message ids that were named; an id may be known only from others' headers.
type disjoint struct {
	parent map[int]int
	names  map[string]int
}

func (d *disjoint) add(i int) {
	if d.parent == nil {
		d.parent, d.names = map[int]int{}, map[string]int{}
	}
	if _, ok := d.parent[i]; !ok {
		d.parent[i] = i
	}
}

func (d *disjoint) named(id string) int {
	n, ok := d.names[id]
	if !ok {
		n = -len(d.names) - 1
		d.names[id] = n
		d.add(n)
	}
	return n
}

func (d *disjoint) root(i int) int {
	for d.parent[i] != i {
		d.parent[i] = d.parent[d.parent[i]]
		i = d.parent[i]
	}
	return i
}

func (d *disjoint) join(a, b int) { d.parent[d.root(a)] = d.root(b) }
