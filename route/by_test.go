package route

import (
	"testing"

	"github.com/gpustack/gpustack-gateway/lb"
)

func TestRouteBy(t *testing.T) {
	for _, test := range []struct {
		weights  []int64
		policies int
		by       lb.By
		ok       bool
	}{
		{[]int64{100}, 0, lb.TargetWeight, true},
		{[]int64{100, 300}, 0, lb.TargetWeight, true},
		{[]int64{100, 300}, 2, lb.TargetWeight, true},
		{[]int64{0}, 1, lb.Policy, true},
		{[]int64{0, 0, 0}, 3, lb.Policy, true},
		{[]int64{0}, 0, lb.RoundRobin, true},
		{[]int64{0, 0}, 0, lb.RoundRobin, true},
		{[]int64{1, 0}, 0, lb.TargetWeight, false},
		{[]int64{0, 1, 1}, 2, lb.TargetWeight, false},
		{nil, 0, lb.RoundRobin, true},
		{nil, 1, lb.Policy, true},
	} {
		by, ok := routeBy(test.weights, test.policies)
		if ok != test.ok || (ok && by != test.by) {
			t.Errorf("%v and %d policies: got %s, %v", test.weights, test.policies, by, ok)
		}
	}
}
