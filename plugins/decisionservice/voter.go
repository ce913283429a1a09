package decisionservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gpustack/gpustack-gateway/lb"
)

// voter is the policy on one route.
type voter struct {
	asker    Asker
	question Question // without what a request decides
	form     *form
	maxState int    // bytes of the task's text
	mute     string // why the policy abstains from every vote; empty if it does not
	sheets   sync.Pool
}

var (
	_ lb.Voter    = (*voter)(nil)
	_ lb.Preparer = (*voter)(nil)
)

// note is what was found out for one request.
type note struct {
	shares     []float64 // each candidate's probability, that of its model
	confidence float64
	chosen     string
	share      float64 // of the chosen
	reason     string  // why there is nothing to vote by; empty if there is
}

// Prepare asks the service, and is the only place where the policy waits.
func (v *voter) Prepare(ctx context.Context, r *lb.Request, candidates []lb.Candidate, live []bool) any {
	if v.mute != "" {
		return nil
	}
	options := optionsOf(candidates, live)
	if len(options) < 2 {
		return &note{reason: "there are not two models to choose among"}
	}
	answer, err := v.ask(ctx, r, options)
	if err != nil {
		return &note{reason: err.Error()}
	}
	verdict, err := believe(answer, options)
	if err != nil {
		return &note{reason: fmt.Sprintf("the answer of %q can't be believed: %v", v.question.Service, err)}
	}
	n := &note{shares: make([]float64, len(candidates)), confidence: verdict.confidence,
		chosen: options[verdict.chosen], share: verdict.shares[verdict.chosen]}
	// All candidates, since one that is out now may be live when the vote is counted. Models that weren't offered get 0.
	at := 0
	for i := range candidates {
		if at < 0 || candidates[i].Model != options[at] { // else as the candidate before
			at = slices.Index(options, candidates[i].Model)
		}
		if at >= 0 {
			n.shares[i] = verdict.shares[at]
		}
	}
	return n
}

// errNoText says that a request holds no text: audio, images, or an API that is not about a task.
var errNoText = errors.New("the request has no text to judge by")

// ask writes the question and returns the service's answer.
func (v *voter) ask(ctx context.Context, r *lb.Request, options []string) ([]byte, error) {
	s, ok := v.sheets.Get().(*sheet)
	if !ok {
		s = new(sheet)
	}
	defer v.release(s)
	s.state = s.state[:0]
	if r.Call != nil && r.Endpoint != nil {
		s.state = r.Call.TaskText(s.state, r.Endpoint, v.maxState)
	}
	if len(s.state) == 0 {
		return nil, errNoText
	}
	s.question = v.form.append(s.question[:0], s.state, options)
	q := v.question
	q.Body = s.question
	q.Accept = func(answer []byte) error {
		_, err := believe(answer, options)
		return err
	}
	return v.asker.Ask(ctx, q)
}

// Vote gives every candidate the probability of its model.
func (v *voter) Vote(b *lb.Ballot) {
	n, _ := b.Note.(*note)
	switch {
	case n == nil || n.reason != "" || len(n.shares) != len(b.Scores):
		if b.Explain {
			b.Reason = v.silence(n)
		}
		return
	case b.Explain:
		b.Reason = fmt.Sprintf("%q chose %q: probability %.3g, confidence %.3g", v.question.Service, n.chosen, n.share, n.confidence)
	}
	copy(b.Scores, n.shares)
	b.Strength, b.PerModel = n.confidence, true
}

// silence says why the policy abstains.
func (v *voter) silence(n *note) string {
	switch {
	case v.mute != "":
		return v.mute
	case n == nil || n.reason == "":
		return "the service was not asked"
	}
	return n.reason
}
