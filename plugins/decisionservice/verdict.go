package decisionservice

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
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
	if !json.Valid(answer) {
		return verdict{}, errMalformed
	}
	r := &reader{dec: json.NewDecoder(bytes.NewReader(answer)), options: options, chosen: -1, confidence: 1}
	r.dec.UseNumber()
	_, err := r.object(errDuplicate, r.only("answers", r.only(questionID, r.choice)))
	if err != nil {
		return verdict{}, err
	}
	return r.verdict()
}

// reader walks through an answer that is known to be JSON, and keeps what counts.
type reader struct {
	dec        *json.Decoder
	options    []string
	shares     []float64 // -1 where there is none; nil if there are no probabilities at all
	chosen     int       // -1 if none is named
	confidence float64
}

// member reads the value of an object's member, or leaves it where it is, to be passed over.
type member func(name string) (read bool, err error)

// only is a member that is an object, in which one member counts.
func (r *reader) only(wanted string, inside member) member {
	return func(name string) (bool, error) {
		if name != wanted {
			return false, nil
		}
		_, err := r.object(errDuplicate, inside)
		return true, err
	}
}

// object reads an object, and reports whether it is there: null is not. A member that was read must not come again, or
// the error is twice.
func (r *reader) object(twice refusal, read member) (present bool, err error) {
	token, err := r.dec.Token()
	switch {
	case err == nil && token == nil:
		return false, nil
	case err != nil || token != json.Delim('{'):
		return false, errMalformed
	}
	var seen []string
	for r.dec.More() {
		name, ok, err := scalar[string](r.dec)
		if err != nil || !ok {
			return false, errMalformed
		}
		if slices.Contains(seen, name) {
			return false, twice
		}
		counts, err := read(name)
		if err != nil {
			return false, err
		}
		if counts {
			seen = append(seen, name)
			continue
		}
		var passed json.RawMessage
		if r.dec.Decode(&passed) != nil {
			return false, errMalformed
		}
	}
	if _, err := r.dec.Token(); err != nil { // the brace
		return false, errMalformed
	}
	return true, nil
}

// scalar reads a value that must be a T, and reports whether it is there: null is not.
func scalar[T string | json.Number](dec *json.Decoder) (value T, present bool, err error) {
	token, err := dec.Token()
	if err == nil && token == nil {
		return value, false, nil
	}
	value, present = token.(T)
	if err != nil || !present {
		return value, false, errMalformed
	}
	return value, true, nil
}

// weight returns a number that is not negative and finite.
func weight(n json.Number) (value float64, ok bool) {
	value, err := strconv.ParseFloat(string(n), 64)
	return value, err == nil && value >= 0
}

// choice reads a member of the answer to a choice.
func (r *reader) choice(name string) (bool, error) {
	switch name {
	case "type":
		kind, ok, err := scalar[string](r.dec)
		if err == nil && ok && kind != "choice" {
			err = errMalformed
		}
		return true, err
	case "choice":
		option, ok, err := scalar[string](r.dec)
		if err == nil && ok {
			if r.chosen = slices.Index(r.options, option); r.chosen < 0 {
				err = errUnknownOption
			}
		}
		return true, err
	case "confidence":
		number, ok, err := scalar[json.Number](r.dec)
		if err == nil && ok {
			if r.confidence, ok = weight(number); !ok || r.confidence > 1 {
				err = errConfidence
			}
		}
		return true, err
	case "probabilities":
		return true, r.probabilities()
	}
	return false, nil
}

func (r *reader) probabilities() error {
	shares := slices.Repeat([]float64{-1}, len(r.options))
	present, err := r.object(errDuplicateOption, func(name string) (bool, error) {
		i := slices.Index(r.options, name)
		if i < 0 {
			return false, errUnknownOption
		}
		number, _, err := scalar[json.Number](r.dec)
		if err != nil {
			return true, err
		}
		share, ok := weight(number) // which null is not
		if !ok {
			return true, errProbability
		}
		shares[i] = share
		return true, nil
	})
	if present {
		r.shares = shares
	}
	return err
}

// verdict makes one of what was read.
func (r *reader) verdict() (verdict, error) {
	v := verdict{shares: r.shares, chosen: r.chosen, confidence: r.confidence}
	if v.shares == nil {
		if v.chosen < 0 {
			return verdict{}, errNoAnswer
		}
		v.shares = make([]float64, len(r.options))
		v.shares[v.chosen] = 1
		return v, nil
	}
	var sum float64
	for _, share := range v.shares {
		if share < 0 {
			return verdict{}, errProbability
		}
		sum += share
	}
	if !(sum > 0 && sum <= math.MaxFloat64) {
		return verdict{}, errProbability
	}
	top := 0
	for i := range v.shares {
		v.shares[i] /= sum
		if v.shares[i] > v.shares[top] {
			top = i
		}
	}
	if v.chosen < 0 {
		v.chosen = top
	}
	return v, nil
}
