package openai

// append chooses what of the texts fits into limit bytes, and appends it. Each source takes its own bytes and the one of
// the line end that parts it from the next.
func (t *task) append(dst, body []byte, limit int) []byte {
	start := len(dst)
	var system lines
	t.writeSystem(&system, body)
	systemLen := system.n
	f := t.fit(body, systemLen, limit)
	if !f.whole {
		systemLen = min(systemLen, limit/4)
		f = t.fit(body, systemLen, limit)
	}
	if systemLen > 0 {
		w := window(dst, 0, systemLen)
		t.writeSystem(&w, body)
		dst = w.done()
	}
	if !f.whole {
		dst = t.appendEnd(dst, body, start, f)
	}
	for i := f.turns - 1; i >= 0; i-- {
		dst = t.appendTurn(dst, body, start, i, 0, limit)
	}
	return dst
}

// fitting is which turns fit: the newest ones, whole, and some of one more.
type fitting struct {
	turns int
	room  int // for the end of the next turn
	next  int // how long that one is
	whole bool
}

// fit finds how many of the newest turns fit beside system text of the given length.
func (t *task) fit(body []byte, systemLen, limit int) fitting {
	f := fitting{room: limit - systemLen}
	if systemLen > 0 {
		f.room--
	}
	for f.turns < len(t.turns) {
		if f.next = t.turn(f.turns).measured(body); f.next > f.room {
			return f
		}
		if f.next > 0 {
			f.room -= f.next + 1
		}
		f.turns++
	}
	f.whole = systemLen <= limit
	return f
}

// measured returns how many bytes the lines of a source take.
func (s *source) measured(body []byte) int {
	if s.size == 0 {
		var measure lines
		s.write(&measure, body)
		s.size = measure.n + 1
	}
	return s.size - 1
}

func (t *task) writeSystem(w *lines, body []byte) {
	for i := range t.system {
		t.system[i].write(w, body)
	}
}

// appendTurn appends what a window shows of a turn.
func (t *task) appendTurn(dst, body []byte, start, turn, skip, limit int) []byte {
	before := len(dst)
	if before > start {
		dst = append(dst, '\n')
	}
	w := window(dst, skip, limit)
	t.turn(turn).write(&w, body)
	if dst = w.done(); len(dst) == w.from {
		return dst[:before]
	}
	return dst
}

const (
	omitted = ": ..."                         // behind the label of a turn that has lost its beginning
	prefix  = len("assistant") + len(omitted) // how long that gets at most
)

// appendEnd appends the end of the turn that did not fit. An older turn of which next to nothing is left is left out.
func (t *task) appendEnd(dst, body []byte, start int, f fitting) []byte {
	if f.room <= 0 {
		return dst
	}
	if f.room < 2*prefix {
		if f.turns > 0 {
			return dst
		}
		return t.appendTurn(dst, body, start, f.turns, f.next-f.room, f.room)
	}
	limit := f.room - prefix
	skip := f.next - limit
	measure := window(nil, skip, 0)
	t.turn(f.turns).write(&measure, body)
	if len(dst) > start {
		dst = append(dst, '\n')
	}
	dst = append(append(dst, measure.atSkip...), omitted...)
	w := window(dst, skip, limit)
	t.turn(f.turns).write(&w, body)
	return w.done()
}
