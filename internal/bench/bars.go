package main

import (
	"fmt"
	"io"
	"math"
)

// bar is a figure that the gateway is held to.
type bar struct {
	figure    string
	must, aim float64
	more      bool // the figure must be at least that, not at most
	tables    []string
	value     func(*figures) (value float64, parts string)
}

// quotient is a value that is the quotient of two figures.
func quotient(above, below at) func(*figures) (float64, string) {
	return func(f *figures) (float64, string) {
		a, b := f.median(above.table, above.row, above.column), f.median(below.table, below.row, below.column)
		return a / b, text(a) + " / " + text(b)
	}
}

// single is a value that is a figure.
func single(table, row, column string) func(*figures) (float64, string) {
	return func(f *figures) (float64, string) { return f.median(table, row, column), "" }
}

// bars are those that the gateway was built to. What a ratio is taken of is measured in the same run.
func bars() []bar {
	return []bar{
		{figure: "CPU per request, 2 KB body, against nginx", must: 1.6, aim: 1.15, tables: []string{tableCPU},
			value: quotient(at{tableCPU, row2K, gateway}, at{tableCPU, row2K, nginx})},
		{figure: "CPU per request, 32 KB body, against nginx", must: 1.9, aim: 1.3, tables: []string{tableCPU},
			value: quotient(at{tableCPU, row32K, gateway}, at{tableCPU, row32K, nginx})},
		{figure: "CPU at 32 KB over CPU at 2 KB", must: 2.1, aim: 1.6, tables: []string{tableCPU},
			value: quotient(at{tableCPU, row32K, gateway}, at{tableCPU, row2K, gateway})},
		{figure: "requests/s on one core, 2 KB body, against net/http's ReverseProxy", must: 2.8, aim: 4, more: true, tables: []string{tableRate},
			value: quotient(at{tableRate, row2K, gateway}, at{tableRate, row2K, netHTTP})},
		{figure: "time to first byte added at 500 requests/s, p50, against fasthttp", must: 1.25, aim: 1, tables: []string{tableFirst50},
			value: addedFirstByte},
		{figure: "CPU per event, one every 20 ms, against nginx", must: 1.6, aim: 1.25, tables: []string{tableEvents},
			value: quotient(at{tableEvents, row20ms, gateway}, at{tableEvents, row20ms, nginx})},
		{figure: "CPU per event, 64 in a burst, against nginx", must: 2.2, aim: 1.35, tables: []string{tableEvents},
			value: quotient(at{tableEvents, rowBurst, gateway}, at{tableEvents, rowBurst, nginx})},
		{figure: "KB per slow stream, fresh process", must: 42, aim: 32, tables: []string{tableMemory}, value: single(tableMemory, rowFresh, gateway)},
		{figure: "KB per slow stream, third wave", must: 52, aim: 40, tables: []string{tableMemory}, value: single(tableMemory, rowThird, gateway)},
		{figure: "further KB per stream for a 32 KB request body", must: 12, aim: 2, tables: []string{tableMemory}, value: furtherMemory},
		{figure: "events lost, 5,000 streams with an event every 50 ms", must: 0, aim: 0, tables: []string{tableCrowd}, value: single(tableCrowd, rowLost, gateway)},
		{figure: "client gone to upstream closed, worst of all cases, ms", must: 10, aim: 1, tables: []string{tableHangup}, value: single(tableHangup, rowAnyCase, columnWorst)},
		{figure: "1,000 clients that hang up: errors to others", must: 0, aim: 0, tables: []string{tableLeave}, value: single(tableLeave, rowErrors, gateway)},
		{figure: "1,000 clients that hang up: instances ejected", must: 0, aim: 0, tables: []string{tableLeave}, value: single(tableLeave, rowEjected, gateway)},
		{figure: "allocations per request that is no stream", must: 5, aim: 1, tables: []string{tableAllocs}, value: single(tableAllocs, row2K, gateway)},
		{figure: "heap growth over a long run, MB", must: 0, aim: 0, tables: []string{tableSoak}, value: heapGrowth},
	}
}

// addedFirstByte is what the gateway adds to the time to the first byte, by what the bare proxy adds.
func addedFirstByte(f *figures) (float64, string) {
	direct := f.median(tableFirst50, row500, direct)
	ours, bare := f.median(tableFirst50, row500, gateway)-direct, f.median(tableFirst50, row500, fasthttp)-direct
	return ours / bare, text(ours) + " / " + text(bare) + " µs"
}

// furtherMemory is what a stream holds of a larger request.
func furtherMemory(f *figures) (float64, string) {
	large, small := f.median(tableMemory, rowFresh3, gateway), f.median(tableMemory, rowFresh, gateway)
	return large - small, text(large) + " - " + text(small)
}

// heapGrowth is the growth in whole megabytes: less than that is what a look at a moment can't tell.
func heapGrowth(f *figures) (float64, string) {
	late, early := f.median(tableSoak, rowLate, columnHeap), f.median(tableSoak, rowEarly, columnHeap)
	return max(0, math.Trunc(late-early)), text(late) + " - " + text(early)
}

// verdict says how a value stands to its bar.
func (b *bar) verdict(value float64) string {
	reaches := func(limit float64) bool {
		if b.more {
			return value >= limit
		}
		return value <= limit
	}
	switch {
	case math.IsNaN(value):
		return "not measured"
	case reaches(b.aim):
		return "aim"
	case reaches(b.must):
		return "must"
	}
	return "MISSED"
}

// missed returns the tables of the bars that were missed, and how many bars those are.
func missed(f *figures) (tables map[string]bool, count int) {
	tables = make(map[string]bool)
	for _, b := range bars() {
		if v, _ := b.value(f); b.verdict(v) == "MISSED" {
			count++
			for _, t := range b.tables {
				tables[t] = true
			}
		}
	}
	return tables, count
}

// printBars writes the table of all bars.
func printBars(w io.Writer, f *figures, markdown bool) {
	lines := [][]string{{"figure", "must", "aim", "measured", "from", "verdict"}}
	for _, b := range bars() {
		v, parts := b.value(f)
		if math.IsNaN(v) {
			parts = ""
		}
		lines = append(lines, []string{b.figure, limit(b.must), limit(b.aim), text(v), parts, b.verdict(v)})
	}
	printLines(w, lines, markdown)
}

func limit(v float64) string { return fmt.Sprintf("%v", v) }
