package engine

import (
	"net"
	"time"
)

// writer writes answers to a connection.
type writer struct {
	conn    net.Conn
	answers *answers
	buf     []byte
	gone    chan struct{} // of a connection that is watched: closed with it
}

// write answers as the order says, and reports whether another request may follow.
func (w *writer) write(o Order) bool {
	if !w.wait(o.First) {
		return false
	}
	if o.Events != 0 {
		return w.stream(o)
	}
	p := w.answers.of(o.Bytes)
	if o.Half {
		_, _ = w.conn.Write(p.text[:p.half]) // a failure shows as the connection's end
		return w.wait(-1)
	}
	_, err := w.conn.Write(p.text)
	return err == nil
}

// stream writes events. The head goes out with the first, as engines do it that wait for their first token.
func (w *writer) stream(o Order) bool {
	begun := time.Now()
	for i := 0; i != o.Events; i++ {
		if i > 0 && o.Every > 0 && !w.wait(max(0, time.Until(begun.Add(time.Duration(i)*o.Every)))) {
			return false
		}
		if w.buf = w.buf[:0]; i == 0 {
			w.buf = append(w.buf, streamHead...)
		}
		w.buf = appendEvent(w.buf, i, time.Now())
		if _, err := w.conn.Write(w.buf); err != nil {
			return false
		}
	}
	w.buf = append(appendChunk(w.buf[:0], streamEnd), "0\r\n\r\n"...)
	_, err := w.conn.Write(w.buf)
	return err == nil
}

// wait waits, less than 0 for ever; it returns false if the connection is known to have ended first. One that is not
// watched is noticed by the next write.
func (w *writer) wait(d time.Duration) bool {
	switch {
	case d == 0:
		return true
	case d < 0:
		w.untilGone()
		return false
	case w.gone == nil:
		time.Sleep(d)
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-w.gone:
		return false
	case <-t.C:
		return true
	}
}

// untilGone waits for the end of the connection.
func (w *writer) untilGone() {
	if w.gone != nil {
		<-w.gone
		return
	}
	var one [1]byte
	_, _ = w.conn.Read(one[:]) // however it ends
}
