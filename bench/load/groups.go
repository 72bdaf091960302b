package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// group is one run of `go test -bench`.
type group struct {
	pkg, bench  string
	time, quick string // -benchtime, and with --quick
	args        []string
	quickArgs   []string
	rows        []row
}

// row says which figure of which benchmark stands beside which floor.
type row struct {
	what, in     string // in: the benchmark
	value, floor string // units that it reports
	scale        float64
	unit         string
	floorIs      string
	invert       bool // more is better: how many a second, from a time
}

var groups = []group{
	{pkg: "./internal/e2e", bench: "^Benchmark(Size|Start)$", time: "20x", quick: "5x", rows: []row{
		{what: "binary", in: "BenchmarkSize", value: "MB-binary", floor: "MB-floor", unit: "MB", floorIs: "a Go program that only listens for HTTP"},
		{what: "start, until a message would be answered", in: "BenchmarkStart", value: "ms/start-p50", floor: "ms/floor-p50", unit: "ms", floorIs: "the same binary's `version`"},
	}},
	{pkg: "./internal/e2e", bench: "^BenchmarkIdle$", time: "1x", quick: "1x", quickArgs: []string{"-idle.time=5s"}, rows: []row{
		{what: "idle memory of `local`, resident", in: "BenchmarkIdle", value: "MB-resident", floor: "MB-floor-resident", unit: "MB", floorIs: "a Go program that only listens for HTTP"},
		{what: "… of which its own", in: "BenchmarkIdle", value: "MB-own", floor: "MB-floor-own", unit: "MB", floorIs: "the same"},
		{what: "idle processor time", in: "BenchmarkIdle", value: "cpu-ms/s", unit: "ms a second"},
	}},
	{pkg: "./internal/e2e", bench: "^BenchmarkAck$", time: "300x", quick: "50x", rows: []row{
		{what: "ack, message by message, p50", in: "BenchmarkAck", value: "ms/ack-p50", floor: "ms/floor-p50", unit: "ms", floorIs: "a bare WebSocket's echo and one durable commit of one row"},
		{what: "… p99", in: "BenchmarkAck", value: "ms/ack-p99", floor: "ms/floor-p99", unit: "ms", floorIs: "the same"},
	}},
	{pkg: "./internal/e2e", bench: "^BenchmarkFirstChunk$", time: "30x", quick: "5x", rows: []row{
		{what: "first words in Slack, after a zero-latency model's first token, p50", in: "BenchmarkFirstChunk", value: "ms/first-p50", floor: "ms/floor-p50", unit: "ms", floorIs: "an empty call of the same workspace"},
		{what: "… p99", in: "BenchmarkFirstChunk", value: "ms/first-p99", floor: "ms/floor-p99", unit: "ms", floorIs: "the same"},
	}},
	{pkg: "./internal/e2e", bench: "^BenchmarkIntake$", time: "1x", quick: "1x", quickArgs: []string{"-load.time=10s"}, rows: []row{
		{what: "envelopes a second, none lost, none late", in: "BenchmarkIntake", value: "envelopes/s", unit: "a second"},
		{what: "ack under that load, p50", in: "BenchmarkIntake", value: "ms/ack-p50", floor: "ms/floor-p50", unit: "ms", floorIs: "a bare WebSocket's echo and one commit of such a record, beside it"},
		{what: "… p99", in: "BenchmarkIntake", value: "ms/ack-p99", floor: "ms/floor-p99", unit: "ms", floorIs: "the same"},
	}},
	{pkg: "./internal/e2e", bench: "^BenchmarkThreads$", time: "1x", quick: "1x", quickArgs: []string{"-load.threads=200"}, rows: []row{
		{what: "live threads a GB, beyond the idle process", in: "BenchmarkThreads", value: "KB/thread", scale: 1 << 20, invert: true, unit: "a GB"},
		{what: "runs a second, by a model without latency", in: "BenchmarkThreads", value: "runs/s", unit: "a second"},
	}},
	{pkg: "./internal/e2e", bench: "^BenchmarkStream$", time: "1x", quick: "1x", quickArgs: []string{"-stream.tokens=2000"}, rows: []row{
		{what: "a stream of 200 tokens a second is behind its source by at most, alone", in: "BenchmarkStream/1_at_once", value: "ms/behind-most", unit: "ms"},
		{what: "… beside seven others", in: "BenchmarkStream/8_at_once", value: "ms/behind-most", unit: "ms"},
	}},
	{pkg: "./outbox", bench: "^Benchmark(Stage|Approve)$", time: "300x", quick: "100x", rows: []row{
		{what: "drafts staged a second, one after another", in: "BenchmarkStage", value: "µs-median", floor: "µs-raw", scale: 1e6, invert: true, unit: "a second", floorIs: "the raw durable commit of the same rows"},
		{what: "approvals a second, one after another", in: "BenchmarkApprove", value: "µs-median", floor: "µs-raw", scale: 1e6, invert: true, unit: "a second", floorIs: "the raw durable commit of the same rows"},
	}},
	{pkg: "./internal/record", bench: "^BenchmarkWrite(Alone|Together)$", time: "2s", quick: "300ms", rows: []row{
		{what: "commits a second, 64 writers together", in: "BenchmarkWriteTogether", value: "ns/op", scale: 1e9, invert: true, unit: "a second"},
		{what: "commits a second, one writer", in: "BenchmarkWriteAlone", value: "ns/op", scale: 1e9, invert: true, unit: "a second"},
	}},
	{pkg: "./internal/jail", bench: "^BenchmarkResolve$", time: "1s", quick: "200ms", rows: []row{
		{what: "opening a file through the jail, 4 directories down", in: "BenchmarkResolve/depth4", value: "jail-ns/op", floor: "openat-ns/op", scale: 1e-3, unit: "µs", floorIs: "a raw openat walk"},
	}},
	{pkg: "./agent", bench: "^BenchmarkCall$", time: "1s", quick: "200ms", rows: []row{
		{what: "a no-op call through the whole gate, behind 2,000 messages", in: "BenchmarkCall/history=2000", value: "cpu-ns/op", floor: "BenchmarkCall/floor:ns/op", scale: 1e-3, unit: "µs of processor time", floorIs: "a goroutine alone"},
	}},
	{pkg: "./triggers", bench: "^Benchmark(Tick|Upcoming)10000$", time: "1s", quick: "200ms", rows: []row{
		{what: "a tick over 10,000 triggers, one of them due", in: "BenchmarkTick10000/one_due", value: "ns/op", scale: 1e-6, unit: "ms"},
		{what: "next times of 10,000 triggers", in: "BenchmarkUpcoming10000/from_now", value: "ns/op", scale: 1e-6, unit: "ms"},
	}},
}

