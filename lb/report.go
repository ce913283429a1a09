package lb

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Report is one choice with its reasons: what a Pick would do at this moment. Candidates are referred to by their
// position in Candidates.
type Report struct {
	RouteBy    string            `json:"route_by"`
	Candidates []CandidateReport `json:"candidates"`
	Votes      []VoteReport      `json:"votes,omitempty"`      // one a plugin, in the order of the configuration
	Pick       int               `json:"pick"`                 // -1: none, see Error
	Ties       []int             `json:"ties,omitempty"`       // with the pick in front; it is drawn among them
	Rest       []int             `json:"rest,omitempty"`       // those that could be chosen after it, best first
	DecidedBy  string            `json:"decided_by,omitempty"` // plugin: see Lease.By
	Error      string            `json:"error,omitempty"`      // why none could be chosen
	Note       string            `json:"note,omitempty"`       // how it was chosen where no vote decided
}

// VoteReport is what one plugin voted by.
type VoteReport struct {
	Plugin    string  `json:"plugin"`
	Weight    float64 `json:"weight"`
	Strength  float64 `json:"strength"` // 0 if it abstained
	PerModel  bool    `json:"per_model,omitempty"`
	Abstained bool    `json:"abstained,omitempty"`
	Reason    string  `json:"reason,omitempty"`
}

// CandidateReport is one candidate as a pick sees it.
type CandidateReport struct {
	Target   string      `json:"target"`
	Instance string      `json:"instance"`
	Model    string      `json:"model"`
	InFlight int64       `json:"in_flight"`
	Limit    int64       `json:"limit,omitempty"` // max_inflight, 0 is unlimited
	Share    float64     `json:"share,omitempty"` // of the route's traffic, in target_weight: the target's, divided among its instances
	State    string      `json:"state"`           // a Status in words
	Until    *time.Time  `json:"until,omitempty"` // end of the ejection, if there is one
	Penalty  float64     `json:"penalty,omitempty"`
	Tried    bool        `json:"tried,omitempty"`
	Live     bool        `json:"live"`            // takes part
	Full     bool        `json:"full,omitempty"`  // at its limit
	Votes    []VoteShare `json:"votes,omitempty"` // one a plugin, in the order of Report.Votes
	Total    float64     `json:"total"`
}

// VoteShare is what one plugin gave to one candidate.
type VoteShare struct {
	Score        float64 `json:"score"`        // as the plugin gave it, 0 if it doesn't count
	Normalised   float64 `json:"normalised"`   // the candidate's part of the vote
	Contribution float64 `json:"contribution"` // times weight and strength: what it adds to the total
}

// workings is what the arithmetic notes for a report and forgets otherwise.
type workings struct {
	scores  [][]float64 // by vote, as given
	reasons []string
	models  []bool // by vote: it was per model
}

// scored notes a ballot before it is normalised. Nil notes nothing.
func (w *workings) scored(v int, b *Ballot) {
	if w == nil {
		return
	}
	w.scores[v] = append(w.scores[v][:0], b.Scores...)
	w.reasons[v] = b.Reason
	w.models[v] = b.PerModel
}

// Explain tells what Pick would do with the request at this moment and why, by the same arithmetic. It takes no place,
// moves no rotation and throws no dice. Of the request it uses what was prepared and tried; one that was not prepared
// is explained without the notes of plugins that have to wait.
func (p *Pool) Explain(r *Request, now time.Time) Report {
	r.at(p)
	c := choice{pool: p, request: r, now: now, workings: &workings{scores: make([][]float64, len(p.votes)),
		reasons: make([]string, len(p.votes)), models: make([]bool, len(p.votes))}}
	pick, err := c.make()
	if p.by != Policy {
		c.survey() // which a vote has done already
	}
	report := Report{RouteBy: p.by.String(), Pick: pick, Candidates: c.candidates(), Votes: c.voters()}
	if err != nil {
		report.Pick, report.Error = -1, err.Error()
		return report
	}
	t := &r.tally
	if t.weight > 0 {
		c.order(&report)
		if by := t.decider(p.votes, pick); by >= 0 {
			report.DecidedBy = p.votes[by].Name
		}
	} else {
		report.Rest = c.turns(pick)
	}
	report.Note = c.note()
	return report
}

