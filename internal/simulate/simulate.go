// Package simulate says at which load a route's policies move a session, by the arithmetic that serves.
package simulate

import (
	"errors"
	"fmt"
	"math"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
	"github.com/gpustack/gpustack-gateway/route"
)

// How far a table goes.
const (
	MostInflight = 4      // columns: the owner's requests in flight, from 0
	shownUpTo    = 5      // rows: candidates, from 2, and the route's own number of them if that is more
	lookedUpTo   = 10_000 // the number in flight up to which a move is looked for
)

// Table is what the votes of a route make of a session, by the number of candidates: its owner has some requests in
// flight, and every other candidate is idle. Decision services have no say in it.
type Table struct {
	Route      string `json:"route"`
	Candidates int    `json:"candidates"` // that the route has
	Votes      []Vote `json:"votes"`
	Rows       []Row  `json:"rows"`
}

// Vote is a policy and what its vote weighs.
type Vote struct {
	Plugin string  `json:"plugin"`
	Weight float64 `json:"weight"`
}

// Row is for one number of candidates.
type Row struct {
	Candidates int      `json:"candidates"`
	Shifts     []string `json:"shifts"`     // "hold", "tie" or "flip", by the owner's requests in flight, from 0
	FirstFlip  *int     `json:"first_flip"` // requests in flight that move the session for certain; nil if none do
}

// Run returns the table of a route, with other weights for the policies that weights names; they are positive. The error
// says why there is none.
func Run(r *route.Route, weights map[string]float64) (*Table, error) {
	if r.Reason != "" {
		return nil, fmt.Errorf("route %q cannot serve: %s", r.Name, r.Reason)
	}
	if r.By != lb.Policy {
		return nil, fmt.Errorf("route %q balances by %s, so no policies vote", r.Name, r.By)
	}
	t := &Table{Route: r.Name, Candidates: len(r.Pool.Candidates()), Votes: []Vote{}}
	votes, err := t.votes(r, weights)
	if err != nil {
		return nil, err
	}
	for n := 2; n <= max(shownUpTo, t.Candidates); n++ {
		if n <= shownUpTo || n == t.Candidates {
			t.Rows = append(t.Rows, row(votes, n))
		}
	}
	return t, nil
}

// votes returns the votes of a route, with a session that needs no request.
func (t *Table) votes(r *route.Route, weights map[string]float64) ([]lb.Weighted, error) {
	votes := r.Pool.Votes()
	used, sticky := 0, false
	for i := range votes {
		v := &votes[i]
		if weight, ok := weights[v.Name]; ok {
			if !(weight > 0) || math.IsInf(weight, 1) {
				return nil, fmt.Errorf("the weight %v of %s is not over 0", weight, v.Name)
			}
			v.Weight = weight
			used++
		}
		if v.Name == sessionaffinity.Name {
			v.Voter, sticky = sessionaffinity.Sample{}, true
		}
		t.Votes = append(t.Votes, Vote{v.Name, v.Weight})
	}
	if used < len(weights) {
		return nil, errors.New("weights can be given for policies of the route only")
	}
	if !sticky {
		return nil, fmt.Errorf("route %q has no %s policy, so no session has an owner", r.Name, sessionaffinity.Name)
	}
	return votes, nil
}

func row(votes []lb.Weighted, n int) Row {
	row := Row{Candidates: n}
	for _, shift := range lb.Shifts(votes, nil, n, MostInflight) {
		row.Shifts = append(row.Shifts, shift.String())
	}
	if x, ok := lb.FirstFlip(votes, nil, n, lookedUpTo); ok {
		row.FirstFlip = &x
	}
	return row
}
