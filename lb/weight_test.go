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
		{[]int64{math.MaxInt64, math.MaxInt64 - 1}, []int64{32768, 32768}},
		{[]int64{math.MaxInt64, 1}, []int64{65536, 1}},
	}
	for _, test := range tests {
		if got := shares(test.weights, maxSchedule); !slices.Equal(got, test.want) {
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
			weights[i] = 1 + int64(r()%1_000_000_007)
			sum += float64(weights[i])
		}
		parts := shares(weights, maxSchedule)
		var all int64
		for _, s := range parts {
			all += s
		}
		if all > maxSchedule+int64(len(weights)) {
			t.Fatalf("%v: %d places", weights, all)
		}
		for i, s := range parts {
			exact := float64(weights[i]) / sum * maxSchedule
			if math.Abs(float64(s)-exact) > 1 {
				t.Fatalf("weight %d of %v: %d places, exactly %.2f", weights[i], weights, s, exact)
			}
		}
	}
}

// Any window of one round's length holds each target exactly as often as its share, also across the end of the round.
func TestSchedule_AnyWindow(t *testing.T) {
	for _, weights := range [][]int64{{7, 3}, {1}, {1, 1, 1}, {5, 1, 1}, {19, 1}, {3, 2, 4, 1}, {0, 3, 2}, {97, 89, 1}} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) {
			round := schedule(weights)
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

// No target falls behind or runs ahead of its share by a whole request, whatever part of the round one looks at.
func TestSchedule_Smooth(t *testing.T) {
	for _, weights := range [][]int64{{7, 3}, {5, 1}, {3, 2, 4, 1}, {50, 30, 20}, {1000, 1}} {
		round := schedule(weights)
		got := make([]float64, len(weights))
		for k, target := range round {
			got[target]++
			for i, w := range weights {
				want := float64(k+1) * float64(w) / float64(len(round))
				if math.Abs(got[i]-want) >= float64(len(weights)-1) {
					t.Fatalf("%v: after %d target %d has %v, its share is %.2f", weights, k+1, i, got[i], want)
				}
			}
		}
	}
}
