package decisionservice

import (
	"math"
	"slices"
	"strconv"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// maxAnswer is the largest answer that is looked at, in bytes. One about 255 options is a tenth of it.
const maxAnswer = 64 << 10

// questionID is the name of the one question that is asked, and of its answer.
const questionID = "model_selection"

// verdict is what a service said about the options, as far as it can be believed.
type verdict struct {
	shares     []float64 // the probability of each option, in their order; together they are 1
	chosen     int       // position of the option that the service named, else of the most probable one
	confidence float64   // from 0 to 1
}

// refusal is why an answer is not believed. Its text is one of the few below, so that it can be a metric's label.
type refusal string

// Why an answer is not believed.
const (
	errTooLarge        = refusal("too_large")        // more than maxAnswer bytes
	errMalformed       = refusal("malformed")        // not JSON, or not of the form that the contract gives it
	errDuplicate       = refusal("duplicate_member") // a member that counts is there twice
	errNoAnswer        = refusal("no_answer")        // nothing about the question
	errUnknownOption   = refusal("unknown_option")   // names something that was not offered
	errDuplicateOption = refusal("duplicate_option") // a probability is there twice
	errProbability     = refusal("bad_probability")  // missing, negative, not finite, or all zero
	errConfidence      = refusal("bad_confidence")   // not from 0 to 1
)

func (r refusal) Error() string { return string(r) }

// believe reads an answer to a question about the options. Answers are hostile input: whatever is odd about one is a
// refusal, which is the error. Members that have no meaning here are passed over, members that are null count as absent.
//
// Probabilities are divided by their sum, since services round, and some answer in hundredths. They decide even where
// the option that is named is not the most probable one. An option that is named without any probabilities has all of
// it; an answer without a confidence is certain.
func believe(answer []byte, options []string) (verdict, error) {
	if len(answer) > maxAnswer {
		return verdict{}, errTooLarge
	}
	var answers, choice [1]value
	var said [4]value
	if err := (value{answer, jsonscan.Object}).members([]string{"answers"}, answers[:]); err != nil {
		return verdict{}, err
	}
	if err := answers[0].members([]string{questionID}, choice[:]); err != nil {
		return verdict{}, err
	}
	if err := choice[0].members([]string{"type", "choice", "confidence", "probabilities"}, said[:]); err != nil {
		return verdict{}, err
	}
	return weigh(said[0], said[1], said[2], said[3], options)
}

// value is a value as it stands in the answer.
type value struct {
	text []byte
	kind jsonscan.Kind
}

// absent reports whether there is no value, or null.
func (v value) absent() bool { return v.kind == jsonscan.None || v.kind == jsonscan.Null }

// members finds members of an object, each of which may be there once. An absent object has none.
func (v value) members(names []string, found []value) error {
	return v.walk(func(name []byte, member value) error {
		for i := range names {
			if !jsonscan.Equal(name, names[i]) {
				continue
			}
			if found[i].kind != jsonscan.None {
				return errDuplicate
			}
			found[i] = member
		}
		return nil
	})
}

// walk takes each member of an object in turn.
func (v value) walk(each func(name []byte, member value) error) error {
	if v.absent() {
		return nil
	}
	if v.kind != jsonscan.Object {
		return errMalformed
	}
	var s jsonscan.Scanner
	s.Object(v.text)
	for s.Next() {
		if err := each(s.Key.Of(v.text), value{s.Value.Of(v.text), s.Kind}); err != nil {
			return err
		}
	}
	if s.Err() != nil {
		return errMalformed
	}
	return nil
}

// among returns the position of the option that a string names.
func (v value) among(options []string) (int, error) {
	if v.kind != jsonscan.String {
		return 0, errMalformed
	}
	i := slices.IndexFunc(options, func(option string) bool { return jsonscan.Equal(v.text, option) })
	if i < 0 {
		return 0, errUnknownOption
	}
	return i, nil
}

// number returns a number that is neither negative nor infinite. If it is not one, the error is wrong.
func (v value) number(wrong refusal) (float64, error) {
	if v.kind != jsonscan.Number {
		return 0, errMalformed
	}
	n, err := strconv.ParseFloat(string(v.text), 64)
	if err != nil || n < 0 {
		return 0, wrong
	}
	return n, nil
}

// weigh makes a verdict of what the answer says.
func weigh(kind, choice, confidence, probabilities value, options []string) (v verdict, err error) {
	if !kind.absent() {
		if _, err := kind.among([]string{"choice"}); err != nil {
			return v, errMalformed
		}
	}
	v = verdict{chosen: -1, confidence: 1}
	if !choice.absent() {
		if v.chosen, err = choice.among(options); err != nil {
			return v, err
		}
	}
	if !confidence.absent() {
		if v.confidence, err = confidence.number(errConfidence); err != nil {
			return v, err
		}
		if v.confidence > 1 {
			return v, errConfidence
		}
	}
	if probabilities.absent() {
		if v.chosen < 0 {
			return v, errNoAnswer
		}
		v.shares = make([]float64, len(options))
		v.shares[v.chosen] = 1
		return v, nil
	}
	if v.shares, err = probabilities.shares(options); err != nil {
		return v, err
	}
	if v.chosen < 0 {
		v.chosen = slices.Index(v.shares, slices.Max(v.shares))
	}
	return v, nil
}

// shares returns the probability of each option, divided by the sum of all.
func (v value) shares(options []string) ([]float64, error) {
	shares := make([]float64, len(options))
	for i := range shares {
		shares[i] = -1
	}
	var sum float64
	err := v.walk(func(name []byte, probability value) error {
		i, err := value{name, jsonscan.String}.among(options)
		if err != nil {
			return err
		}
		if shares[i] >= 0 {
			return errDuplicateOption
		}
		if probability.absent() {
			return errProbability
		}
		shares[i], err = probability.number(errProbability)
		sum += shares[i]
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case slices.Contains(shares, -1) || !(sum > 0 && sum <= math.MaxFloat64):
		return nil, errProbability
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares, nil
}
