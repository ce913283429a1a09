package lb

import "math"

// maxSchedule bounds the length of a schedule, and so the precision of weights: where the reduced weights of a route
// sum to more, each share is off by less than 1/maxSchedule of the traffic, and none is rounded down to nothing.
const maxSchedule = 1 << 16

// shares reduces weights to the smallest whole numbers in the same proportion, or in nearly the same if those would sum
// to more than most. Weights that are not positive get 0; if none is positive all get 1.
func shares(weights []int64, most int) []int64 {
	out := make([]int64, len(weights))
	var divisor int64
	var sum float64
	for _, w := range weights {
		if w > 0 {
			divisor = gcd(w, divisor)
			sum += float64(w)
		}
	}
	if divisor == 0 {
		for i := range out {
			out[i] = 1
		}
		return out
	}
	exact := sum/float64(divisor) <= float64(most)
	var before float64
	for i, w := range weights {
		switch {
		case w <= 0:
		case exact:
			out[i] = w / divisor
		default:
			// Rounding where each share ends, not its length, keeps the sum, and so every share, right.
			end := before + float64(w)
			out[i] = max(1, int64(math.Round(end/sum*float64(most))-math.Round(before/sum*float64(most))))
			before = end
		}
	}
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// schedule lays out one round of targets so that each has as many places as its share, spread evenly: smooth weighted
// round robin, in which every place goes to the target that is furthest behind. Repeated, any window as long as the
// round holds every target exactly share times, wherever it starts.
func schedule(shares []int64) []int32 {
	var length int64
	for _, s := range shares {
		length += s
	}
	round := make([]int32, 0, length)
	behind := make([]int64, len(shares))
	for range length {
		next := 0
		for i, s := range shares {
			behind[i] += s
			if behind[i] > behind[next] {
				next = i
			}
		}
		behind[next] -= length
		round = append(round, int32(next))
	}
	return round
}
