package gateway

import "strconv"

// serverBuffer is the HTTP server's write buffer in bytes: a chunk that fills it goes out in two writes or three, its
// framing in segments of their own.
const serverBuffer = 4096

// chunkFraming is the most that the framing of a piece of up to 4 GiB takes: eight digits and two line ends.
const chunkFraming = 8 + 2 + 2

// appendChunk frames a piece as one chunk (RFC 9112, section 7.1).
func appendChunk(dst, piece []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(len(piece)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, piece...)
	return append(dst, "\r\n"...)
}

// passLarge passes a piece on as one chunk in one write. The HTTP server has written the head by then, and holds back
// nothing.
func (x *exchange) passLarge(piece []byte) error {
	b, _ := x.gateway.chunks.Get().(*[]byte)
	if b == nil {
		b = new([]byte)
	}
	*b = appendChunk((*b)[:0], piece)
	_, err := x.ctx.Conn().Write(*b)
	x.gateway.chunks.Put(b)
	if err == nil {
		x.written += int64(len(piece))
	}
	return err
}
