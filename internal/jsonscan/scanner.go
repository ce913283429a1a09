package jsonscan

// MaxDepth is how many arrays and objects may be open at one place.
const MaxDepth = 1000

// Kind is a kind of value.
type Kind uint8

// The kinds of values.
const (
	None Kind = iota // no value
	Null
	False
	True
	Number
	String
	Object
	Array
)

// Span is a part of a text: the bytes from From up to, and without, Until.
type Span struct{ From, Until int }

// Of returns the part of the text.
func (s Span) Of(text []byte) []byte { return text[s.From:s.Until] }

// Scanner walks over the members of an object, or the elements of an array. Object or Array begins a walk, Next takes
// each step and sets Key, Value and the rest; after the last step Err says whether the text was valid to its end.
// Whatever Next has given out before an error was found has been checked.
//
// A walk takes time linear in the text and allocates nothing. Spans are offsets into the text that the walk was begun
// with, so the values found in one walk can be walked over by another.
type Scanner struct {
	Key        Span // of the member's name, with its quotes; empty in an array
	KeyEscaped bool // there are escapes in the name
	Value      Span // strings with their quotes
	Kind       Kind
	Escaped    bool // the value is a string with escapes in it

	text  []byte
	pos   int
	where place
	err   Error
}

// place is where a walk stands in its object or array.
type place uint8

const (
	finished place = iota
	atFirst        // behind the opening bracket of an array
	atFirstMember
	behind // behind an element of an array
	behindMember
)

// Object begins a walk over a text that is an object.
func (s *Scanner) Object(text []byte) { s.open(text, '{', atFirstMember) }

// Array begins a walk over a text that is an array.
func (s *Scanner) Array(text []byte) { s.open(text, '[', atFirst) }

func (s *Scanner) open(text []byte, bracket byte, first place) {
	*s = Scanner{text: text}
	i := space(text, 0)
	switch {
	case i == len(text):
		s.fail(Empty, i, "")
	case text[i] != bracket:
		s.fail(WrongKind, i, "")
	default:
		s.pos, s.where = i+1, first
	}
}

// Next goes to the next member or element, and returns false behind the last one, or when the text is not valid.
func (s *Scanner) Next() bool {
	if s.where == finished {
		return false
	}
	b := s.text
	i := space(b, s.pos)
	if i == len(b) {
		return s.fail(Truncated, i, "")
	}
	c := b[i]
	closing := byte(']')
	if s.where == atFirstMember || s.where == behindMember {
		closing = '}'
	}
	switch s.where {
	case atFirst, atFirstMember:
		if c == closing {
			return s.close(i + 1)
		}
	case behind, behindMember:
		if c == closing {
			return s.close(i + 1)
		}
		if c != ',' {
			return s.fail(Syntax, i, wantAfter(closing))
		}
		i = space(b, i+1)
	}
	s.where = behind
	if closing == '}' {
		s.where = behindMember
		if i = s.name(i); i < 0 {
			return false
		}
	}
	return s.value(i)
}

// name reads a member's name and the colon behind it, and returns where the value begins.
func (s *Scanner) name(i int) int {
	b := s.text
	if i == len(b) || b[i] != '"' {
		return s.unexpected(i, wantName)
	}
	end, escaped, fault := scanString(b, i+1)
	if fault != 0 {
		return s.badString(fault, end)
	}
	s.Key, s.KeyEscaped = Span{i, end}, escaped
	if i = space(b, end); i == len(b) || b[i] != ':' {
		return s.unexpected(i, wantColon)
	}
	return space(b, i+1)
}

// value reads the value of a member or element.
func (s *Scanner) value(i int) bool {
	b := s.text
	s.Escaped = false
	if i == len(b) {
		return s.fail(Truncated, i, "")
	}
	var end int
	switch c := b[i]; c {
	case '"':
		var fault Fault
		if end, s.Escaped, fault = scanString(b, i+1); fault != 0 {
			s.badString(fault, end)
			return false
		}
		s.Kind = String
	case '{', '[':
		if end = s.container(i); end < 0 {
			return false
		}
		s.Kind = Object
		if c == '[' {
			s.Kind = Array
		}
	default:
		var ok bool
		if end, ok = scanScalar(b, i); !ok {
			s.unexpected(end, wantValue)
			return false
		}
		s.Kind = scalarKind(c)
	}
	s.Value, s.pos = Span{i, end}, end
	return true
}

func scalarKind(first byte) Kind {
	switch first {
	case 'n':
		return Null
	case 't':
		return True
	case 'f':
		return False
	}
	return Number
}

// close ends the walk behind the closing bracket.
func (s *Scanner) close(i int) bool {
	s.where, s.pos = finished, i
	if end := space(s.text, i); end < len(s.text) {
		return s.fail(Trailing, end, "")
	}
	return false
}
