package lb

import (
	"context"
	"errors"
	"time"
)

type scratch struct{}

// ErrFull says that every live candidate is at its max_inflight.
var ErrFull = errors.New("all instances are at max_inflight")

// ErrDown says that no candidate is live.
var ErrDown = errors.New("no instance is available")

// ErrNone says that all have been tried.
var ErrNone = errors.New("all instances have been tried")

func (r *Request) Reset()      {}
func (r *Request) Tried(i int) {}

type Engine struct{ url string }

func (e *Engine) URL() string                { return e.url }
func (e *Engine) Inflight() int64            { return 0 }
func (e *Engine) Health(now time.Time) State { return State{} }
func (e *Engine) SetDrained(drained bool)    {}
func (e *Engine) Drained() bool              { return false }
func (e *Engine) Down(now time.Time)         {}
func (e *Engine) Up(now time.Time)           {}

type Status uint8

const (
	Up Status = iota
	Probation
	Ejected
	Down
)

func (s Status) String() string { return "" }

type State struct {
	Status Status
	Until  time.Time
}

type Candidate struct {
	Target   int
	Instance string
	Model    string
	Key      uint64
	Limit    int64
	Exempt   bool
	Engine   *Engine
}

func CandidateKey(target, instance string) uint64 { return 0 }

type Fleet struct{}

func NewFleet(rand Rand) *Fleet                            { return &Fleet{} }
func (f *Fleet) Engine(url string) *Engine                 { return &Engine{url: url} }
func (f *Fleet) Engines() []*Engine                        { return nil }
func (f *Fleet) Adopt(engines []*Engine, routes ...string) {}

type By uint8

const (
	TargetWeight By = iota
	RoundRobin
	Policy
)

func (b By) String() string { return "" }

type Target struct {
	Name   string
	Weight int64
}
type Weighted struct {
	Name   string
	Weight float64
	Voter  Voter
}
type HealthPolicy struct {
	Threshold      int
	Cooldown, Ramp time.Duration
	FailOpen       bool
}
type Config struct {
	Route      string
	By         By
	Targets    []Target
	Candidates []Candidate
	Votes      []Weighted
	Health     HealthPolicy
	Fleet      *Fleet
	Rand       Rand
}
type Pool struct{}

func NewPool(c Config) *Pool                                           { return &Pool{} }
func (p *Pool) By() By                                                 { return 0 }
func (p *Pool) Targets() []Target                                      { return nil }
func (p *Pool) Candidates() []Candidate                                { return nil }
func (p *Pool) Votes() []Weighted                                      { return nil }
func (p *Pool) Prepare(ctx context.Context, r *Request, now time.Time) {}
func (p *Pool) Pick(r *Request, l *Lease, now time.Time) error         { return nil }
func (p *Pool) Explain(r *Request, now time.Time) Report               { return Report{} }
func (p *Pool) Returns(now time.Time) (time.Time, bool)                { return time.Time{}, false }

type Lease struct{}

func (l *Lease) Index() int                                   { return 0 }
func (l *Lease) Candidate() *Candidate                        { return nil }
func (l *Lease) Held() bool                                   { return false }
func (l *Lease) By() string                                   { return "" }
func (l *Lease) Done(o Outcome, now time.Time) (ejected bool) { return false }

type Outcome uint8

const (
	Neutral Outcome = iota
	Served
	Failed
)

type Report struct{}
