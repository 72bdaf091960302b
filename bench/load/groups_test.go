package main

import "testing"

// A figure is found by its benchmark and unit, beside its floor; one that was
// not reported says so instead of standing there as zero.
func TestFigures(t *testing.T) {
	metrics := parse("goos: linux\nBenchmarkAck-2   \t 300\t 23521030 ns/op\t 28.9 ms/ack-p50\t 8.5 ms/floor-p50\nBenchmarkCall/gated-16 9 100 ns/op 40 cpu-ns/op\nBenchmarkCall/goroutine-16 9 100 ns/op 4 cpu-ns/op\nPASS\n")
	for _, c := range []struct {
		row  row
		want figure
	}{
		{row{what: "ack", in: "BenchmarkAck", value: "ms/ack-p50", floor: "ms/floor-p50", unit: "ms"}, figure{What: "ack", Value: 28.9, Floor: 8.5, Ratio: 28.9 / 8.5, Unit: "ms"}},
		{row{what: "call", in: "BenchmarkCall/gated", value: "cpu-ns/op", floor: "BenchmarkCall/goroutine:cpu-ns/op", unit: "ns"}, figure{What: "call", Value: 40, Floor: 4, Ratio: 10, Unit: "ns"}},
		{row{what: "rate", in: "BenchmarkAck", value: "ns/op", scale: 1e9, invert: true, unit: "a second"}, figure{What: "rate", Value: 1e9 / 23521030.0, Unit: "a second"}},
		{row{what: "gone", in: "BenchmarkGone", value: "ns/op"}, figure{What: "gone", Missing: "BenchmarkGone reports no ns/op"}},
	} {
		if got := c.row.figure(metrics, nil); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.row.what, got, c.want)
		}
	}
}
