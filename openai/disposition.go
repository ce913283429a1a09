package openai

import (
	"bytes"
	"strings"
)

// Parameters of Content-Type and Content-Disposition (RFC 2045, section 5.1; RFC 2183).

// boundaryOf returns the boundary that a Content-Type names.
func boundaryOf(contentType []byte) ([]byte, *Error) {
	kind, rest := cutParams(contentType)
	if !bytes.EqualFold(bytes.Trim(kind, " \t"), []byte("multipart/form-data")) {
		return nil, badContentType("it must be multipart/form-data")
	}
	var boundary []byte
	ps := params{rest: rest, loose: true}
	for ps.next() {
		if !bytes.EqualFold(ps.name, []byte("boundary")) {
			continue
		}
		if !saneBoundary(ps.value) {
			return nil, badContentType("its boundary must be 1 to 200 printable ASCII characters, and not end in a space")
		}
		boundary = ps.value
	}
	switch {
	case !ps.wellFormed():
		return nil, badContentType("its parameters are malformed, or one is written twice")
	case boundary == nil:
		return nil, badContentType("it must name the boundary of the form's parts")
	}
	return boundary, nil
}

func badContentType(reason string) *Error {
	return &Error{Status: 400, Type: invalidRequest, Code: "invalid_content_type",
		Message: "The Content-Type header can't be used: " + reason + "."}
}

func saneBoundary(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return len(b) > 0 && len(b) <= maxBoundary && b[len(b)-1] != ' '
}

// cutParams parts a header's value from its parameters, which begin with a semicolon.
func cutParams(b []byte) (value, params []byte) {
	if i := bytes.IndexByte(b, ';'); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// disposition notes what a Content-Disposition says.
func (p *part) disposition(value []byte) (reason string) {
	kind, rest := cutParams(value)
	if !bytes.EqualFold(bytes.Trim(kind, " \t"), []byte("form-data")) {
		return "the Content-Disposition of a part is not form-data"
	}
	ps := params{rest: rest}
	for ps.next() {
		name := ps.name
		switch {
		case bytes.EqualFold(name, []byte("name")):
			if p.is = partField(ps.value); p.is != noField && ps.escaped {
				return "the name of a part is written with needless backslashes, which readers take differently"
			}
		case len(name) > 4 && bytes.EqualFold(name[:5], []byte("name*")):
			return "a part has a parameter name*, which forms do not allow"
		case bytes.EqualFold(name, []byte("filename")), len(name) > 8 && bytes.EqualFold(name[:9], []byte("filename*")):
			p.file = true
		}
	}
	if !ps.wellFormed() {
		return "the Content-Disposition of a part is malformed, or a parameter of it is written twice"
	}
	return ""
}

// partField returns which field a part's name stands for, if backslashes in it mean nothing.
func partField(name []byte) field {
	for _, f := range [...]field{fieldModel, fieldStream} {
		want := fieldNames[f]
		i := 0
		for _, c := range name {
			if c == '\\' {
				continue
			}
			if i == len(want) || c != want[i] {
				i = -1
				break
			}
			i++
		}
		if i == len(want) {
			return f
		}
	}
	return noField
}

// params reads parameters, each behind a semicolon.
type params struct {
	name    []byte
	value   []byte // without its quotes
	escaped bool   // there are backslashes in the value
	loose   bool   // values without quotes need not be tokens: boundaries as they are found in the field
	rest    []byte
	names   [maxParams][]byte // that were read
	n       int
}

// maxParams is how many parameters a header may have; two are in use.
const maxParams = 8

// next reads the next parameter. It returns false at the end, and where there is none, or one that has been read before.
func (p *params) next() bool {
	if p.n == maxParams {
		return false
	}
	rest := bytes.TrimLeft(p.rest, " \t")
	if len(rest) == 0 || rest[0] != ';' {
		return false
	}
	rest = bytes.TrimLeft(rest[1:], " \t")
	n := 0
	for n < len(rest) && isTokenChar(rest[n]) {
		n++
	}
	name := rest[:n]
	for _, other := range p.names[:p.n] {
		if bytes.EqualFold(name, other) {
			return false
		}
	}
	rest = bytes.TrimLeft(rest[n:], " \t")
	if n == 0 || len(rest) == 0 || rest[0] != '=' {
		return false
	}
	rest = bytes.TrimLeft(rest[1:], " \t")
	quoted := len(rest) > 0 && rest[0] == '"'
	n = valueLen(rest, quoted, p.loose)
	if n == 0 {
		return false
	}
	p.names[p.n] = name
	p.n++
	p.name, p.value, p.rest = name, rest[:n], rest[n:]
	if quoted {
		p.value = p.value[1 : n-1]
	}
	p.escaped = bytes.IndexByte(p.value, '\\') >= 0
	return true
}

// valueLen returns how long the value at the beginning of b is, 0 if there is none.
func valueLen(b []byte, quoted, loose bool) int {
	if !quoted {
		n := 0
		for n < len(b) && (isTokenChar(b[n]) || loose && strings.IndexByte("; \t\"", b[n]) < 0) {
			n++
		}
		return n
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// wellFormed reports whether nothing is left but what may end a list of parameters.
func (p *params) wellFormed() bool { return len(bytes.Trim(p.rest, "; \t")) == 0 }

// isTokenChar reports whether c may stand in a token (RFC 9110, section 5.6.2).
func isTokenChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
