// Package decisionservice is the policy decision_service: a service that knows models is asked which of them should
// serve a request. See docs/decision-service.md.
//
// The service is asked once a request, before anything is counted, with the models of the live candidates as the
// options. Every instance of a model gets the probability of that model, and the vote is one a distinct model, so that
// replicas change nothing about it; its weight is multiplied by the service's confidence. Whatever goes wrong, the
// policy abstains and the others decide.
package decisionservice

import (
	"context"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// Name is the policy's name in the routes file.
const Name = "decision_service"

// Asker asks decision services. What it learns about them belongs to the process, not to a configuration. Safe for any
// number of goroutines.
type Asker interface {
	// Ask returns the answer to a question, which must not be changed, or why there is none. It returns within
	// q.Timeout, and at once when ctx ends.
	Ask(ctx context.Context, q Question) (answer []byte, err error)
}

// Question is a question to a decision service, ready to be sent.
type Question struct {
	Service  string                       // name of the provider, for people
	Endpoint string                       // base URL without a slash at its end; what is asked is Endpoint + "/v1/systemone"
	Token    interface{ Reveal() string } // for "Authorization: Bearer"; reveals "" if there is none
	Body     []byte                       // of the request; not kept when Ask has returned
	Timeout  time.Duration                // over 0
	Keep     time.Duration                // how old a remembered answer may be; 0 neither takes nor leaves one

	// Accept says what is wrong with an answer, in one of a few words. Such an answer is not remembered, and counts as
	// the service's failure. It depends on nothing but the answer and the body, and may be called after Ask has
	// returned.
	Accept func(answer []byte) error
}

// New returns the kind, whose policies ask by asker. A nil asker will do where configurations are only checked.
func New(asker Asker) plugins.Kind {
	return plugins.Kind{
		Name:   Name,
		Weight: 10,
		Schema: schema,
		Build: func(s *plugins.Spec) lb.Voter {
			c := defaults()
			if !s.Decode(&c) {
				return nil
			}
			if v := c.voter(s, asker); v != nil {
				return v
			}
			return nil // and not a voter that is nil
		},
	}
}
