package jsonscan

// scanScalar walks over a number or one of the three literals. If there is none, end is the byte at fault.
func scanScalar(b []byte, i int) (end int, ok bool) {
	switch b[i] {
	case 't':
		return scanLiteral(b, i, "true")
	case 'f':
		return scanLiteral(b, i, "false")
	case 'n':
		return scanLiteral(b, i, "null")
	}
	return scanNumber(b, i)
}

func scanLiteral(b []byte, i int, literal string) (end int, ok bool) {
	for j := range len(literal) {
		if i+j == len(b) || b[i+j] != literal[j] {
			return i + j, false
		}
	}
	return i + len(literal), true
}

func scanNumber(b []byte, i int) (end int, ok bool) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++ // and no digit may follow: whatever comes next is not a part of a number
	} else if i, ok = digits(b, i); !ok {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		if i, ok = digits(b, i+1); !ok {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i, ok = digits(b, i); !ok {
			return i, false
		}
	}
	return i, true
}

// digits walks over one digit or more.
func digits(b []byte, i int) (end int, ok bool) {
	from := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i, i > from
}
