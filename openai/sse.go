package openai

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// MaxEvent is the largest event of a stream whose data is looked at, in bytes of its lines.
const MaxEvent = 64 << 10

// Event is one event of a stream (WHATWG HTML, section 9.2.6). Its slices live until the Events that found it are asked
// for the next one, and no longer than the piece it was found in.
type Event struct {
	Name      []byte // of its "event" line, empty if there is none
	Data      []byte // of its "data" lines, joined by line feeds; nil if there is none
	Oversized bool   // longer than MaxEvent: that it was is all that is known of it
}

// Events finds the events in the pieces in which a stream comes. However a stream is cut into pieces, it finds the same.
// Lines end in LF, CRLF or CR; comments and blocks that name no event and hold no data are passed over. The zero value
// stands at the beginning of a stream. It keeps no more than MaxEvent bytes, and those of an unfinished event only.
type Events struct {
	line    []byte // the beginning of the line at hand, from earlier pieces
	name    []byte
	data    []byte // of the event at hand: a part of the piece, or of buf
	buf     []byte
	size    int  // bytes of the event's lines so far
	owned   bool // data is in buf
	hasData bool
	inLine  bool // some of the line at hand has come
	inside  bool // a line of the event at hand has come
	over    bool // the event at hand is longer than MaxEvent
	found   bool // the event at hand has been given out

	begun   bool // the first line has ended: no byte order mark may follow
	afterCR bool // a LF that comes next belongs to the line end before it
	crlf    bool // there has been a line that ended in CRLF
}

// Reset makes the events ready for another stream. It keeps its memory up to a bound and nothing else.
func (s *Events) Reset() {
	line, buf := s.line[:0], s.buf[:0]
	if cap(line) > keepBytes {
		line = nil
	}
	if cap(buf) > keepBytes {
		buf = nil
	}
	*s = Events{line: line, buf: buf}
}

// Next reads a piece up to the end of the next event. It returns how much of the piece that is; ok is false if the piece
// has been read to its end without one.
func (s *Events) Next(piece []byte) (n int, e Event, ok bool) {
	s.forget()
	if s.afterCR && len(piece) > 0 {
		s.afterCR = false
		if piece[0] == '\n' {
			n, s.crlf = 1, true
		}
	}
	for n < len(piece) {
		rest := piece[n:]
		i := lineEnd(rest)
		if i < 0 {
			n = len(piece)
			s.begin(rest)
			break
		}
		n += i + 1
		if rest[i] == '\r' {
			if s.afterCR = n == len(piece); !s.afterCR && piece[n] == '\n' {
				n, s.crlf = n+1, true
			}
		}
		if s.endLine(rest[:i]) {
			return n, s.event(), true
		}
	}
	s.own()
	return n, Event{}, false
}

// End returns the event that the stream has ended in: standards drop one that no empty line closes, but what it says has
// been said.
func (s *Events) End() (Event, bool) {
	s.forget()
	if s.inLine && s.endLine(nil) || s.inside && s.endBlock() {
		return s.event(), true
	}
	return Event{}, false
}

// Between reports whether the stream stands between two events, so that another one may be put in there.
func (s *Events) Between() bool {
	return (s.found || !s.inside) && !s.inLine && (!s.afterCR || !s.crlf)
}

func (s *Events) event() Event {
	s.found = true
	if s.over {
		return Event{Oversized: true}
	}
	e := Event{Name: s.name}
	if s.hasData {
		e.Data = s.data[:len(s.data):len(s.data)]
		if e.Data == nil {
			e.Data = []byte{}
		}
	}
	return e
}

// keepEvent is the most memory that outlives an event, in bytes: a stream holds it as long as it lasts.
const keepEvent = 4 << 10

// forget makes ready for the next event when the last one has been given out.
func (s *Events) forget() {
	if !s.found {
		return
	}
	s.clear()
}

func (s *Events) clear() {
	s.name, s.data, s.buf, s.line = kept(s.name), nil, kept(s.buf), kept(s.line)
	s.size, s.owned, s.hasData, s.inside, s.over, s.found = 0, false, false, false, false, false
}

func kept(b []byte) []byte {
	if cap(b) > keepEvent {
		return nil
	}
	return b[:0]
}

// begin keeps the beginning of a line whose end is still to come.
func (s *Events) begin(b []byte) {
	s.inLine = true
	if s.fits(len(b)) {
		s.line = append(s.line, b...)
	}
}

// fits counts bytes of the event at hand, and reports whether it is still short enough.
func (s *Events) fits(n int) bool {
	if s.size += n; s.size > MaxEvent && !s.over {
		s.over = true
		s.name, s.data, s.buf, s.line = nil, nil, nil, nil
	}
	return !s.over
}

// own takes data out of the piece, which is about to go.
func (s *Events) own() {
	if s.hasData && !s.owned {
		s.buf = append(s.buf[:0], s.data...)
		s.data, s.owned = s.buf, true
	}
}

// endLine reads a line, of which end is what this piece has of it. It returns true if the line completes an event.
func (s *Events) endLine(end []byte) bool {
	line, split := end, s.inLine
	if s.fits(len(end)) && split {
		s.line = append(s.line, end...)
		line = s.line
	}
	empty := len(line) == 0 && !split
	if !s.begun && !s.over {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		empty = len(line) == 0
	}
	s.begun, s.inLine = true, false
	if empty {
		return s.endBlock()
	}
	s.inside = true
	if !s.over {
		s.field(line, split)
		s.line = s.line[:0]
	}
	return false
}

// endBlock ends what an empty line ends, and returns true if that is an event.
func (s *Events) endBlock() bool {
	if s.over || s.hasData || len(s.name) > 0 {
		return true
	}
	s.clear()
	return false
}

// field reads a line that is not empty. Of a split line the memory is used again.
func (s *Events) field(line []byte, split bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		s.name = append(s.name[:0], value...)
	case "data":
		if !s.hasData && !split {
			s.data, s.owned = value, false
		} else {
			s.own()
			s.buf = s.buf[:len(s.data)]
			if s.hasData {
				s.buf = append(s.buf, '\n')
			}
			s.buf = append(s.buf, value...)
			s.data, s.owned = s.buf, true
		}
		s.hasData = true
	}
}

// lineEnd returns where the first CR or LF of b is, negative if there is none.
func lineEnd(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i <= len(b)-8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i : i+8])
		lf, cr := x^ones*'\n', x^ones*'\r'
		// The lowest mark is exact: a borrow only reaches bytes above one that is zero.
		if m := ((lf - ones) &^ lf & highs) | ((cr - ones) &^ cr & highs); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' {
			return i
		}
	}
	return -1
}
