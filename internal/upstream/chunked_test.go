package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strings"
	"testing"
)

// dechunk feeds a body in pieces of the given size.
func dechunk(body string, piece int) (payload string, rest int, done bool, err error) {
	var d dechunker
	var out bytes.Buffer
	for in := []byte(body); len(in) > 0 && !done; {
		p := bytes.Clone(in[:min(piece, len(in))])
		var n, used int
		n, used, done, err = d.decode(p)
		out.Write(p[:n])
		if err != nil {
			return out.String(), len(in) - used, done, err
		}
		in = in[used:]
		rest = len(in)
	}
	return out.String(), rest, done, err
}

func TestDechunk(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string
		rest       int
		done       bool
	}{
		"empty":               {"0\r\n\r\n", "", 0, true},
		"one":                 {"5\r\nhello\r\n0\r\n\r\n", "hello", 0, true},
		"two, upper case hex": {"A\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n", "0123456789x", 0, true},
		"extension":           {"5;a=b;c=\"d\"\r\nhello\r\n0;last\r\n\r\n", "hello", 0, true},
		"trailer":             {"1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n", "x", 0, true},
		"leading zeros":       {"0005\r\nhello\r\n000\r\n\r\n", "hello", 0, true},
		"bytes behind":        {"1\r\nx\r\n0\r\n\r\nHTTP/1.1", "x", 8, true},
		"cut in the data":     {"5\r\nhel", "hel", 0, false},
		"cut before the end":  {"5\r\nhello\r\n", "hello", 0, false},
		"framing as payload":  {"7\r\n0\r\n\r\n5\r\r\n0\r\n\r\n", "0\r\n\r\n5\r", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			for piece := 1; piece <= len(c.body); piece++ {
				got, rest, done, err := dechunk(c.body, piece)
				if err != nil || got != c.want || done != c.done || done && piece == len(c.body) && rest != c.rest {
					t.Fatalf("pieces of %d: got %q, rest %d, done %v, error %v", piece, got, rest, done, err)
				}
			}
		})
	}
}

func TestDechunkRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"no size":            "\r\nhello",
		"not hex":            "5g\r\nhello",
		"negative":           "-1\r\nx",
		"prefix":             "0x5\r\nhello",
		"bare LF":            "5\nhello\r\n",
		"LF in an extension": "5;a\nb\r\nhello",
		"data too long":      "5\r\nhello!\r\n0\r\n\r\n",
		"no LF after data":   "5\r\nhello\rx",
		"size overflows":     "fffffffffffffffff\r\n",
		"endless size":       strings.Repeat("0", maxChunkLine+1),
		"endless extension":  "1;" + strings.Repeat("a", maxChunkLine+1),
		"endless trailer":    "0\r\n" + strings.Repeat("a: b\r\n", maxTrailer),
		"CR in a trailer":    "0\r\na\rb\r\n\r\n",
		"junk after last CR": "0\r\n\rx",
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{1, 7, len(body)} {
				if _, _, _, err := dechunk(body, piece); !errors.Is(err, ErrChunk) {
					t.Fatalf("pieces of %d: error %v", piece, err)
				}
			}
		})
	}
}

// FuzzDechunk compares with the standard library's reader: what both take must be the same, whatever the split.
func FuzzDechunk(f *testing.F) {
	f.Add("5\r\nhello\r\n0\r\n\r\n", 3)
	f.Add("a;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n", 1)
	f.Add("0\r\n\r\n", 5)
	f.Fuzz(func(t *testing.T, body string, piece int) {
		if piece < 1 {
			piece = 1
		}
		got, _, done, err := dechunk(body, piece)
		again, _, doneAgain, errAgain := dechunk(body, len(body)+1)
		if got != again || done != doneAgain || (err == nil) != (errAgain == nil) {
			t.Fatalf("the split matters: %q %v %v, in one piece %q %v %v", got, done, err, again, doneAgain, errAgain)
		}
		if !done {
			return
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(body)))
		if err == nil && string(want) != got {
			t.Fatalf("got %q, the standard library reads %q", got, want)
		}
	})
}

func BenchmarkDechunkEvents(b *testing.B) {
	event := "data: " + strings.Repeat("x", 150) + "\n\n"
	var body bytes.Buffer
	for range 20 {
		fmt.Fprintf(&body, "%x\r\n%s\r\n", len(event), event)
	}
	buf := make([]byte, body.Len())
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		copy(buf, body.Bytes())
		var d dechunker
		if _, _, _, err := d.decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}
