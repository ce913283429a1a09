package admin

import "time"

// window is how long ago requests count as served lately.
const window = 5 * time.Minute

// place is where a request was served: a route, and which of its candidates.
type place struct {
	route string
	key   uint64 // lb.Candidate.Key
}

// Recent remembers the requests that ended last.
type Recent struct{}

func (r *Recent) served() map[place]int64 { return nil }
