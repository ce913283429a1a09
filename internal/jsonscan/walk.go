package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// container walks over the object or array that begins at i and returns where it ends, or a negative number having
// noted what is wrong. What is open is a stack of bits, so that no text makes it recurse or allocate.
func (s *Scanner) container(i int) int {
	var objects [(MaxDepth + 63) / 64]uint64 // by depth: is it an object?
	b := s.text
	depth := 0 // of what is open within the outermost value
	inObject := false
	for {
		// Here a value begins.
		if i == len(b) {
			return s.unexpected(i, wantValue)
		}
		switch c := b[i]; c {
		case '"':
			end, _, fault := scanString(b, i+1)
			if fault != 0 {
				return s.badString(fault, end)
			}
			i = end
		case '{', '[':
			if depth == MaxDepth-1 { // the container that the walk is in is one more
				s.fail(TooDeep, i, "")
				return -1
			}
			depth++
			if inObject = c == '{'; inObject {
				objects[depth>>6] |= 1 << (depth & 63)
			} else {
				objects[depth>>6] &^= 1 << (depth & 63)
			}
			i = space(b, i+1)
			if i < len(b) && b[i] == c+2 { // "{" and "}", "[" and "]" are two apart
				break
			}
			if inObject {
				if i = s.skipName(i); i < 0 {
					return i
				}
			}
			continue
		default:
			end, ok := scanScalar(b, i)
			if !ok {
				return s.unexpected(end, wantValue)
			}
			i = end
		}

		// Here one has ended: close what ends with it.
		for {
			i = space(b, i)
			closing := byte(']')
			if inObject {
				closing = '}'
			}
			if i == len(b) {
				return s.unexpected(i, wantValue)
			}
			if b[i] != closing {
				break
			}
			i++
			if depth--; depth == 0 {
				return i
			}
			inObject = objects[depth>>6]>>(depth&63)&1 != 0
		}
		if b[i] != ',' {
			closing := byte(']')
			if inObject {
				closing = '}'
			}
			return s.unexpected(i, wantAfter(closing))
		}
		i = space(b, i+1)
		if inObject {
			if i = s.skipName(i); i < 0 {
				return i
			}
		}
	}
}

// skipName walks over a member's name and its colon.
func (s *Scanner) skipName(i int) int {
	b := s.text
	if i == len(b) || b[i] != '"' {
		return s.unexpected(i, wantName)
	}
	end, _, fault := scanString(b, i+1)
	if fault != 0 {
		return s.badString(fault, end)
	}
	if i = space(b, end); i == len(b) || b[i] != ':' {
		return s.unexpected(i, wantColon)
	}
	return space(b, i+1)
}

// space returns where the white space that begins at i ends.
func space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, by their high bits, the bytes of a word that end a run of plain ones in a string: quotes, backslashes,
// control characters, and all that is not ASCII. The lowest mark is exact; a byte above a marked one may be marked for
// nothing, by a borrow. The other bits mean nothing.
//
// Flipping 0x02 makes 0x20 of the quote, 0x22 of the space, and leaves control characters below: one comparison with
// 0x21 finds both.
func special(x uint64) uint64 {
	return ((x ^ ones*0x02) - ones*0x21) | ((x ^ ones*'\\') - ones) | x
}

// plain returns where the run of plain bytes that begins at i ends, or a place within it less than two words before the
// end of the text. Two words a turn is what keeps the machine busy; the first one alone finds the end of most names.
func plain(b []byte, i int) int {
	if i >= 0 && i <= len(b)-8 {
		if m := special(binary.LittleEndian.Uint64(b[i:i+8])) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i >= 0 && i <= len(b)-16 {
		two := b[i : i+16 : i+16]
		m, n := special(binary.LittleEndian.Uint64(two)), special(binary.LittleEndian.Uint64(two[8:]))
		if (m|n)&highs != 0 {
			if m &= highs; m != 0 {
				return i + bits.TrailingZeros64(m)>>3
			}
			return i + 8 + bits.TrailingZeros64(n&highs)>>3
		}
		i += 16
	}
	return i
}

// scanString walks over a string from behind its opening quote to behind its closing one. With a fault, end is where
// that is.
func scanString(b []byte, i int) (end int, escaped bool, fault Fault) {
	for {
		i = plain(b, i)
		if i >= len(b) {
			return i, escaped, Truncated
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped, 0
		case c == '\\':
			escaped = true
			if i+1 < len(b) && isShortEscape(b[i+1]) {
				i += 2
				continue
			}
			n := escapeLen(b[i:])
			if n <= 0 {
				return i - n, escaped, badEscape
			}
			i += n
		case c < ' ':
			return i, escaped, badControl
		case c >= utf8.RuneSelf:
			var ok bool
			if i, ok = scanUTF8(b, i); !ok {
				return i, escaped, NotUTF8
			}
		default:
			i++
		}
	}
}

// isShortEscape reports whether c behind a backslash is a whole escape.
func isShortEscape(c byte) bool {
	const low = 1<<('"'-' ') | 1<<('/'-' ') | 1<<('\\'-' ')
	const high = 1<<('b'-'`') | 1<<('f'-'`') | 1<<('n'-'`') | 1<<('r'-'`') | 1<<('t'-'`')
	return (uint64(low)>>(c-' ')|uint64(high)>>(c-'`'))&1 != 0
}

// escapeLen returns how long the escape at the beginning of b is, or, negative, how far it is valid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return -len(b)
	}
	if isShortEscape(b[1]) {
		return 2
	}
	if b[1] == 'u' {
		for i := 2; i < 6; i++ {
			if i == len(b) || unhex(b[i]) > 0xf {
				return -i
			}
		}
		return 6
	}
	return -1
}

// unhex returns the value of a hexadecimal digit, or more than 15.
func unhex(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 16
}

// scanUTF8 walks over characters that are not ASCII, from the first byte of one. It returns where the first that is
// ASCII, or not UTF-8, begins.
func scanUTF8(b []byte, i int) (end int, ok bool) {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		if i+4 <= len(b) {
			// Most are of three bytes; those whose second byte is not further limited are E1 to EC, EE and EF.
			x := binary.LittleEndian.Uint32(b[i:])
			if lead := byte(x); x&0x00c0c0f0 == 0x008080e0 && lead != 0xe0 && lead != 0xed {
				i += 3
				continue
			}
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i, false
		}
		i += n
	}
	return i, true
}
