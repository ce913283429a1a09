package openai

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// The bounds of a form. Frameworks that engines are built on allow about as much.
const (
	maxParts    = 1000
	maxPartHead = 8 << 10 // bytes of a part's headers
	maxBoundary = 200     // bytes; RFC 2046 allows 70, which not every client knows
)

// ParseForm reads a multipart/form-data body (RFC 7578) in one walk over its bytes, which stay as they are. The error is
// a ready 400: for a form that is malformed or that two readers might cut differently (line ends other than CRLF beside
// a boundary or in a part's headers, folded headers, a boundary inside a line of its own, a parameter written twice, any
// "name*" parameter, which RFC 7578 forbids), and for a model or a stream that is missing, written twice or not a plain
// short text. What is not a field that the gateway acts on may come in any order, with any further headers.
func (c *Call) ParseForm(contentType, body []byte) *Error {
	c.Reset()
	err := c.parseForm(contentType, body)
	if err != nil {
		c.Reset()
	}
	return err
}

func (c *Call) parseForm(contentType, body []byte) *Error {
	boundary, err := boundaryOf(contentType)
	if err != nil {
		return err
	}
	c.body = body
	c.decoded = append(append(c.decoded[:0], "--"...), boundary...)
	w := formWalk{body: body, dash: c.decoded}
	if err := w.walk(c); err != nil {
		return err
	}
	if c.model.Until == 0 {
		return &Error{Status: 400, Type: invalidRequest, Code: "missing_required_parameter", Param: "model",
			Message: `The form has no part named "model"; it must have one that names a model.`}
	}
	c.form = Form
	return nil
}

// formWalk goes from boundary to boundary.
type formWalk struct {
	body []byte
	dash []byte // what a boundary's line begins with
	seen fieldSet
}

// walk reads every part.
func (w *formWalk) walk(c *Call) *Error {
	d, err := w.delimiter(0)
	for parts := 0; err == nil && !d.last; parts++ {
		if parts == maxParts {
			return badForm(d.after, fmt.Sprintf("it has more than %d parts", maxParts))
		}
		var p part
		if p, err = w.head(d.after); err != nil {
			return err
		}
		if d, err = w.delimiter(p.content); err != nil {
			return err
		}
		// Between the empty line behind the headers and a boundary there may be nothing, not even the boundary's own CRLF.
		err = w.field(c, &p, jsonscan.Span{From: p.content, Until: max(p.content, d.from)})
	}
	if err == nil && bytes.Contains(w.body[d.after:], w.dash) {
		return badForm(d.after, "a boundary follows the last one")
	}
	return err
}

// delimiter is a boundary's line.
type delimiter struct {
	from  int  // where it begins: at the line end before it
	after int  // where the next part's headers, or the epilogue, begin
	last  bool // it closes the form
}

// delimiter finds the next boundary from a place on.
func (w *formWalk) delimiter(from int) (delimiter, *Error) {
	for at := from; ; at++ {
		n := bytes.Index(w.body[at:], w.dash)
		if n < 0 {
			return delimiter{}, badForm(len(w.body), "it ends without its closing boundary")
		}
		at += n
		d := delimiter{from: at - 2}
		switch {
		case at == 0:
			d.from = 0
		case at >= 2 && w.body[at-2] == '\r' && w.body[at-1] == '\n':
		case w.body[at-1] == '\r' || w.body[at-1] == '\n':
			return delimiter{}, badForm(at, "the line end before the boundary is not CRLF")
		default:
			continue // within a line it is content
		}
		rest := w.body[at+len(w.dash):]
		d.last = bytes.HasPrefix(rest, []byte("--"))
		if d.last {
			rest = rest[2:]
		}
		rest = bytes.TrimLeft(rest, " \t")
		switch {
		case bytes.HasPrefix(rest, []byte("\r\n")):
			d.after = len(w.body) - len(rest) + 2
		case d.last && len(rest) == 0:
			d.after = len(w.body)
		default:
			return delimiter{}, badForm(at, "a line begins like a boundary and is none")
		}
		return d, nil
	}
}

// part is what the headers of a part say.
type part struct {
	content  int // where it begins
	is       field
	disposed bool // there was a Content-Disposition
	file     bool // it has a file name
	encoded  bool // its content is not as it stands
}

