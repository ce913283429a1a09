package jsontree

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// literal reads a number, true, false or null.
func (p *parser) literal(v *Value, t *trail) bool {
	start := p.at
	for p.at < len(p.text) && wordByte(p.text[p.at]) {
		p.at++
	}
	v.Text = string(p.text[start:p.at])
	switch v.Text {
	case "null":
		v.Kind = Null
	case "true", "false":
		v.Kind = Bool
	case "":
		p.problemf(t, start, "has %s where a value is expected", p.here())
		return false
	default:
		if !number(v.Text) {
			p.problemf(t, start, "%s is not JSON: no number, true, false or null, and strings are written in double quotes", shownWord(v.Text))
			return false
		}
		v.Kind = Number
	}
	return true
}

// words are what people write for something that JSON writes otherwise.
var words = []string{"true", "false", "null", "nil", "none", "undefined", "nan", "inf", "infinity", "yes", "no", "on", "off"}

// shownWord returns how a message names a word that is none of JSON: as it is if it may be meant for a number, or is one
// of those that people write for another. Anything else may be a secret that lacks its quotes.
func shownWord(word string) string {
	shown := len(word) <= 20 && strings.Trim(word, "0123456789+-._eExX") == ""
	for _, known := range words {
		shown = shown || strings.EqualFold(known, strings.TrimLeft(word, "+-"))
	}
	if shown {
		return strconv.Quote(word)
	}
	return "a word"
}

func wordByte(c byte) bool {
	return c == '-' || c == '+' || c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// number reports whether s is a number of JSON (RFC 8259, section 6).
func number(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	whole := digits(s)
	if whole == 0 || (whole > 1 && s[0] == '0') {
		return false
	}
	s = s[whole:]
	if s != "" && s[0] == '.' {
		fraction := digits(s[1:])
		if fraction == 0 {
			return false
		}
		s = s[1+fraction:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		exponent := digits(s)
		return exponent > 0 && exponent == len(s)
	}
	return s == ""
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// str reads the string that begins here, with its quotation marks.
func (p *parser) str(t *trail) (string, bool) {
	start := p.at
	p.at++
	var out []byte // what the string is, as far as from; made only if it has escapes
	from := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			rest := p.text[from:p.at]
			if out != nil {
				rest = append(out, rest...)
			}
			p.at++
			if !utf8.Valid(rest) {
				p.problemf(t, start, "holds a string that is not UTF-8")
			}
			return string(rest), true
		case c == '\\':
			out = append(out, p.text[from:p.at]...)
			var ok bool
			if out, ok = p.escape(out, t); !ok {
				return "", false
			}
			from = p.at
		case c < ' ':
			if c == '\n' || c == '\r' {
				p.problemf(t, start, "holds a string that does not end on its line")
				return "", false
			}
			p.problemf(t, p.at, "holds a string with a control character, which is to be written \\u%04x", c)
			p.at++
		default:
			p.at++
		}
	}
	p.problemf(t, start, "holds a string that does not end")
	return "", false
}

const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// escape reads an escape sequence and appends what it stands for.
func (p *parser) escape(out []byte, t *trail) ([]byte, bool) {
	start := p.at
	p.at++
	if p.at < len(p.text) {
		if i := strings.IndexByte(escapes, p.text[p.at]); i >= 0 {
			p.at++
			return append(out, escaped[i]), true
		}
		if p.text[p.at] == 'u' {
			if r, ok := p.unicode(); ok {
				return utf8.AppendRune(out, r), true
			}
		}
	}
	length := 2
	if start+1 < len(p.text) && p.text[start+1] == 'u' {
		length = 6
	}
	end := min(len(p.text), start+length) // and no more, since it may be a secret
	p.problemf(t, start, `holds a string with the escape %q, which JSON does not know (a backslash is written \\)`, p.text[start:end])
	return nil, false
}

// unicode reads what follows a backslash: u and four digits, twice for a surrogate pair. Half a pair is none.
func (p *parser) unicode() (rune, bool) {
	r, ok := p.hex(p.at)
	if !ok {
		return 0, false
	}
	p.at += 5
	if !utf16.IsSurrogate(r) {
		return r, true
	}
	if p.at < len(p.text) && p.text[p.at] == '\\' {
		if low, ok := p.hex(p.at + 1); ok {
			p.at += 6
			r = utf16.DecodeRune(r, low)
			return r, r != utf8.RuneError
		}
	}
	return 0, false
}

// hex returns the value of the u and four digits at an offset.
func (p *parser) hex(at int) (rune, bool) {
	if at+5 > len(p.text) || p.text[at] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.text[at+1 : at+5] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
