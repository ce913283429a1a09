package lb

import "time"

// maxRounds bounds how often a policy counts again because its choice was just taken by somebody else. Each time
// somebody was served; after that many a slightly stale choice is better than another count.
const maxRounds = 128

// vote chooses by the highest total of the votes, and by turn if all abstain. Choosing and counting are one step: the
// place is taken on condition that its engine has the count that the votes were given. In a burst nobody chooses by
// counts that others have made stale: those of the other candidates can only have grown since.
func (c *choice) vote() (int, error) {
	p, t := c.pool, &c.request.tally
	for round := 0; ; round++ {
		if !c.survey() {
			return 0, errNobody
		}
		c.tally()
		if t.weight == 0 {
			return c.rotate()
		}
		top, ties := lead(t.totals, t.open, t.slack())
		if ties == 0 {
			return 0, ErrFull
		}
		k := 0
		if c.lease != nil {
			k = draw(p.rand, ties)
		}
		i := tied(t.totals, t.open, top-t.slack(), k)
		seen := t.counts[i]
		if round >= maxRounds {
			seen = anySeen
		}
		if c.take(i, seen) {
			if c.lease != nil {
				c.lease.by = t.decider(p.votes, i)
			}
			return i, nil
		}
	}
}

// survey begins a tally: it reads health and counts of all candidates once, for all voters, and reports whether any is
// live.
func (c *choice) survey() (live bool) {
	p, t := c.pool, &c.request.tally
	t.begin(len(p.candidates), len(p.votes), p.distinct)
	var most int64
	ramping := false
	for i := range p.candidates {
		candidate := &p.candidates[i]
		n := candidate.Engine.inflight.Load()
		t.counts[i], t.load[i] = n, float64(n)
		t.live[i] = c.live(i)
		t.open[i] = t.live[i] && (candidate.Limit <= 0 || n < candidate.Limit)
		if !t.live[i] {
			continue
		}
		live = true
		most = max(most, n)
		ramping = ramping || candidate.Engine.health.Load() != nil
	}
	if ramping {
		for i := range p.candidates {
			t.load[i] += p.penalty(i, most, c.now)
		}
	}
	return live
}

// penalty is what an instance counts as having in flight beyond what it has, while it returns from an ejection: from
// one more than the busiest candidate at first, linearly down to nothing at the end of the ramp.
func (p *Pool) penalty(i int, most int64, now time.Time) float64 {
	candidate := &p.candidates[i]
	if candidate.Exempt {
		return 0
	}
	return float64(most+1) * candidate.Engine.health.Load().ramping(now, p.health.Ramp)
}

// tally lets the plugins vote and adds their votes up:
//
//	total(c) = sum over plugins ( weight * strength * score(c) / sum over c' of score(c') )
func (c *choice) tally() {
	p, r := c.pool, c.request
	t := &r.tally
	b := &r.ballot
	for v := range p.votes {
		*b = Ballot{Request: r, Candidates: p.candidates, Live: t.live, Load: t.load, Scores: t.row(v), Strength: 1,
			Mark: &r.marks[v], Note: r.notes[v], Now: c.now, Explain: c.workings != nil}
		p.votes[v].Voter.Vote(b)
		clean(t.row(v), t.live)
		c.workings.scored(v, b)
		t.strength[v] = valid(b.Strength)
		voted := t.strength[v] > 0
		if voted && b.PerModel {
			voted = normaliseModels(t.row(v), p.models, t.models)
		} else if voted {
			voted = normalise(t.row(v))
		}
		if !voted {
			clear(t.row(v))
			t.strength[v] = 0
			continue
		}
		weight := p.votes[v].Weight * t.strength[v]
		add(t.totals, t.row(v), weight)
		t.weight += weight
		t.byModel = t.byModel || b.PerModel
	}
}
