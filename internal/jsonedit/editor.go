package jsonedit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// editor collects what is to be changed of a text.
type editor struct {
	text    []byte
	style   style
	splices []splice
}

// splice puts something in the place of a part of the text. Splices don't overlap.
type splice struct {
	from, to int
	with     string
}

// source is a value with the text that it stands in.
type source struct {
	text []byte
	*jsontree.Value
}

// child returns the i-th element or the value of the i-th member.
func (s source) child(i int) source { return source{s.text, child(s.Value, i)} }

// piece is an element of an array, or a member of an object.
type piece struct {
	member bool
	name   string // of a member
	source
}

// pieceOf returns the i-th element or member of a value.
func pieceOf(v source, i int) piece {
	p := piece{source: v.child(i)}
	if v.Kind == jsontree.Object {
		p.member, p.name = true, v.Members[i].Name
	}
	return p
}

func newEditor(text []byte, root *jsontree.Value) *editor {
	return &editor{text: text, style: styleOf(text, root)}
}

func (e *editor) splice(from, to int, with string) {
	e.splices = append(e.splices, splice{from, to, with})
}

// result returns the text with all changes made.
func (e *editor) result() []byte {
	slices.SortStableFunc(e.splices, func(a, b splice) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	var out bytes.Buffer
	at := 0
	for _, s := range e.splices {
		out.Write(e.text[at:s.from])
		out.WriteString(s.with)
		at = s.to
	}
	out.Write(e.text[at:])
	return out.Bytes()
}

// merge makes a value of the text equal to another one.
func (e *editor) merge(at *jsontree.Value, to source) {
	switch {
	case equal(at, to.Value):
	case at.Kind == jsontree.Object && to.Kind == jsontree.Object && size(at) > 0 && size(to.Value) > 0:
		e.mergeObject(at, to)
	case at.Kind == jsontree.Array && to.Kind == jsontree.Array && size(at) > 0 && size(to.Value) > 0:
		e.mergeArray(at, to)
	default:
		e.splice(at.Offset, at.End, e.style.render(to, e.indentation(at.Offset), e.lineLength(at)))
	}
}

// mergeObject keeps the members that both have where they are, and adds new ones at the end.
func (e *editor) mergeObject(at *jsontree.Value, to source) {
	var added []piece
	for i := range to.Members {
		if at.Member(to.Members[i].Name) == nil {
			added = append(added, piece{true, to.Members[i].Name, to.child(i)})
		}
	}
	kept := 0
	for i := range at.Members {
		if to.Member(at.Members[i].Name) != nil {
			kept++
		}
	}
	if kept == 0 || e.crowded(at, added) {
		e.splice(at.Offset, at.End, e.style.render(to, e.indentation(at.Offset), e.lineLength(at)))
		return
	}
	for i := 0; i < len(at.Members); i++ {
		if v := to.Member(at.Members[i].Name); v != nil {
			e.merge(at.Members[i].Value, source{to.text, v})
			continue
		}
		gone := i + 1
		for gone < len(at.Members) && to.Member(at.Members[gone].Name) == nil {
			gone++
		}
		e.remove(at, i, gone)
		i = gone - 1
	}
	e.insert(at, len(at.Members), added)
}

// mergeArray keeps the elements with which both begin and end, and changes those in between one by one.
func (e *editor) mergeArray(at *jsontree.Value, to source) {
	first := 0
	for first < min(size(at), size(to.Value)) && equal(at.Items[first], to.Items[first]) {
		first++
	}
	last, toLast := size(at), size(to.Value)
	for last > first && toLast > first && equal(at.Items[last-1], to.Items[toLast-1]) {
		last--
		toLast--
	}
	common := min(last, toLast)
	var added []piece
	for i := common; i < toLast; i++ {
		added = append(added, piece{source: to.child(i)})
	}
	if e.crowded(at, added) {
		e.splice(at.Offset, at.End, e.style.render(to, e.indentation(at.Offset), e.lineLength(at)))
		return
	}
	for i := first; i < common; i++ {
		e.merge(at.Items[i], to.child(i))
	}
	if common < last {
		e.remove(at, common, last)
	}
	e.insert(at, common, added)
}

// remove takes the elements or members from one position up to another out of a value.
func (e *editor) remove(of *jsontree.Value, from, until int) {
	switch {
	case from > 0:
		e.splice(child(of, from-1).End, child(of, until-1).End, "")
	case until < size(of):
		e.splice(start(of, 0), start(of, until), "")
	default:
		e.splice(of.Offset+1, of.End-1, "")
	}
}

// insert puts pieces into an array or object at a position.
func (e *editor) insert(into *jsontree.Value, position int, pieces []piece) {
	if len(pieces) == 0 {
		return
	}
	if size(into) == 0 || e.crowded(into, pieces) {
		e.rewrite(into, position, pieces)
		return
	}
	lead := e.lead(into)
	spread := strings.Contains(lead, "\n")
	indent := lead[strings.LastIndexByte(lead, '\n')+1:]
	switch {
	case spread:
		lead = e.style.newline + indent // without empty lines
	case lead == "":
		lead = e.style.space // behind a comma, where the first element has nothing in front
	}
	texts := make([]string, len(pieces))
	for i, p := range pieces {
		texts[i] = e.style.line(p)
		if spread {
			texts[i] = e.style.piece(p, indent, len(indent)+1)
		}
	}
	text := strings.Join(texts, ","+lead)
	if position > 0 {
		at := child(into, position-1).End
		e.splice(at, at, ","+lead+text)
		return
	}
	at := start(into, 0)
	e.splice(at, at, text+","+lead)
}

// lead returns the white space in front of the last element or member: what belongs between a comma and a new one.
func (e *editor) lead(of *jsontree.Value) string {
	at := start(of, size(of)-1)
	from := at
	for isSpace(e.text[from-1]) {
		from--
	}
	return string(e.text[from:at])
}

// crowded reports whether an array or object that stands on one line would get too long for it.
func (e *editor) crowded(of *jsontree.Value, pieces []piece) bool {
	if len(pieces) == 0 || e.style.flat || bytes.IndexByte(e.text[of.Offset:of.End], '\n') >= 0 {
		return false
	}
	length := e.lineLength(of) + of.End - of.Offset
	for _, p := range pieces {
		length += len(e.style.line(p)) + 2
	}
	return length > width
}

// rewrite lays an array or object out anew, with pieces in it.
func (e *editor) rewrite(v *jsontree.Value, position int, pieces []piece) {
	all := make([]piece, 0, size(v)+len(pieces))
	for i := range size(v) {
		all = append(all, pieceOf(source{e.text, v}, i))
	}
	all = slices.Insert(all, position, pieces...)
	e.splice(v.Offset, v.End, e.style.container(v.Kind, all, e.indentation(v.Offset), e.lineLength(v)))
}

// indentation returns the white space that the line of an offset begins with.
func (e *editor) indentation(offset int) string {
	from := bytes.LastIndexByte(e.text[:offset], '\n') + 1
	to := from
	for to < len(e.text) && (e.text[to] == ' ' || e.text[to] == '\t') {
		to++
	}
	return string(e.text[from:to])
}

// lineLength returns how long the line of a value is without the value.
func (e *editor) lineLength(v *jsontree.Value) int {
	before := v.Offset - (bytes.LastIndexByte(e.text[:v.Offset], '\n') + 1)
	after := bytes.IndexByte(e.text[v.End:], '\n')
	if after < 0 {
		after = len(e.text) - v.End
	}
	return before + after
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// equal reports whether two values say the same. Numbers do if they are written alike.
func equal(a, b *jsontree.Value) bool {
	if a.Kind != b.Kind || a.Text != b.Text || size(a) != size(b) {
		return false
	}
	for i := range a.Items {
		if !equal(a.Items[i], b.Items[i]) {
			return false
		}
	}
	for i := range a.Members {
		other := b.Member(a.Members[i].Name)
		if other == nil || !equal(a.Members[i].Value, other) {
			return false
		}
	}
	return true
}
