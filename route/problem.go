package route

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// Level says what a problem costs.
type Level uint8

// The levels.
const (
	FileError  Level = iota // nothing of the file is used
	RouteError              // one route can't serve
	Warning                 // nothing
)

var levelNames = [...]string{FileError: "error", RouteError: "unusable", Warning: "warning"}

// String returns the level as reports write it: "error", "unusable" or "warning".
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "unknown"
}

// Problem is something wrong in the routes file, with its place.
type Problem struct {
	Level   Level
	File    string
	Line    int    // from 1
	Column  int    // from 1, in bytes
	Path    string // JSON path: routes[2].targets[0].weight
	Route   string // the route at fault, if one is
	Message string // names the value and what is allowed
}

// String returns file:line:column: path: message, with the level in front of the message unless it is FileError.
func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		text += p.Path + ": "
	}
	if p.Level != FileError {
		text += p.Level.String() + ": "
	}
	return text + p.Message
}

// source is the text of a file, with its name and where its lines begin.
type source struct {
	name  string
	lines []int // offsets
}

func newSource(name string, text []byte) source {
	s := source{name: name, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// problem returns a problem at an offset.
func (s *source) problem(l Level, route string, p jsontree.Problem) Problem {
	line := sort.SearchInts(s.lines, p.Offset+1) // the first that begins after the offset
	return Problem{Level: l, File: s.name, Line: line, Column: p.Offset - s.lines[line-1] + 1, Path: p.Path, Route: route,
		Message: p.Message}
}

// sortProblems sorts problems by their places.
func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// refused reports whether a problem is at file level.
func refused(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Level == FileError })
}
