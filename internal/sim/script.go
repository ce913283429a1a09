package sim

import (
	"bytes"
	"compress/gzip"
)

// script is an answer before it is sent: its head, and its body in the pieces in which it is to be sent.
type script struct {
	status int
	ctype  string
	fields []Field
	stream bool // the pieces are events
	buf    []byte
	pieces []piece
	tokens int // of a whole answer: words to wait for
	ended  bool
}

// piece is a part of a body that is sent at once, after a pause.
type piece struct {
	end   int // in the script's buf
	pause pause
}

type pause uint8

const (
	atOnce       pause = iota
	firstToken         // after the prefill
	betweenToken       // after a word
)

func (s *script) reset() {
	*s = script{status: 200, ctype: "application/json", buf: s.buf[:0], pieces: s.pieces[:0]}
}

// begin is where the piece begins that comes next.
func (s *script) begin() int {
	if n := len(s.pieces); n > 0 {
		return s.pieces[n-1].end
	}
	return 0
}

// put ends a piece.
func (s *script) put(p pause) {
	if len(s.buf) > s.begin() {
		s.pieces = append(s.pieces, piece{len(s.buf), p})
	}
}

// piece returns the bytes of the i-th piece.
func (s *script) piece(i int) []byte {
	from := 0
	if i > 0 {
		from = s.pieces[i-1].end
	}
	return s.buf[from:s.pieces[i].end]
}

// splitEvents cuts a ready-made stream after its blank lines.
func (s *script) splitEvents() {
	body := s.buf
	for from := 0; from < len(body); {
		end := len(body)
		if i := bytes.Index(body[from:], []byte("\n\n")); i >= 0 {
			end = from + i + 2
		}
		p := betweenToken
		if from == 0 {
			p = firstToken
		}
		s.pieces = append(s.pieces, piece{end, p})
		from = end
	}
}

// compress compresses each piece by itself, so that a stream can be read as it comes.
func (s *script) compress() {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	ends := make([]int, len(s.pieces))
	for i := range s.pieces {
		_, _ = z.Write(s.piece(i)) // a buffer takes everything
		if i < len(s.pieces)-1 {
			_ = z.Flush()
		} else {
			_ = z.Close()
		}
		ends[i] = out.Len()
	}
	s.buf = out.Bytes()
	for i, end := range ends {
		s.pieces[i].end = end
	}
}