func (g group) wanted(match *regexp.Regexp) bool {
	for _, r := range g.rows {
		if match.MatchString(r.what) {
			return true
		}
	}
	return false
}

// measure runs the group and answers every metric as "benchmark:unit".
func (g group) measure(ctx context.Context, bin string, quick bool) (map[string]float64, error) {
	args, benchtime := g.args, g.time
	if quick {
		args, benchtime = g.quickArgs, g.quick
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-run", "^$", "-bench", g.bench, "-benchtime", benchtime, "-timeout", "30m", g.pkg}, args...)...)
	cmd.Env = append(os.Environ(), "MECHA_TEST_BINARY="+bin)
	out, err := cmd.CombinedOutput()
	metrics := parse(string(out))
	if err != nil {
		return metrics, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, tail(string(out)))
	}
	return metrics, nil
}

// cores is what go test appends to a benchmark's name.
var cores = regexp.MustCompile(`-\d+$`)

// parse reads the lines of `go test -bench`: a name, a count, then pairs of a
// figure and its unit.
func parse(out string) map[string]float64 {
	metrics := map[string]float64{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				metrics[cores.ReplaceAllString(f[0], "")+":"+f[i+1]] = v
			}
		}
	}
	return metrics
}

func tail(s string) string {
	if len(s) > 600 {
		s = "…" + strings.ToValidUTF8(s[len(s)-600:], "")
	}
	return s
}

// figure takes the row's figures out of a run.
func (r row) figure(metrics map[string]float64, failed error) figure {
	f := figure{What: r.what, Unit: r.unit, FloorIs: r.floorIs}
	get := func(unit string) (float64, bool) {
		if !strings.Contains(unit, ":") {
			unit = r.in + ":" + unit
		}
		v, ok := metrics[unit]
		return v, ok
	}
	v, ok := get(r.value)
	if !ok {
		f.Missing = fmt.Sprintf("%s reports no %s", r.in, r.value)
		if failed != nil {
			f.Missing = r.in + " failed"
		}
		return f
	}
	if floor, ok := get(r.floor); ok && floor > 0 {
		f.Ratio, f.Floor = v/floor, r.as(floor)
	}
	f.Value = r.as(v)
	return f
}

func (r row) as(v float64) float64 {
	scale := r.scale
	if scale == 0 {
		scale = 1
	}
	if r.invert {
		return scale / v
	}
	return v * scale
}
