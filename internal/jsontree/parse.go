package jsontree

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds how deep values may be nested. People nest ten deep.
const maxDepth = 64

// Parse reads a JSON text (RFC 8259). The value is nil if the text can't be read to its end. Mistakes that leave no
// doubt about what was meant (a member given twice, a comma too many or too few) are told, and the rest is read.
func Parse(text []byte) (*Value, []Problem) {
	p := parser{text: text}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		p.problemf(nil, 0, "begins with a byte order mark, which JSON does not allow")
		p.at = 3
	}
	p.space()
	if p.at == len(text) {
		p.problemf(nil, p.at, "is empty")
		return nil, p.problems
	}
	v := p.value(nil, 0)
	if v == nil {
		return nil, p.problems
	}
	if p.space(); p.at < len(text) {
		p.problemf(nil, p.at, "goes on after its end, with %s", p.here())
		return nil, p.problems
	}
	return v, p.problems
}

type parser struct {
	text     []byte
	at       int
	problems []Problem
}

func (p *parser) problemf(t *trail, offset int, format string, args ...any) {
	p.problems = append(p.problems, Problem{Offset: offset, Path: t.String(), Message: fmt.Sprintf(format, args...)})
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// next returns the next byte that is not white space, and 0 at the end of the text.
func (p *parser) next() byte {
	p.space()
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// here shows what stands at the present place.
func (p *parser) here() string {
	if p.at >= len(p.text) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRune(p.text[p.at:])
	switch r {
	case '/', '#':
		return fmt.Sprintf("%q (JSON has no comments)", r)
	case '\'':
		return `"'" (strings are written in double quotes)`
	}
	return fmt.Sprintf("%q", r)
}

// value reads the value that begins here. It returns nil if it can't be read to its end.
func (p *parser) value(t *trail, depth int) *Value {
	if depth > maxDepth {
		p.problemf(t, p.at, "is nested deeper than %d levels", maxDepth)
		return nil
	}
	v := &Value{Offset: p.at}
	var ok bool
	switch c := p.next(); c {
	case '{':
		v.Kind = Object
		ok = p.object(v, t, depth)
	case '[':
		v.Kind = Array
		ok = p.array(v, t, depth)
	case '"':
		v.Kind = String
		v.Text, ok = p.str(t)
	default:
		ok = p.literal(v, t)
	}
	if !ok {
		return nil
	}
	v.End = p.at
	return v
}

func (p *parser) object(v *Value, t *trail, depth int) bool {
	p.at++
	var seen map[string]bool
	for first := true; ; first = false {
		if done, ok := p.between(t, '}', first); done || !ok {
			return ok
		}
		offset := p.at
		if p.next() != '"' {
			p.problemf(t, p.at, "has %s where the name of a member, in double quotes, is expected", p.here())
			return false
		}
		name, ok := p.str(t)
		if !ok {
			return false
		}
		at := &trail{up: t, name: name, index: -1}
		if seen, ok = v.given(name, seen); ok {
			p.problemf(at, offset, "is given twice")
		}
		if p.next() != ':' {
			p.problemf(at, p.at, "has %s where a colon is expected", p.here())
			return false
		}
		p.at++
		p.space()
		member := p.value(at, depth+1)
		if member == nil {
			return false
		}
		v.Members = append(v.Members, Member{Name: name, Offset: offset, Value: member})
	}
}

// given reports whether an object has a member of the name already. Few are looked through; of many, seen keeps the
// names.
func (v *Value) given(name string, seen map[string]bool) (map[string]bool, bool) {
	if len(v.Members) < 16 {
		return nil, v.Member(name) != nil
	}
	if seen == nil {
		seen = make(map[string]bool, 2*len(v.Members))
		for i := range v.Members {
			seen[v.Members[i].Name] = true
		}
	}
	had := seen[name]
	seen[name] = true
	return seen, had
}

func (p *parser) array(v *Value, t *trail, depth int) bool {
	p.at++
	for first := true; ; first = false {
		if done, ok := p.between(t, ']', first); done || !ok {
			return ok
		}
		item := p.value(&trail{up: t, index: len(v.Items)}, depth+1)
		if item == nil {
			return false
		}
		v.Items = append(v.Items, item)
	}
}

// between reads what stands in front of an element of an object or array, or the bracket that ends it.
func (p *parser) between(t *trail, bracket byte, first bool) (done, ok bool) {
	c := p.next()
	if c == bracket {
		p.at++
		return true, true
	}
	if first {
		return false, true
	}
	switch c {
	case ',':
		comma := p.at
		p.at++
		if p.next() == bracket {
			p.problemf(t, comma, "has a comma after its last element")
			p.at++
			return true, true
		}
		return false, true
	case '"', '{', '[':
		p.problemf(t, p.at, "lacks a comma between two elements")
		return false, true
	}
	p.problemf(t, p.at, "has %s where a comma or %q is expected", p.here(), bracket)
	return false, false
}
