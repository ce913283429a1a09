package load

// Held are connections that have had an answer and rest.
type Held struct{ all []*conn }

// Hold opens so many connections, one after the other, and has one request answered on each.
func Hold(t Target, r *Request, n int) (*Held, error) {
	h := &Held{}
	if err := h.More(t, r, n); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// More adds so many.
func (h *Held) More(t Target, r *Request, n int) error {
	mine := r.copyFor()
	for range n {
		c, err := dial(t.Addr, streamBuffer)
		if err != nil {
			return err
		}
		h.all = append(h.all, c)
		var res Result
		if err := mine.send(c); err != nil {
			return err
		}
		if err := c.answer(&res); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the connections.
func (h *Held) Close() {
	for _, c := range h.all {
		_ = c.Close()
	}
}
