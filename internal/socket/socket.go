// Package socket does on a TCP connection in one go what takes net.Conn's methods several system calls: beside those, a
// proxy that reads and writes small messages does little that costs. Where there is no way below net.Conn, For returns
// nil, and the methods of a nil *Socket that say so in their comments may be called.
package socket

import (
	"errors"
	"sync"
)

// ErrNotQuiet is returned by Ask when something had come before it was asked for.
var ErrNotQuiet = errors.New("the other end had closed the connection, or sent what nobody had asked for")

// BufferSize is the size of a Buffer, in bytes: the heads of most requests fit, and small requests as a whole.
const BufferSize = 4 << 10

// Buffer is what Receive reads into.
type Buffer [BufferSize]byte

// Buffers lends buffers to those who have something to put into them. The zero value is ready.
type Buffers struct{ pool sync.Pool }

func (b *Buffers) get() *Buffer {
	if buf, ok := b.pool.Get().(*Buffer); ok {
		return buf
	}
	return new(Buffer)
}

// Put gives a buffer back, for others to use.
func (b *Buffers) Put(buf *Buffer) { b.pool.Put(buf) }
