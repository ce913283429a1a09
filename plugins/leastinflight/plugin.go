// Package leastinflight is the policy least_inflight: the fewer requests an instance has, the better.
package leastinflight

import (
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// Name is the policy's name in the routes file.
const Name = "least_inflight"

// New returns the kind. It has no fields of its own.
func New() plugins.Kind {
	return plugins.Kind{
		Name:   Name,
		Weight: 1,
		Schema: `{"type": "object", "description": "Prefers the instance with the fewest requests in flight."}`,
		Build: func(s *plugins.Spec) lb.Voter {
			s.Decode(&struct{}{})
			return Voter{}
		},
	}
}

// Voter scores a candidate by 1 / (1 + load), where the load is the requests in flight at its engine plus the penalty
// of an engine that returns from an ejection.
type Voter struct{}

// Vote implements lb.Voter.
func (Voter) Vote(b *lb.Ballot) {
	for i, load := range b.Load {
		if b.Live[i] {
			b.Scores[i] = 1 / (1 + load)
		}
	}
	if b.Explain {
		b.Reason = "1 / (1 + in flight + penalty)"
	}
}
