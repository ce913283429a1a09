package route

import "github.com/gpustack/gpustack-gateway/lb"

// routeBy derives how a route chooses: from the weights of its targets, without the fallback targets, and from how many
// policies are switched on. ok is false if some have a weight and some have not.
func routeBy(weights []int64, policies int) (by lb.By, ok bool) {
	weighted := 0
	for _, w := range weights {
		if w > 0 {
			weighted++
		}
	}
	switch {
	case weighted > 0:
		return lb.TargetWeight, weighted == len(weights)
	case policies > 0:
		return lb.Policy, true
	}
	return lb.RoundRobin, true
}
