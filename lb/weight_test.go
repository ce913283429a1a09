package lb

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestShares(t *testing.T) {
	tests := []struct {
		weights, want []int64
	}{
		{[]int64{100, 300}, []int64{1, 3}},
		{[]int64{7, 3}, []int64{7, 3}},
		{[]int64{95, 5}, []int64{19, 1}},
		{[]int64{5}, []int64{1}},
		{[]int64{0, 0, 0}, []int64{1, 1, 1}},
		{[]int64{4, 0, 6}, []int64{2, 0, 3}},
		{[]int64{4, -1, 6}, []int64{2, 0, 3}},
		{nil, []int64{}},
		{[]int64{math.MaxInt64, math.MaxInt64}, []int64{1, 1}},
		{[]int64{math.MaxInt64, math.MaxInt64 - 1}, []int64{longestRound / 2, longestRound / 2}},
		{[]int64{math.MaxInt64, 1}, []int64{longestRound, 1}},
	}
	for _, test := range tests {
		if got := shares(test.weights); !slices.Equal(got, test.want) {
			t.Errorf("shares(%v) = %v, want %v", test.weights, got, test.want)
		}
	}
}

func TestShares_QuantisedStayWithinOnePlace(t *testing.T) {
	r := dice(3)
	for range 200 {
		weights := make([]int64, 2+r()%20)
		var sum float64
		for i := range weights {
			weights[i] = 1 + int64(r()%1_000_000_000_007)
			sum += float64(weights[i])
		}
		parts := shares(weights)
		var all int64
		for _, s := range parts {
			all += s
		}
		if sum < longestRound {
			t.Fatalf("%v: small enough to be exact", weights)
		}
		if all > longestRound+int64(len(weights)) {
			t.Fatalf("%v: %d places", weights, all)
		}
		for i, s := range parts {
			exact := float64(weights[i]) / sum * longestRound
			if math.Abs(float64(s)-exact) > 1 {
				t.Fatalf("weight %d of %v: %d places, exactly %.2f", weights[i], weights, s, exact)
			}
		}
	}
}

// places returns a whole round, place by place.
func places(weights []int64) []int {
	r := newRound(weights)
	out := make([]int, r.length())
	for k := range out {
		out[k] = r.at(uint64(k))
	}
	return out
}

// Any window of one round's length holds each target exactly as often as its share, also across the end of the round.
func TestRound_AnyWindow(t *testing.T) {
	for _, weights := range [][]int64{{7, 3}, {1}, {1, 1, 1}, {5, 1, 1}, {19, 1}, {3, 2, 4, 1}, {0, 3, 2}, {0, 2, 1}, {97, 89, 1}, {1, 50, 2, 30, 3, 20}} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) {
			round := places(weights)
			for from := range round {
				got := make([]int64, len(weights))
				for k := range round {
					got[round[(from+k)%len(round)]]++
				}
				if !slices.Equal(got, weights) {
					t.Fatalf("from %d: %v", from, got)
				}
			}
		})
	}
}

// No target falls behind or runs ahead of its share by as much as a place for each time that the targets were halved,
// whatever part of the round one looks at.
func TestRound_Smooth(t *testing.T) {
	for _, weights := range [][]int64{{7, 3}, {5, 1}, {3, 2, 4, 1}, {50, 30, 20}, {1000, 1}, {1, 2, 3, 4, 5, 6, 7, 8}, {999, 1, 1, 1}} {
		halved := math.Ceil(math.Log2(float64(len(weights))))
		round := places(weights)
		got := make([]float64, len(weights))
		for k, target := range round {
			got[target]++
			for i, w := range weights {
				want := float64(k+1) * float64(w) / float64(len(round))
				if math.Abs(got[i]-want) >= halved {
					t.Fatalf("%v: after %d target %d has %v, its share is %.2f", weights, k+1, i, got[i], want)
				}
			}
		}
	}
}

// Targets of the same share take turns in the order written.
func TestRound_InOrder(t *testing.T) {
	if got := places([]int64{1, 1, 1, 1, 1}); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("%v", got)
	}
}

// The largest weights there are keep their proportion, at any position of a rotation, and take no more memory than small
// ones.
func TestRound_OfAnyLength(t *testing.T) {
	r := newRound(shares([]int64{math.MaxInt64, math.MaxInt64 / 3, 1 << 40}))
	for _, from := range []uint64{0, 1 << 31, math.MaxUint64 - 4000} {
		got := make([]int, 3)
		for k := range uint64(4000) {
			got[r.at(from+k)]++
		}
		if got[0] < 2998 || got[0] > 3002 || got[1] < 998 || got[1] > 1002 {
			t.Errorf("from %d: %v", from, got)
		}
	}
}

func BenchmarkRound(b *testing.B) {
	for _, weights := range [][]int64{{1, 1, 1, 1}, {70, 30}, {97, 89, 71, 53, 31, 11, 7, 3}} {
		r := newRound(shares(weights))
		b.Run(fmt.Sprint(weights), func(b *testing.B) {
			k := uint64(0)
			for b.Loop() {
				r.at(k)
				k++
			}
		})
	}
}