// note says in words what no number shows.
func (c *choice) note() string {
	if c.keeps {
		return "the request keeps to the instance that has what it goes on from"
	}
	var notes []string
	if c.widest == failing {
		notes = append(notes, "every candidate is out, so the route chooses among all (fail_open)")
	}
	if c.request.tally.weight == 0 {
		if c.pool.by == Policy {
			notes = append(notes, "every plugin abstained, so the route behaves as round_robin")
		}
		notes = append(notes, "next in the rotation")
	}
	return strings.Join(notes, "; ")
}

// candidates reports the candidates as the last survey and tally found them.
func (c *choice) candidates() []CandidateReport {
	p, t := c.pool, &c.request.tally
	reports := make([]CandidateReport, len(p.candidates))
	for i := range p.candidates {
		candidate := &p.candidates[i]
		health := candidate.Engine.Health(c.now)
		if candidate.Exempt && health.Status != Drained {
			health = State{}
		}
		report := CandidateReport{Target: p.targets[candidate.Target].Name, Instance: candidate.Instance,
			Model: candidate.Model, InFlight: t.counts[i], Limit: candidate.Limit, State: health.Status.String(),
			Penalty: t.load[i] - float64(t.counts[i]), Tried: c.request.tried[i], Live: t.live[i],
			Full: candidate.Limit > 0 && t.counts[i] >= candidate.Limit, Total: t.totals[i]}
		if p.by == TargetWeight {
			report.Share = p.share(candidate.Target)
		}
		if health.Status == Ejected {
			report.Until = &health.Until
		}
		for v := range p.votes {
			share := VoteShare{Normalised: t.row(v)[i]}
			if t.weight > 0 {
				share.Score = c.scores[v][i]
				share.Contribution = p.votes[v].Weight * t.strength[v] * share.Normalised
			}
			report.Votes = append(report.Votes, share)
		}
		reports[i] = report
	}
	return reports
}

// share returns what part of the traffic each instance of a target gets while all are well.
func (p *Pool) share(target int) float64 {
	t := &p.targets[target]
	return float64(t.share) / float64(p.round.length()) / float64(len(t.members))
}

// voters reports what the plugins voted by.
func (c *choice) voters() []VoteReport {
	var reports []VoteReport
	for v := range c.pool.votes {
		strength := c.request.tally.strength[v]
		reports = append(reports, VoteReport{Plugin: c.pool.votes[v].Name, Weight: c.pool.votes[v].Weight,
			Strength: strength, PerModel: c.models[v], Abstained: strength == 0, Reason: c.reasons[v]})
	}
	return reports
}

// order adds the ties and the rest, by total.
func (c *choice) order(report *Report) {
	t := &c.request.tally
	top := t.totals[report.Pick]
	for i, live := range t.live {
		switch {
		case !live:
		case t.open[i] && t.totals[i] >= top-t.slack():
			report.Ties = append(report.Ties, i)
			fallthrough
		default:
			if i != report.Pick {
				report.Rest = append(report.Rest, i)
			}
		}
	}
	if len(report.Ties) == 1 {
		report.Ties = nil
	}
	slices.SortStableFunc(report.Rest, func(a, b int) int { return cmp.Compare(t.totals[b], t.totals[a]) })
}

// turns returns which candidates would follow, were each to fail in turn, as the rotation stands.
func (c *choice) turns(pick int) []int {
	r := c.request
	tried, tries := slices.Clone(r.tried), r.tries
	var rest []int
	for err := error(nil); err == nil; {
		r.Tried(pick)
		if pick, err = c.rotate(); err == nil {
			rest = append(rest, pick)
		}
	}
	copy(r.tried, tried)
	r.tries = tries
	return rest
}
