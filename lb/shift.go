package lb

import (
	"strconv"
	"time"
)

// Shift is what becomes of a session whose owner is busy while all other candidates are idle.
type Shift uint8

// What can become of it.
const (
	Hold Shift = iota // it stays
	Tie               // it stays or moves: a draw decides
	Flip              // it moves
)

var shiftNames = [...]string{Hold: "hold", Tie: "tie", Flip: "flip"}

// String returns "hold", "tie" or "flip".
func (s Shift) String() string {
	if int(s) < len(shiftNames) {
		return shiftNames[s]
	}
	return "unknown"
}

// Shifts returns what the votes make of a session over n candidates while its owner has 0, 1, up to most requests in
// flight. It asks the tally that serves. The session is what the voters take from r; its owner is whom they choose
// when all are idle. A nil r is an empty request.
func Shifts(votes []Weighted, r *Request, n, most int) []Shift {
	s := newShifter(votes, r, n)
	row := make([]Shift, 0, most+1)
	for x := range most + 1 {
		row = append(row, s.at(int64(x)))
	}
	return row
}

// FirstFlip returns the smallest number of requests at the owner, up to most, that moves the session of Shifts for
// certain. ok is false if none does.
func FirstFlip(votes []Weighted, r *Request, n, most int) (x int, ok bool) {
	s := newShifter(votes, r, n)
	for x := range most + 1 {
		if s.at(int64(x)) == Flip {
			return x, true
		}
	}
	return 0, false
}

// shifter is a pool of one model whose engines exist nowhere.
type shifter struct {
	choice
	owner int
}

func newShifter(votes []Weighted, r *Request, n int) *shifter {
	zero := func() uint64 { return 0 }
	fleet := NewFleet(zero)
	candidates := make([]Candidate, n)
	for i := range candidates {
		name := strconv.Itoa(i + 1)
		candidates[i] = Candidate{Instance: name, Key: CandidateKey("", name), Engine: fleet.Engine(name)}
	}
	own := &Request{}
	if r != nil {
		own.Endpoint, own.Call, own.Header = r.Endpoint, r.Call, r.Header
	}
	p := NewPool(Config{By: Policy, Targets: make([]Target, 1), Candidates: candidates, Votes: votes, Fleet: fleet,
		Rand: zero})
	own.at(p)
	s := &shifter{choice: choice{pool: p, request: own, now: time.Time{}}}
	if n > 0 {
		s.owner, _ = s.make()
	}
	return s
}

// at returns what becomes of the session while its owner has x in flight.
func (s *shifter) at(x int64) Shift {
	if len(s.pool.candidates) == 0 {
		return Hold
	}
	s.pool.candidates[s.owner].Engine.inflight.Store(x)
	s.survey()
	s.tally()
	t := &s.request.tally
	top, ties := lead(t.totals, t.open, t.slack())
	switch {
	case t.totals[s.owner] < top-t.slack():
		return Flip
	case ties > 1:
		return Tie
	}
	return Hold
}
