package upstream

import "fmt"

// dechunker takes the chunked framing (RFC 9112, section 7.1) off a body, whatever the splits it arrives in. Trailer
// fields are read and dropped. The zero value stands before the first chunk.
type dechunker struct {
	state chunkState
	left  uint64 // bytes of the current chunk's data still to come; while the size is read, the size so far
	line  int    // bytes of the current framing line, to bound it
}

type chunkState uint8

const (
	chunkSizeFirst chunkState = iota // before the first digit of a size
	chunkSize                        // after at least one digit
	chunkExt                         // in an extension, skipped
	chunkSizeLF                      // after the CR of the size line
	chunkData
	chunkDataCR
	chunkDataLF
	trailerStart // at the start of a trailer line
	trailerLine
	trailerLF // after the CR inside a trailer line's end
	finalLF   // after the CR of the empty line
	chunkDone
)

const (
	maxChunkLine = 4 << 10  // a size line with its extensions
	maxTrailer   = 16 << 10 // the trailer section
	maxChunkSize = 1 << 48  // more than any body; keeps the sum from overflowing
)

// decode moves the payload in buf to its front and returns how long it is, how much of buf it has used, and whether
// the body is complete. It uses all of buf unless the body ends before.
func (d *dechunker) decode(buf []byte) (n, used int, done bool, err error) {
	for used < len(buf) {
		if d.state == chunkData {
			m := len(buf) - used
			if uint64(m) > d.left {
				m = int(d.left)
			}
			if n != used {
				copy(buf[n:], buf[used:used+m])
			}
			n, used, d.left = n+m, used+m, d.left-uint64(m)
			if d.left == 0 {
				d.state = chunkDataCR
			}
			continue
		}
		if err := d.step(buf[used]); err != nil {
			return n, used, false, err
		}
		used++
		if d.state == chunkDone {
			return n, used, true, nil
		}
	}
	return n, used, false, nil
}

// step reads one byte of framing.
func (d *dechunker) step(c byte) error {
	switch d.state {
	case chunkSizeFirst, chunkSize:
		if v, ok := hexDigit(c); ok {
			if d.left = d.left<<4 | uint64(v); d.left > maxChunkSize {
				return fmt.Errorf("%w: the chunk size is too large", ErrChunk)
			}
			d.state = chunkSize
			return d.grow(maxChunkLine)
		}
		switch {
		case d.state == chunkSizeFirst:
			return fmt.Errorf("%w: %q where a chunk size must begin", ErrChunk, c)
		case c == '\r':
			d.state = chunkSizeLF
		case c == ';' || c == ' ' || c == '\t':
			d.state = chunkExt
		default:
			return fmt.Errorf("%w: %q in a chunk size", ErrChunk, c)
		}
	case chunkExt:
		if c == '\n' {
			return fmt.Errorf("%w: a bare line feed", ErrChunk)
		}
		if c == '\r' {
			d.state = chunkSizeLF
		}
		return d.grow(maxChunkLine)
	case chunkSizeLF:
		if c != '\n' {
			return fmt.Errorf("%w: %q after a chunk size", ErrChunk, c)
		}
		if d.line = 0; d.left == 0 {
			d.state = trailerStart
		} else {
			d.state = chunkData
		}
	case chunkDataCR, chunkDataLF:
		if want := [...]byte{'\r', '\n'}[d.state-chunkDataCR]; c != want {
			return fmt.Errorf("%w: %q after the data of a chunk", ErrChunk, c)
		}
		if d.state++; d.state == trailerStart {
			d.state = chunkSizeFirst
		}
	default:
		return d.trailer(c)
	}
	return nil
}

func (d *dechunker) trailer(c byte) error {
	switch d.state {
	case trailerStart:
		if c == '\r' {
			d.state = finalLF
		} else {
			d.state = trailerLine
		}
	case trailerLine:
		if c == '\r' {
			d.state = trailerLF
		}
	case trailerLF:
		if c != '\n' {
			return fmt.Errorf("%w: %q at the end of a trailer line", ErrChunk, c)
		}
		d.state = trailerStart
	case finalLF:
		if c != '\n' {
			return fmt.Errorf("%w: %q at the end of the body", ErrChunk, c)
		}
		d.state = chunkDone
	}
	return d.grow(maxTrailer)
}

// grow counts a byte of framing against a limit.
func (d *dechunker) grow(limit int) error {
	if d.line++; d.line > limit {
		return fmt.Errorf("%w: more than %d bytes of framing", ErrChunk, limit)
	}
	return nil
}

func hexDigit(c byte) (v byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return (c | 0x20) - 'a' + 10, true
	}
	return 0, false
}
