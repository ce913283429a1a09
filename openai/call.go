package openai

import (
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// Call is a request as one walk over its body found it. The zero value is ready to use; a used one is made ready
// again by Reset and keeps its memory. The byte slices it hands out point into the body (or into the call's own memory,
// where a value had escapes) and live as long as both, which is until Reset or Release.
type Call struct {
	body []byte
	form BodyForm // NoBody as long as nothing has been read

	model        jsonscan.Span // with its quotes in JSON
	name         []byte        // of the model
	previous     []byte        // previous_response_id
	stream       bool
	includeUsage bool

	// Memory that the next request uses again.
	members []member // of the body's object, the first maxMembers
	total   int      // how many there are
	decoded []byte   // strings that had escapes
	task    task
}

// member is a member of the body's object, so that a value is found without a second walk over the body.
type member struct {
	key, value jsonscan.Span
	kind       jsonscan.Kind
	keyEscaped bool
	escaped    bool
}

const (
	maxMembers = 64       // no client is known that sends more; beyond it String walks again
	keepBytes  = 16 << 10 // the most memory for decoded strings that outlives a request
)

// Parse reads a JSON body in one walk. The error is a ready 400: for a body that is not an object, not JSON or nested
// deeper than [jsonscan.MaxDepth]; for a model that is missing or is not a string; for a stream that is neither a
// boolean nor null; and for any field that the gateway acts on if it is written twice, in whatever spelling.
func (c *Call) Parse(body []byte) *Error {
	c.Reset()
	err := c.parse(body)
	if err != nil {
		c.Reset()
	}
	return err
}

func (c *Call) parse(body []byte) *Error {
	c.body = body
	var s jsonscan.Scanner
	var seen, seenExact fieldSet
	for s.Object(body); s.Next(); {
		c.remember(&s)
		f, exact := fieldOf(s.Key.Of(body), s.KeyEscaped)
		if f == noField {
			continue
		}
		if seen.has(f) {
			return seenExact.twice(f, exact)
		}
		seen.add(f)
		if !exact {
			continue
		}
		seenExact.add(f)
		if err := c.act(f, &s); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return notJSON(err)
	}
	if c.model.Until == 0 {
		return &Error{Status: 400, Type: invalidRequest, Code: "missing_required_parameter", Param: "model",
			Message: `The field "model" is missing; it must be a string that names a model.`}
	}
	c.form = JSON
	return nil
}

func (c *Call) remember(s *jsonscan.Scanner) {
	if c.total++; c.total <= maxMembers {
		c.members = append(c.members,
			member{key: s.Key, value: s.Value, kind: s.Kind, keyEscaped: s.KeyEscaped, escaped: s.Escaped})
	}
}

// act notes a field that the gateway acts on. What an engine alone cares about is left to the engine.
func (c *Call) act(f field, s *jsonscan.Scanner) *Error {
	switch f {
	case fieldModel:
		if s.Kind != jsonscan.String || s.Value.Until-s.Value.From == len(`""`) {
			return wrongValue("model", s.Kind, s.Value.Of(c.body), "a string that names a model")
		}
		c.model = s.Value
		c.name = c.text(s.Value, s.Escaped)
	case fieldStream:
		if s.Kind != jsonscan.True && s.Kind != jsonscan.False && s.Kind != jsonscan.Null {
			return wrongValue("stream", s.Kind, s.Value.Of(c.body), "true, false or null")
		}
		c.stream = s.Kind == jsonscan.True
	case fieldPrevious:
		if s.Kind == jsonscan.String {
			c.previous = c.text(s.Value, s.Escaped)
		}
	case fieldStreamOptions:
		if s.Kind == jsonscan.Object {
			return c.readStreamOptions(s.Value)
		}
	}
	return nil
}

func (c *Call) readStreamOptions(options jsonscan.Span) *Error {
	m, found, twice := find(options.Of(c.body), "include_usage")
	if twice {
		return writtenTwice("stream_options.include_usage")
	}
	c.includeUsage = found && m.kind == jsonscan.True
	return nil
}

// text returns the content of a string of the body, decoded if it has escapes.
func (c *Call) text(quoted jsonscan.Span, escaped bool) []byte {
	if !escaped {
		return c.body[quoted.From+1 : quoted.Until-1]
	}
	from := len(c.decoded)
	c.decoded = jsonscan.AppendUnquoted(c.decoded, quoted.Of(c.body))
	return c.decoded[from:len(c.decoded):len(c.decoded)]
}

// Reset makes the call ready for another request. It keeps its memory up to a bound and nothing else.
func (c *Call) Reset() {
	decoded := c.decoded[:0]
	if cap(decoded) > keepBytes {
		decoded = nil
	}
	c.task.reset()
	*c = Call{members: c.members[:0], decoded: decoded, task: c.task}
}

// Release lets go of the body, so that its memory can be used again while the answer is still on its way. What was
// asked for stays known: Stream and IncludeUsage. Everything else is as if nothing had been read.
func (c *Call) Release() {
	stream, usage := c.stream, c.includeUsage
	c.Reset()
	c.stream, c.includeUsage = stream, usage
}

// Model returns the model that is asked for, decoded.
func (c *Call) Model() []byte { return c.name }

// Stream reports whether an event stream is asked for.
func (c *Call) Stream() bool { return c.stream }

// IncludeUsage reports whether a stream's client has asked for the event that tells the usage
// (stream_options.include_usage).
func (c *Call) IncludeUsage() bool { return c.includeUsage }

// PreviousResponseID returns the response that this one goes on from, empty if it goes on from none.
func (c *Call) PreviousResponseID() []byte { return c.previous }

// ModelSpan returns where the model's value stands in the body: the JSON string with its quotes, or the content of the
// form's part.
func (c *Call) ModelSpan() (from, until int) { return c.model.From, c.model.Until }

// EncodeModel appends a name as it is written into the span: quoted in JSON, plain in a form. A name in a form must be
// printable: it is not checked against the form's boundary, which holds no name's characters only by chance.
func (c *Call) EncodeModel(dst []byte, name string) []byte {
	if c.form == Form {
		return append(dst, name...)
	}
	return jsonscan.AppendQuoted(dst, name)
}

// String returns the string at a path of member names in a JSON body, decoded. found is false if there is nothing,
// something else than a string, or no JSON body. The error is a ready 400 for a member on the path that is written twice.
func (c *Call) String(path []string) (value []byte, found bool, err *Error) {
	if c.form != JSON || len(path) == 0 {
		return nil, false, nil
	}
	at := jsonscan.Span{Until: len(c.body)}
	for level, name := range path {
		m, found, twice := c.find(at, name, level)
		switch {
		case twice:
			return nil, false, writtenTwice(strings.Join(path[:level+1], "."))
		case !found:
			return nil, false, nil
		case level == len(path)-1:
			if m.kind != jsonscan.String {
				return nil, false, nil
			}
			return c.text(m.value, m.escaped), true, nil
		case m.kind != jsonscan.Object:
			return nil, false, nil
		}
		at = m.value
	}
	return nil, false, nil
}

// find looks a member up in an object of the body. The members of the outermost one, which is the only large one, are
// known already.
func (c *Call) find(object jsonscan.Span, name string, level int) (m member, found, twice bool) {
	if level > 0 || c.total > len(c.members) {
		m, found, twice = find(object.Of(c.body), name)
		m.value.From += object.From
		m.value.Until += object.From
		return m, found, twice
	}
	for i := range c.members {
		if k := &c.members[i]; isName(k.key.Of(c.body), k.keyEscaped, name) {
			if found {
				return m, true, true
			}
			m, found = *k, true
		}
	}
	return m, found, false
}

// find looks a member up in an object, whose walk is known to be valid. The member's spans count from the object's
// beginning.
func find(object []byte, name string) (m member, found, twice bool) {
	var s jsonscan.Scanner
	for s.Object(object); s.Next(); {
		if isName(s.Key.Of(object), s.KeyEscaped, name) {
			if found {
				return m, true, true
			}
			m, found = member{key: s.Key, value: s.Value, kind: s.Kind, escaped: s.Escaped}, true
		}
	}
	return m, found, false
}

func isName(quoted []byte, escaped bool, name string) bool {
	if escaped {
		return jsonscan.Equal(quoted, name)
	}
	return string(quoted[1:len(quoted)-1]) == name
}
