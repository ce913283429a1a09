package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// at is where a figure stands: a table, its row and its column.
type at struct{ table, row, column string }

// figures are what was measured, one value a round.
type figures struct {
	values map[at][]float64
	order  []at
}

func newFigures() *figures { return &figures{values: make(map[at][]float64)} }

// note adds the value of a round.
func (f *figures) note(table, row, column string, value float64) {
	key := at{table, row, column}
	if _, known := f.values[key]; !known {
		f.order = append(f.order, key)
	}
	f.values[key] = append(f.values[key], value)
}

// median is the median of a figure's rounds, NaN if there is none.
func (f *figures) median(table, row, column string) float64 {
	return median(f.values[at{table, row, column}])
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Clone(values)
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// quantile returns the value below which a share q of the durations lies, in microseconds.
func quantile(d []time.Duration, q float64) float64 {
	if len(d) == 0 {
		return math.NaN()
	}
	slices.Sort(d)
	return float64(d[int(q*float64(len(d)-1))]) / float64(time.Microsecond)
}

// forget drops the figures of some tables, to measure them again.
func (f *figures) forget(tables []string) {
	for key := range f.values {
		if slices.Contains(tables, key.table) {
			f.values[key] = nil
		}
	}
}

// text formats a value to three digits or so.
func text(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// print writes every table, in the order in which they were measured.
func (f *figures) print(w io.Writer, markdown bool) {
	var tables []string
	for _, key := range f.order {
		if !slices.Contains(tables, key.table) {
			tables = append(tables, key.table)
		}
	}
	for _, name := range tables {
		f.printTable(w, name, markdown)
	}
}

func (f *figures) printTable(w io.Writer, name string, markdown bool) {
	var rows, columns []string
	for _, key := range f.order {
		if key.table != name {
			continue
		}
		if !slices.Contains(rows, key.row) {
			rows = append(rows, key.row)
		}
		if !slices.Contains(columns, key.column) {
			columns = append(columns, key.column)
		}
	}
	lines := [][]string{append([]string{name}, columns...)}
	for _, row := range rows {
		line := []string{row}
		for _, column := range columns {
			line = append(line, text(f.median(name, row, column)))
		}
		lines = append(lines, line)
	}
	printLines(w, lines, markdown)
}

// printLines writes a table whose first line is its head. All columns but the first are numbers, or short.
func printLines(w io.Writer, lines [][]string, markdown bool) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for n, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			switch {
			case markdown:
				b.WriteString("| " + cell + pad + " ")
			case i == 0:
				b.WriteString(cell + pad)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		if markdown {
			b.WriteString("|")
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
		if n == 0 && markdown {
			for i := range widths {
				if i == 0 {
					fmt.Fprint(w, "|---")
				} else {
					fmt.Fprint(w, "|--:")
				}
			}
			fmt.Fprintln(w, "|")
		}
	}
	fmt.Fprintln(w)
}
