package openai

import (
	"bytes"
	"unicode/utf8"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// lines writes labelled texts line by line through a window: of all that is written, the first skip bytes are left out,
// and no more than limit bytes behind these are taken. A window without a limit only measures.
type lines struct {
	dst   []byte
	from  int // where in dst the window begins
	skip  int
	limit int

	n       int    // bytes written so far, in the window or not
	lead    int    // bytes left out at the beginning of the window, for being the rest of a character
	label   string // of the last line
	atSkip  string // the label of the line in which the window begins
	run     run
	marking bool // ";base64," came right before
}

// run is the run of base64 characters that a text ends with.
type run struct {
	from    int     // where it began
	len     int     // bytes; those of the text, not of what is written for it
	word    [6]byte // the first of them
	before  byte    // what stood before it
	dropped bool    // it has been replaced by the marker
}

const (
	// longRun is from which length on an unbroken run of base64 characters is data and not text, in bytes. Words, paths,
	// digests and most keys are shorter.
	longRun = 256
	marker  = "[data]"
)

// window begins to write at the end of dst.
func window(dst []byte, skip, limit int) lines {
	return lines{dst: dst, from: len(dst), skip: skip, limit: limit}
}

// line writes a text under a label. Texts that follow each other under the same label share it.
func (w *lines) line(label string, quoted []byte) {
	if len(quoted) <= len(`""`) {
		return
	}
	if w.n > 0 {
		w.put([]byte{'\n'})
	}
	if w.n <= w.skip {
		w.atSkip = label
	}
	if w.label != label {
		w.label = label
		// A label is left out whole or not at all.
		if until := w.n + len(label) + 2; w.n < w.skip && w.skip < until {
			w.skip = until
		}
		w.putString(label)
		w.putString(": ")
	}
	w.run, w.marking = run{}, false
	p := jsonscan.PiecesOf(quoted)
	for piece := p.Next(); piece != nil; piece = p.Next() {
		w.text(piece)
	}
}

// text writes a piece of a text, with the data in it replaced by the marker. Chunks shorter than a long run can only
// begin, go on or end one, so their middle is copied as it is.
func (w *lines) text(piece []byte) {
	for len(piece) > 0 {
		chunk := piece[:min(len(piece), longRun-1)]
		piece = piece[len(chunk):]

		head := 0
		for head < len(chunk) && isBase64[chunk[head]] {
			head++
		}
		if w.run.len > 0 || w.marking || head == len(chunk) {
			w.words(chunk[:head])
			chunk = chunk[head:]
		}
		if len(chunk) == 0 {
			continue
		}
		if w.run.len == len(w.run.word) && chunk[0] == ',' || bytes.Contains(chunk, []byte("64,")) {
			w.words(chunk) // there may be a ";base64,"
			continue
		}
		tail := len(chunk)
		for isBase64[chunk[tail-1]] { // not all of them are: else it would all have been the head
			tail--
		}
		w.between(chunk[:tail])
		w.words(chunk[tail:])
	}
}

// words writes a piece word by word.
func (w *lines) words(piece []byte) {
	for len(piece) > 0 {
		n := 0
		for n < len(piece) && isBase64[piece[n]] {
			n++
		}
		if n > 0 {
			w.data(piece[:n])
			piece = piece[n:]
		}
		n = 0
		for n < len(piece) && !isBase64[piece[n]] {
			n++
		}
		if n > 0 {
			w.between(piece[:n])
			piece = piece[n:]
		}
	}
}

// isBase64 is the characters of base64, in both of its alphabets (RFC 4648).
var isBase64 = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=") {
		set[c] = true
	}
	return set
}()

// data writes characters of base64, which most words consist of.
func (w *lines) data(b []byte) {
	r := &w.run
	if r.len == 0 {
		r.from = w.n
	}
	if r.len < len(r.word) {
		copy(r.word[r.len:], b)
	}
	r.len += len(b)
	switch {
	case r.dropped:
	case r.len >= longRun || w.marking:
		w.back(r.from)
		w.putString(marker)
		r.dropped = true
	default:
		w.put(b)
	}
}

// between writes what is not of base64, and what of it stands among that.
func (w *lines) between(b []byte) {
	r := &w.run
	w.marking = r.before == ';' && r.len == len(r.word) && bytes.EqualFold(r.word[:], []byte("base64")) &&
		len(b) == 1 && b[0] == ','
	*r = run{before: b[len(b)-1]}
	w.put(b)
}

func (w *lines) putString(s string) {
	var buf [16]byte
	for s != "" {
		n := copy(buf[:], s)
		w.put(buf[:n])
		s = s[n:]
	}
}

// put writes whole characters.
func (w *lines) put(b []byte) {
	at := w.n
	w.n += len(b)
	from, until := max(at, w.skip), min(w.n, w.skip+w.limit)
	if from >= until {
		return
	}
	if from == w.skip {
		for from > at && from < until && !utf8.RuneStart(b[from-at]) {
			from++
			w.lead++
		}
	}
	w.dst = append(w.dst, b[from-at:until-at]...)
}

// back takes back what has been written from a place on.
func (w *lines) back(to int) {
	w.n = to
	seen := to - w.skip - w.lead
	if seen <= 0 {
		w.lead, seen = 0, 0
	}
	if until := w.from + seen; until < len(w.dst) {
		w.dst = w.dst[:until]
	}
}

// done returns what has been written. If the limit fell inside a character, what there is of it is taken off.
func (w *lines) done() []byte {
	if w.n <= w.skip+w.limit {
		return w.dst
	}
	for i := len(w.dst) - 1; i >= w.from && i >= len(w.dst)-utf8.UTFMax; i-- {
		if utf8.RuneStart(w.dst[i]) {
			if !utf8.FullRune(w.dst[i:]) {
				w.dst = w.dst[:i]
			}
			break
		}
	}
	return w.dst
}
