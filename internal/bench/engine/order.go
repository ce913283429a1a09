package engine

import (
	"strconv"
	"time"
)

// Header is the request header that says how the engine is to answer. A proxy that passes unknown headers on passes it,
// and the engine need not look at the body.
const Header = "X-Bench"

// Order is how the engine is to answer one request. The zero value is a JSON answer of the smallest size, at once.
type Order struct {
	Bytes  int           // length of a plain answer's body; a small one is filled up to what its JSON takes
	Events int           // a stream of so many events instead; less than 0: without an end
	Every  time.Duration // between the events; 0 is one burst, a write each
	First  time.Duration // before the first byte of the answer; less than 0: it never comes
	Half   bool          // a plain answer stops in the middle of its body
	Watch  int           // if not 0, the end of the connection is told under this number
}

// Append appends the header's value.
func (o Order) Append(dst []byte) []byte {
	half := int64(0)
	if o.Half {
		half = 1
	}
	for i, n := range [...]int64{int64(o.Bytes), int64(o.Events), int64(o.Every), int64(o.First), half, int64(o.Watch)} {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	return dst
}

// parseOrder reads what Append has written; what is missing or no number is 0.
func parseOrder(value []byte) Order {
	var n [6]int64
	field, negative := 0, false
	for _, c := range value {
		switch {
		case c == ' ':
			if negative {
				n[field] = -n[field]
			}
			if field, negative = field+1, false; field == len(n) {
				return order(n)
			}
		case c == '-':
			negative = true
		case '0' <= c && c <= '9':
			n[field] = 10*n[field] + int64(c-'0')
		}
	}
	if negative {
		n[field] = -n[field]
	}
	return order(n)
}

func order(n [6]int64) Order {
	return Order{Bytes: int(n[0]), Events: int(n[1]), Every: time.Duration(n[2]), First: time.Duration(n[3]), Half: n[4] != 0, Watch: int(n[5])}
}
