package load

import (
	"time"
)

// Paced sends so many requests a second for a time, each at its moment whether or not others have been answered, and
// notes how long each waits for the first byte of its answer. It sends by turns on so many connections; a request whose
// connection is still busy when its moment comes waits from that moment on.
func Paced(t Target, r *Request, conns int, rate float64, d time.Duration) Result {
	apart := time.Duration(float64(conns) / rate * float64(time.Second)) // between two requests of one connection
	begin := time.Now().Add(50 * time.Millisecond)                       // when all are connected
	end := begin.Add(d)
	res := each(conns, func(i int, res *Result) {
		c, err := dial(t.Addr, readBuffer)
		if err != nil {
			res.fail(err)
			return
		}
		mine := r.copyFor()
		res.Waits = make([]time.Duration, 0, int(d/apart)+2)
		for at := begin.Add(apart * time.Duration(i) / time.Duration(conns)); at.Before(end); at = at.Add(apart) {
			from := at
			if early := time.Until(at); early > 0 {
				time.Sleep(early)
				from = time.Now() // the timer is late, not the answer
			}
			if err := c.timed(mine, end.Add(patience), from, res); err != nil {
				res.fail(err)
				if c, err = c.again(t.Addr); err != nil {
					return
				}
			}
		}
		_ = c.Close()
	})
	res.Elapsed = d
	return res
}

// timed is round that notes the time to the first byte.
func (c *conn) timed(r *Request, by, from time.Time, res *Result) error {
	if c.by != by {
		c.by = by
		if err := c.SetDeadline(by); err != nil {
			return err
		}
	}
	if err := r.send(c); err != nil {
		return err
	}
	if err := c.fill(); err != nil {
		return err
	}
	res.Waits = append(res.Waits, time.Since(from))
	return c.answer(res)
}
