package sessionaffinity

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
)

// voter is the policy on one route.
type voter struct {
	sources []source
	memory  *memory
	moved   []func(route string)
	roster  atomic.Pointer[roster] // of its route, from the first choice on
}

var (
	_ lb.Marker   = (*voter)(nil)
	_ lb.Voter    = (*voter)(nil)
	_ lb.Follower = (*voter)(nil)
)

// Mark works out the request's session, once: its two words, and where it was named.
func (v *voter) Mark(r *lb.Request, m *lb.Mark) *openai.Error {
	s, from, err := find(v.sources, r)
	if s != (session{}) {
		m[0], m[1], m[2] = s.hi, s.lo, uint64(from)
	}
	return err
}

// marked returns the session that Mark found, zero if there is none.
func marked(m *lb.Mark) session { return session{m[0], m[1]} }

// Vote ranks the live candidates for the request's session, and abstains if it has none.
func (v *voter) Vote(b *lb.Ballot) {
	s := marked(b.Mark)
	if s == (session{}) {
		if b.Explain {
			b.Reason = "no session key in the request"
		}
		return
	}
	o := v.memory.peek(place{b.Request.Route(), s}, b.Now)
	var r ranking
	r.rank(s, b.Candidates, b.Live)
	score(b.Scores, b.Candidates, b.Live, &r, o)
	if b.Explain {
		b.Reason = v.explain(b, o)
	}
}

// Picked remembers where the session went if that is not where it belongs.
func (v *voter) Picked(p lb.Picked) {
	s := marked(p.Mark)
	if s == (session{}) {
		return
	}
	model := ""
	if p.ByModel {
		model = p.Candidates[p.Index].Model
	}
	natural := v.serving(&p).natural(s, p.Candidates, p.Index, model, p.Now)
	if v.memory.picked(place{p.Request.Route(), s}, p.Candidates, p.Index, p.ByModel, natural, p.Now) {
		for _, tell := range v.moved {
			tell(p.Request.Route())
		}
	}
}

// serving returns the roster of the voter's route. Its candidates don't change: a reload makes another voter.
func (v *voter) serving(p *lb.Picked) *roster {
	r := v.roster.Load()
	if r == nil {
		r = v.memory.roster(p.Request.Route(), p.Candidates, p.Now)
		v.roster.Store(r)
	}
	return r
}

// explain says what the session is, where it was named, and where it has moved.
func (v *voter) explain(b *lb.Ballot, o owners) string {
	from := &v.sources[b.Mark[2]]
	key, _ := from.read(b.Request)
	text := fmt.Sprintf("session %.80q from %s", key, from.name)
	if secretive(from.header) {
		text = "session (hidden) from " + from.name
	}
	var moved strings.Builder
	for _, key := range o.keys[:o.n] {
		for i := range b.Candidates {
			if b.Candidates[i].Key == key {
				fmt.Fprintf(&moved, ", moved to %q", b.Candidates[i].Instance)
			}
		}
	}
	return text + moved.String()
}

// Sample is a voter that votes as a session would whose order is that of the candidates: to show what weights do
// without a request.
type Sample struct{}

// Vote implements lb.Voter.
func (Sample) Vote(b *lb.Ballot) {
	next := 1.0
	for i, live := range b.Live {
		if live {
			b.Scores[i] = next
			next /= 2
		}
	}
}
