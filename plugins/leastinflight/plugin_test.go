package leastinflight

import (
	"slices"
	"testing"

	"github.com/gpustack/gpustack-gateway/lb"
)

func TestVote(t *testing.T) {
	b := lb.Ballot{Live: []bool{true, true, true, false, true}, Load: []float64{0, 1, 3, 0, 1.5},
		Scores: make([]float64, 5), Explain: true}
	Voter{}.Vote(&b)
	if want := []float64{1, .5, .25, 0, .4}; !slices.Equal(b.Scores, want) {
		t.Errorf("got %v, want %v", b.Scores, want)
	}
	if b.Reason == "" {
		t.Error("no reason")
	}
}

func TestNew(t *testing.T) {
	if k := New(); k.Name != "least_inflight" || k.Weight != 1 {
		t.Errorf("got %q, weight %v", k.Name, k.Weight)
	}
}
