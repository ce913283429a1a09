package lb

import (
	"math"
	"math/bits"
)

// tolerance is how far apart two totals may be, as a part of all votes' weight, and still be equal: sums of the same
// votes differ in their last bits.
const tolerance = 1e-9

// tally is one count of all votes: slices beside the candidates, in their order.
type tally struct {
	live   []bool    // take part in the vote
	open   []bool    // of the live ones, those below their limit
	counts []int64   // in-flight as read for this count
	load   []float64 // the same plus penalty
	votes  []float64 // one row a vote, one column a candidate: scores, then normalised votes
	totals []float64
	models []float64 // scratch of normaliseModels

	strength []float64 // by vote; 0 abstained
	weight   float64   // of all votes that did not abstain, strength included
	byModel  bool      // one of those was a vote per model
}

// begin makes the slices fit, and everything that votes add up to zero.
func (t *tally) begin(candidates, votes, models int) {
	t.live = sized(t.live, candidates)
	t.open = sized(t.open, candidates)
	t.counts = sized(t.counts, candidates)
	t.load = sized(t.load, candidates)
	t.votes = zeroed(t.votes, candidates*votes)
	t.totals = zeroed(t.totals, candidates)
	t.models = sized(t.models, models)
	t.strength = zeroed(t.strength, votes)
	t.weight, t.byModel = 0, false
}

// row returns vote v's row.
func (t *tally) row(v int) []float64 {
	n := len(t.totals)
	return t.votes[v*n : (v+1)*n : (v+1)*n]
}

// valid returns a score as it counts: negative, NaN and infinite ones are 0.
func valid(score float64) float64 {
	if score > 0 && score <= math.MaxFloat64 {
		return score
	}
	return 0
}

// clean makes every score valid, and 0 where the candidate does not take part.
func clean(scores []float64, live []bool) {
	for i, s := range scores {
		if !live[i] || !(s > 0 && s <= math.MaxFloat64) {
			scores[i] = 0
		}
	}
}

// normalise divides clean scores by their sum, so that they are one vote of size 1. It reports false, for an
// abstention, if all are zero.
func normalise(scores []float64) bool {
	var sum float64
	for _, s := range scores {
		sum += s
	}
	return divide(scores, sum)
}

// normaliseModels divides clean scores by their sum over the distinct models, so that a model's vote is the same
// however many instances it has. A model's score is the highest among its candidates. model gives each candidate's
// model; sums is scratch, one place a model.
func normaliseModels(scores []float64, model []int32, sums []float64) bool {
	clear(sums)
	for i, s := range scores {
		sums[model[i]] = max(sums[model[i]], s)
	}
	var sum float64
	for _, s := range sums {
		sum += s
	}
	return divide(scores, sum)
}

func divide(scores []float64, sum float64) bool {
	if sum == 0 {
		return false
	}
	if math.IsInf(sum, 0) {
		// Scores this large only matter against each other: smaller ones are lost to rounding either way.
		for i := range scores {
			scores[i] /= math.MaxFloat64
		}
		return normalise(scores)
	}
	for i := range scores {
		scores[i] /= sum
	}
	return true
}

// add adds a normalised vote to the totals, times its weight.
func add(totals, vote []float64, weight float64) {
	for i, v := range vote {
		totals[i] += weight * v
	}
}

// lead returns the highest total of the open candidates and how many of them have it, give or take slack. No
// candidate is open if ties is 0.
func lead(totals []float64, open []bool, slack float64) (top float64, ties int) {
	top = math.Inf(-1)
	for i, t := range totals {
		if open[i] && t > top {
			top = t
		}
	}
	for i, t := range totals {
		if open[i] && t >= top-slack {
			ties++
		}
	}
	return top, ties
}

// tied returns the k-th of the open candidates whose total is at least floor.
func tied(totals []float64, open []bool, floor float64, k int) int {
	for i, t := range totals {
		if open[i] && t >= floor {
			if k == 0 {
				return i
			}
			k--
		}
	}
	return -1
}

// draw returns a uniformly distributed number below n.
func draw(rand Rand, n int) int {
	if n == 1 {
		return 0
	}
	hi, _ := bits.Mul64(rand(), uint64(n))
	return int(hi)
}

// slack is the distance within which this tally's totals are equal.
func (t *tally) slack() float64 { return tolerance * t.weight }

// decider returns the vote that gave the winner the most over the next best of the open candidates, and -1 if there is
// no other or the two are tied.
func (t *tally) decider(votes []vote, winner int) int {
	second := -1
	for i, total := range t.totals {
		if i != winner && t.open[i] && (second < 0 || total > t.totals[second]) {
			second = i
		}
	}
	if second < 0 || t.totals[winner]-t.totals[second] <= t.slack() {
		return -1
	}
	by, most := -1, 0.0
	for v := range votes {
		row := t.row(v)
		if gain := votes[v].Weight * t.strength[v] * (row[winner] - row[second]); gain > most {
			by, most = v, gain
		}
	}
	return by
}
