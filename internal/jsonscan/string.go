package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
func AppendQuoted[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	from := 0 // of what is copied as it is
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = decodeRune(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscaped(dst, c)
		i += size
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// decodeRune is utf8.DecodeRune for both forms of text.
func decodeRune[S string | []byte](s S) (rune, int) {
	var b [utf8.UTFMax]byte
	return utf8.DecodeRune(b[:copy(b[:], s)])
}

// appendEscaped appends the escape of a byte that can't stand in a string as it is.
func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c >= utf8.RuneSelf {
		return append(dst, "\uFFFD"...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// Pieces reads the content of a JSON string piece by piece, so that none of it has to be copied.
type Pieces struct {
	rest []byte
	char [utf8.UTFMax]byte
}

// PiecesOf begins to read a string that a Scanner has given out, quotes and all.
func PiecesOf(quoted []byte) Pieces {
	if len(quoted) < 2 {
		return Pieces{}
	}
	return Pieces{rest: quoted[1 : len(quoted)-1]}
}

// Next returns the next piece: a run without escapes, or what one escape stands for, which is overwritten by the next
// call. It is nil at the end.
func (p *Pieces) Next() []byte {
	if len(p.rest) == 0 {
		return nil
	}
	n := bytes.IndexByte(p.rest, '\\')
	if n < 0 {
		n = len(p.rest)
	}
	if n > 0 {
		piece := p.rest[:n]
		p.rest = p.rest[n:]
		return piece
	}
	r, n := unescape(p.rest)
	p.rest = p.rest[n:]
	return p.char[:utf8.EncodeRune(p.char[:], r)]
}

// unescape returns the character that the escape at the beginning of b stands for, and how long that is. A surrogate
// without its other half is U+FFFD, and so is what is no escape.
func unescape(b []byte) (r rune, size int) {
	if len(b) < 2 {
		return utf8.RuneError, len(b)
	}
	switch c := b[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	r, ok := codeUnit(b)
	if !ok {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(r) {
		if low, ok := codeUnit(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// codeUnit returns the UTF-16 code unit of a \u escape.
func codeUnit(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		v := unhex(c)
		if v > 0xf {
			return 0, false
		}
		r = r<<4 | v
	}
	return r, true
}

// AppendUnquoted appends the content of a string that a Scanner has given out.
func AppendUnquoted(dst, quoted []byte) []byte {
	p := PiecesOf(quoted)
	for piece := p.Next(); piece != nil; piece = p.Next() {
		dst = append(dst, piece...)
	}
	return dst
}

// Equal reports whether the content of a string that a Scanner has given out is s.
func Equal(quoted []byte, s string) bool {
	p := PiecesOf(quoted)
	for piece := p.Next(); piece != nil; piece = p.Next() {
		if len(piece) > len(s) || string(piece) != s[:len(piece)] {
			return false
		}
		s = s[len(piece):]
	}
	return s == ""
}