// head reads the headers of a part.
func (w *formWalk) head(from int) (part, *Error) {
	p := part{is: noField}
	block := w.body[from:min(len(w.body), from+maxPartHead)]
	for at := from; ; {
		line, _, ended := bytes.Cut(block, []byte("\r\n"))
		if !ended {
			if len(w.body)-from > maxPartHead {
				return p, badForm(from, fmt.Sprintf("the headers of the part are longer than %d bytes", maxPartHead))
			}
			return p, badForm(len(w.body), "it ends inside the headers of a part")
		}
		if len(line) == 0 {
			p.content = at + 2
			return p, nil
		}
		name, value, ok := headerLine(line)
		if !ok {
			return p, badForm(at, "a header of a part is malformed")
		}
		if reason := p.header(name, value); reason != "" {
			return p, badForm(at, reason)
		}
		at += len(line) + 2
		block = block[len(line)+2:]
	}
}

// headerLine takes a header apart. A line that goes on from the one before is none.
func headerLine(line []byte) (name, value []byte, ok bool) {
	name, value, ok = bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 || bytes.ContainsAny(value, "\r\n\x00") {
		return nil, nil, false
	}
	for _, c := range name {
		if !isTokenChar(c) {
			return nil, nil, false
		}
	}
	return name, bytes.Trim(value, " \t"), true
}

// header notes what one header says. The reason is empty if there is nothing wrong with it.
func (p *part) header(name, value []byte) (reason string) {
	switch {
	case bytes.EqualFold(name, []byte("Content-Disposition")):
		if p.disposed {
			return "a part has two Content-Disposition headers"
		}
		p.disposed = true
		return p.disposition(value)
	case bytes.EqualFold(name, []byte("Content-Transfer-Encoding")):
		p.encoded = !bytes.EqualFold(value, []byte("7bit")) && !bytes.EqualFold(value, []byte("8bit")) &&
			!bytes.EqualFold(value, []byte("binary"))
	}
	return ""
}

// field reads a part that is a field on which the gateway acts.
func (w *formWalk) field(c *Call, p *part, content jsonscan.Span) *Error {
	if p.is != fieldModel && p.is != fieldStream {
		return nil
	}
	name := fieldNames[p.is]
	if w.seen.has(p.is) {
		return &Error{Status: 400, Type: invalidRequest, Code: "duplicate_parameter", Param: name,
			Message: fmt.Sprintf("The form has more than one part named %q; it must have one.", name)}
	}
	w.seen.add(p.is)
	value := content.Of(w.body)
	switch {
	case p.file:
		return wrongPart(name, "is a file", "a plain field")
	case p.encoded:
		return wrongPart(name, "has a Content-Transfer-Encoding", "sent as it is")
	case p.is == fieldStream:
		return c.formStream(value)
	case len(value) == 0:
		return wrongPart(name, "is empty", "the name of a model")
	case !utf8.Valid(value) || bytes.IndexFunc(value, unicode.IsControl) >= 0:
		return wrongPart(name, "is "+quote(value), "the name of a model: one line of UTF-8 text")
	}
	c.model, c.name = content, value
	return nil
}

// formStream reads the stream part as the framework reads it that engines are built on (pydantic's conversion of text to
// a boolean).
func (c *Call) formStream(value []byte) *Error {
	if len(value) <= len("false") {
		switch strings.ToLower(string(value)) {
		case "true", "1", "on", "yes", "y", "t":
			c.stream = true
			return nil
		case "", "false", "0", "off", "no", "n", "f":
			return nil
		}
	}
	return wrongPart("stream", "is "+quote(value), "true or false")
}

func wrongPart(name, is, must string) *Error {
	return &Error{Status: 400, Type: invalidRequest, Code: "invalid_value", Param: name,
		Message: fmt.Sprintf("The form's part %q %s; it must be %s.", name, is, must)}
}

func badForm(at int, reason string) *Error {
	return &Error{Status: 400, Type: invalidRequest, Code: "invalid_form",
		Message: fmt.Sprintf("The request body is not a valid form: %s (at byte %d).", reason, at)}
}
