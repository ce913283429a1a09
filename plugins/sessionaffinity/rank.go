package sessionaffinity

import "github.com/gpustack/gpustack-gateway/lb"

// depth is how many ranks score. Scores halve from rank to rank, so that together they are less than 2. A score of rank
// 54 or beyond would be less than 2^-53 of the vote: a millionth of the distance within which two totals are equal, so
// it can neither win nor lose a pick, nor end a tie. Those ranks score 0.
const depth = 54

// mix returns the weight of a candidate for a session, by which rendezvous hashing ranks (D. Thaler and C. V.
// Ravishankar, "Using name-based mappings to increase hit rates", 1998): each candidate is weighed on its own, so that
// one that comes or goes moves no session but its own. Both arguments are hashes already. The finaliser is the variant
// 13 of D. Stafford's "Better bit mixing"; it is a bijection, so two candidates never weigh the same.
func mix(s session, candidate uint64) uint64 {
	x := s.hi ^ candidate
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ranking is the first candidates by weight, heaviest first.
type ranking struct {
	n       int
	index   [depth]int32
	weights [depth]uint64
}

// rank ranks the live candidates for a session.
func (r *ranking) rank(s session, candidates []lb.Candidate, live []bool) {
	r.n = 0
	for i := range candidates {
		if !live[i] {
			continue
		}
		w := mix(s, candidates[i].Key)
		if r.n == depth {
			if w <= r.weights[depth-1] {
				continue
			}
			r.n--
		}
		at := r.n
		for at > 0 && r.weights[at-1] < w {
			at--
		}
		copy(r.weights[at+1:r.n+1], r.weights[at:r.n])
		copy(r.index[at+1:r.n+1], r.index[at:r.n])
		r.weights[at], r.index[at] = w, int32(i)
		r.n++
	}
}

// score fills in 1, 1/2, 1/4, ... by rank: the owners in their order, then the others by weight.
func score(scores []float64, candidates []lb.Candidate, live []bool, r *ranking, o owners) {
	next := 1.0
	for _, key := range o.keys[:o.n] {
		for i := range candidates {
			if candidates[i].Key == key && live[i] && scores[i] == 0 {
				scores[i] = next
				next /= 2
				break
			}
		}
	}
	for _, i := range r.index[:r.n] {
		if scores[i] == 0 {
			scores[i] = next
			next /= 2
		}
	}
}
