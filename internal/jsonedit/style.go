package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// width is how long a line may get before what stands on it is spread over several.
const width = 120

// style is how a text is laid out.
type style struct {
	flat    bool   // all of it stands on one line
	newline string // "\n", or "\r\n"
	unit    string // of indentation
	space   string // behind a comma and a colon: " " or ""
	pad     string // inside the brackets of what stands on one line: " " or ""
}

// styleOf finds out how a text is laid out.
func styleOf(text []byte, root *jsontree.Value) style {
	s := style{newline: "\n", unit: "  ", space: " ", pad: " "}
	inner := bytes.TrimSpace(text)
	s.flat = len(inner) > 2 && bytes.IndexByte(inner, '\n') < 0
	if bytes.Contains(text, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	if size(root) > 0 {
		lead := text[root.Offset+1 : start(root, 0)]
		if i := bytes.LastIndexByte(lead, '\n'); i >= 0 && i+1 < len(lead) {
			s.unit = string(lead[i+1:])
		}
	}
	s.look(text, root, new(int))
	return s
}

// enough is how many objects are looked at for the style of a text.
const enough = 64

// look takes the spaces from the objects that stand on one line.
func (s *style) look(text []byte, v *jsontree.Value, looked *int) {
	for i := range size(v) {
		if *looked > enough {
			return
		}
		s.look(text, child(v, i), looked)
	}
	if v.Kind != jsontree.Object || size(v) == 0 || bytes.IndexByte(text[v.Offset:v.Members[0].Value.Offset], '\n') >= 0 {
		return
	}
	*looked++
	s.pad, s.space = "", ""
	if text[v.Offset+1] == ' ' {
		s.pad = " "
	}
	if text[v.Members[0].Value.Offset-1] == ' ' {
		s.space = " "
	}
}

// render returns a value's text: on one line if that fits beside the bytes that stand there already, and spread over
// several lines, indented by one unit more than indent, if not.
func (s *style) render(v source, indent string, beside int) string {
	switch v.Kind {
	case jsontree.Array, jsontree.Object:
	default:
		return string(v.text[v.Offset:v.End])
	}
	pieces := make([]piece, size(v.Value))
	for i := range pieces {
		pieces[i] = pieceOf(v, i)
	}
	return s.container(v.Kind, pieces, indent, beside)
}

// container returns the text of an array or object of pieces.
func (s *style) container(k jsontree.Kind, pieces []piece, indent string, beside int) string {
	opening, closing := "[", "]"
	if k == jsontree.Object {
		opening, closing = "{", "}"
	}
	if len(pieces) == 0 {
		return opening + closing
	}
	pad := s.pad
	if k == jsontree.Array && scalars(pieces) {
		pad = ""
	}
	lines := make([]string, len(pieces))
	length := beside + 2 + 2*len(pad)
	for i, p := range pieces {
		lines[i] = s.line(p)
		length += len(lines[i]) + 2
	}
	// The file's own lists stand spread, however short they are.
	top := len(indent) <= len(s.unit) && !scalars(pieces)
	if s.flat || length <= width && !top {
		return opening + pad + strings.Join(lines, ","+s.space) + pad + closing
	}
	deeper := indent + s.unit
	for i, p := range pieces {
		lines[i] = deeper + s.piece(p, deeper, len(deeper)+1)
	}
	return opening + s.newline + strings.Join(lines, ","+s.newline) + s.newline + indent + closing
}

// piece returns the text of an element or member.
func (s *style) piece(p piece, indent string, beside int) string {
	if !p.member {
		return s.render(p.source, indent, beside)
	}
	name := quote(p.name) + ":" + s.space
	return name + s.render(p.source, indent, beside+len(name))
}

// line returns the text of an element or member on one line.
func (s *style) line(p piece) string {
	one := *s
	one.flat = true
	return one.piece(p, "", 0)
}

func scalars(pieces []piece) bool {
	for _, p := range pieces {
		if p.Kind == jsontree.Array || p.Kind == jsontree.Object {
			return false
		}
	}
	return true
}

// quote writes a name as JSON does, with no more escapes than are needed.
func quote(name string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(name) // of a string, nothing can fail
	return strings.TrimSuffix(b.String(), "\n")
}
