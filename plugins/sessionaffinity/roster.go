package sessionaffinity

import (
	"slices"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
)

// A session that is served while its first candidate is away from the configuration has moved just as one whose first
// candidate is ejected: when that one comes back, the session stays where its cache is. So candidates that have left
// still count when it is judged whether a session is where it belongs, for a while.
const (
	absence  = 24 * time.Hour
	absences = 32   // a route, the latest
	routes   = 4096 // whose candidates are remembered, the latest used
)

// roster is who serves a route, and who did.
type roster struct {
	members []member
	left    []member // earliest first
}

type member struct {
	key   uint64
	model string
	since time.Time // of having left
}

// follow returns the roster after this one once the candidates are these. A nil roster is one without anybody.
func (r *roster) follow(candidates []lb.Candidate, now time.Time) *roster {
	next := &roster{}
	serves := make(map[uint64]bool, len(candidates))
	for i := range candidates {
		serves[candidates[i].Key] = true
		next.members = append(next.members, member{key: candidates[i].Key, model: candidates[i].Model})
	}
	if r == nil {
		return next
	}
	for _, m := range r.left {
		if !serves[m.key] && now.Sub(m.since) < absence {
			next.left = append(next.left, m)
		}
	}
	for _, m := range r.members {
		if !serves[m.key] {
			m.since = now
			next.left = append(next.left, m)
		}
	}
	if over := len(next.left) - absences; over > 0 {
		next.left = slices.Delete(next.left, 0, over)
	}
	return next
}

// natural reports whether candidate chosen is where the hash sends the session, of one model or, if model is "", of all.
// Candidates count whether they are out or not, and so do those that have left.
func (r *roster) natural(s session, candidates []lb.Candidate, chosen int, model string, now time.Time) bool {
	weight := mix(s, candidates[chosen].Key)
	for i := range candidates {
		if (model == "" || candidates[i].Model == model) && mix(s, candidates[i].Key) > weight {
			return false
		}
	}
	for i := range r.left {
		m := &r.left[i]
		if (model == "" || m.model == model) && now.Sub(m.since) < absence && mix(s, m.key) > weight {
			return false
		}
	}
	return true
}
