package lb

import "math"

// longestRound bounds the length of a round, so that places can be multiplied with shares, and with it the precision of
// weights: where the reduced weights of a route sum to more, each share is off by less than 1/longestRound of the traffic,
// and none is rounded down to nothing.
const longestRound = 1 << 30

// shares reduces weights to the smallest whole numbers in the same proportion, or in nearly the same if those would sum
// to more than longestRound. Weights that are not positive get 0; if none is positive all get 1.
func shares(weights []int64) []int64 {
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
	exact := sum/float64(divisor) <= longestRound
	var before float64
	for i, w := range weights {
		switch {
		case w <= 0:
		case exact:
			out[i] = w / divisor
		default:
			// Rounding where each share ends, not its length, keeps the sum, and so every share, right.
			end := before + float64(w)
			out[i] = max(1, int64(math.Round(end/sum*longestRound)-math.Round(before/sum*longestRound)))
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

// round is one round of a rotation among targets: each has as many places in it as its share, spread evenly. Where a place
// goes is worked out when it is asked for, so that a round of any length takes no more memory than its targets.
type round struct {
	before []int64 // before[i] is the sum of the shares of the targets before i; the last one that of all
	even   bool    // each target has one place
}

func newRound(shares []int64) round {
	r := round{before: make([]int64, len(shares)+1), even: true}
	for i, s := range shares {
		r.before[i+1] = r.before[i] + s
		r.even = r.even && s == 1
	}
	return r
}

// length returns how many places there are, 0 without targets.
func (r round) length() int64 { return r.before[len(r.before)-1] }

// at returns the target that the k-th place goes to; after the last one the round begins again. There must be a place.
//
// The targets are halved again and again. Of the places 0 to k-1 of two halves with the shares l and r, the left one has
// l/(l+r), rounded up: no half is ever ahead or behind by a whole place (such sequences are known as Sturmian words),
// and in any row of places as long as the round each target has exactly its share, wherever the row begins.
func (r round) at(k uint64) int {
	low, high := 0, len(r.before)-1
	place := int64(k % uint64(r.length()))
	if r.even { // in the order written
		return int(place)
	}
	for high-low > 1 {
		middle := int(uint(low+high) / 2)
		left, all := r.before[middle]-r.before[low], r.before[high]-r.before[low]
		lefts := (place*left + all - 1) / all
		if ((place+1)*left+all-1)/all > lefts {
			place, high = lefts, middle
		} else {
			place, low = place-lefts, middle
		}
	}
	return low
}
