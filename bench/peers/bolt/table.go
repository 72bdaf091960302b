package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// print lays the columns side by side.
func print(w io.Writer, columns []*result, rounds int) {
	fmt.Fprintf(w, "%s, %d rounds, %d cores\n\n|", time.Now().Format("2 January 2006"), rounds, runtime.NumCPU())
	line := func(what string, of func(*result) string) {
		fmt.Fprintf(w, " %s |", what)
		for _, c := range columns {
			fmt.Fprintf(w, " %s |", of(c))
		}
		fmt.Fprint(w, "\n|")
	}
	line("", func(r *result) string { return r.name })
	line("---", func(*result) string { return "---" })
	line("on the disk, without a runtime", func(r *result) string { return fmt.Sprintf("%.1f MB", float64(r.installed)/1e6) })
	line("from the command to an open socket", func(r *result) string { return ms(r.start) })
	line("resident, idle", func(r *result) string { return fmt.Sprintf("%.0f MB", r.idleMB) })
	line("… after the last round", func(r *result) string { return fmt.Sprintf("%.0f MB", r.usedMB) })
	line("processor time a round", func(r *result) string { return ms(r.cpu) })
	for _, row := range []struct {
		what string
		of   func(*result) []time.Duration
	}{
		{"ack of an event", func(r *result) []time.Duration { return r.acks }},
		{"ack of a press", func(r *result) []time.Duration { return r.acked }},
		{"typed, to the end of the streamed answer", func(r *result) []time.Duration { return r.answers }},
		{"typed, to the card", func(r *result) []time.Duration { return r.cards }},
		{"pressed, to the end of the answer", func(r *result) []time.Duration { return r.settled }},
	} {
		line(row.what+", p50 / p99", func(r *result) string {
			list := slices.Sorted(slices.Values(row.of(r)))
			if len(list) == 0 {
				return "not seen"
			}
			return ms(list[len(list)/2]) + " / " + ms(list[len(list)*99/100])
		})
	}
	fmt.Fprintln(w)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
