package agent

// meter forecasts how many tokens the next request has: what the provider
// counted last, and what was added since at the rate that it showed. A forecast
// comes before the window is hit; a report only after.
type meter struct {
	tokens int     // of the last request and its answer, as reported
	bytes  int     // of the conversation then
	rate   float64 // tokens a byte; 0: not known
}

// assumedRate is tokens a byte where no provider has said: four bytes a token.
const assumedRate = 0.25

func (m *meter) report(u Usage, req Request) {
	if u.In <= 0 {
		return
	}
	b := sizeOf(req.Messages)
	fixed := len(req.System)
	for _, t := range req.Tools {
		fixed += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	m.tokens, m.bytes = u.In, b
	m.rate = min(max(float64(u.In)/float64(max(b+fixed, 1)), 0.1), 1)
}

// forecast is for the conversation as it stands now. known: a provider's count
// is behind it.
func (m *meter) forecast(now, fixed int) (tokens int, known bool) {
	if m.rate == 0 {
		return int(float64(now+fixed) * assumedRate), false
	}
	return m.tokens + int(float64(now-m.bytes)*m.rate), true
}

// sizeOf is a conversation's bytes, near enough.
func sizeOf(ms []Message) int {
	n := 0
	for i := range ms {
		m := &ms[i]
		n += len(m.Text) + len(m.Reasoning) + 16
		for _, c := range m.Calls {
			n += len(c.Args) + len(c.Tool) + 32
		}
		n += 4000 * len(m.Images)
	}
	return n
}
