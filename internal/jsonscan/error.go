package jsonscan

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Fault is a kind of error in a text.
type Fault uint8

// The kinds of errors.
const (
	_         Fault = iota
	Empty           // there is nothing but white space
	WrongKind       // the text is not what was to be walked over: an object, or an array
	Truncated       // the text ends before the value does
	Syntax          // a byte that the grammar does not allow there
	Trailing        // something follows the value
	TooDeep         // nested deeper than MaxDepth
	NotUTF8         // a string that is not UTF-8

	badEscape  // inside a string; told as Syntax
	badControl // likewise
)

// Error says what is wrong with a text, and where.
type Error struct {
	Fault  Fault
	Offset int    // of the byte at fault
	Found  byte   // that byte, unless the text ends there
	want   string // what the grammar allows there
}

// Error describes what is wrong as the end of a sentence about the text.
func (e *Error) Error() string {
	switch e.Fault {
	case Empty:
		return "it is empty"
	case WrongKind:
		return "it begins with " + e.found()
	case Truncated:
		return fmt.Sprintf("it ends at byte %d, inside a value", e.Offset)
	case Trailing:
		return fmt.Sprintf("at byte %d, %s follows the end of the value", e.Offset, e.found())
	case TooDeep:
		return fmt.Sprintf("at byte %d it is nested deeper than %d levels", e.Offset, MaxDepth)
	case NotUTF8:
		return fmt.Sprintf("the string at byte %d is not UTF-8", e.Offset)
	}
	return fmt.Sprintf("at byte %d, %s stands where %s is expected", e.Offset, e.found(), e.want)
}

// found is the byte at fault as people read it.
func (e *Error) found() string {
	if e.Found >= utf8.RuneSelf {
		return fmt.Sprintf("the byte 0x%02X", e.Found)
	}
	return strconv.QuoteRune(rune(e.Found))
}

const (
	wantName   = "a member's name in double quotes"
	wantColon  = "a colon"
	wantValue  = "a value"
	wantEscape = "a valid escape"
	wantChar   = "a character of a string (control characters are escaped)"
)

func wantAfter(closing byte) string {
	if closing == '}' {
		return "a comma or '}'"
	}
	return "a comma or ']'"
}

// Err returns what is wrong with the text, nil as long as nothing has been found.
func (s *Scanner) Err() *Error {
	if s.err.Fault == 0 {
		return nil
	}
	e := s.err
	return &e
}

// fail notes an error and returns false, for Next.
func (s *Scanner) fail(f Fault, offset int, want string) bool {
	s.where = finished
	s.err = Error{Fault: f, Offset: offset, want: want}
	if offset < len(s.text) {
		s.err.Found = s.text[offset]
	}
	return false
}

// unexpected notes a byte that the grammar does not allow, or the end of the text, and returns a negative offset.
func (s *Scanner) unexpected(offset int, want string) int {
	if offset >= len(s.text) {
		s.fail(Truncated, len(s.text), "")
	} else {
		s.fail(Syntax, offset, want)
	}
	return -1
}

// badString notes what is wrong in a string, and returns a negative offset.
func (s *Scanner) badString(f Fault, offset int) int {
	switch f {
	case badEscape:
		return s.unexpected(offset, wantEscape)
	case badControl:
		return s.unexpected(offset, wantChar)
	}
	s.fail(f, offset, "")
	return -1
}
