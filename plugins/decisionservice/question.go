package decisionservice

import (
	"slices"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
	"github.com/gpustack/gpustack-gateway/lb"
)

// form is how the questions of one policy are written: everything that its configuration decides, as JSON. What is
// asked is a matter of the same bytes in the same order, so that equal questions are known to be equal.
type form struct {
	head    []byte            // up to the state
	middle  []byte            // from there to the options
	entries map[string][]byte // each option's name and description
}

const tail = `}}}}`

func newForm(model, instructions string, criteria map[string]string) *form {
	f := &form{entries: make(map[string][]byte, len(criteria))}
	f.head = append(jsonscan.AppendQuoted([]byte(`{"model":`), model), `,"state":`...)
	f.middle = jsonscan.AppendQuoted([]byte(`,"questions":{"`+questionID+`":{"type":"choice","instructions":`), instructions)
	f.middle = append(f.middle, `,"criteria":{`...)
	for name, description := range criteria {
		f.entries[name] = jsonscan.AppendQuoted(append(jsonscan.AppendQuoted(nil, name), ':'), description)
	}
	return f
}

// append appends the question which of the options should serve the task that state tells. An option without a
// criterion is offered with null.
func (f *form) append(dst, state []byte, options []string) []byte {
	dst = append(dst, f.head...)
	dst = jsonscan.AppendQuoted(dst, state)
	dst = append(dst, f.middle...)
	for i, option := range options {
		if i > 0 {
			dst = append(dst, ',')
		}
		if entry := f.entries[option]; entry != nil {
			dst = append(dst, entry...)
			continue
		}
		dst = append(jsonscan.AppendQuoted(dst, option), `:null`...)
	}
	return append(dst, tail...)
}

// optionsOf returns the distinct models of the live candidates, in their order.
func optionsOf(candidates []lb.Candidate, live []bool) []string {
	var options []string
	for i := range candidates {
		// A model's instances stand together, so the latest option is mostly the one.
		if model := candidates[i].Model; live[i] && !slices.Contains(options, model) {
			options = append(options, model)
		}
	}
	return options
}

// sheet is memory that a question is written in: the task's text, and the question with it.
type sheet struct{ state, question []byte }

// maxSheet is how much memory a sheet may keep while nobody uses it, in bytes.
const maxSheet = 256 << 10

func (v *voter) release(s *sheet) {
	if cap(s.state)+cap(s.question) <= maxSheet {
		v.sheets.Put(s)
	}
}
