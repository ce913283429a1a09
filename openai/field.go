package openai

import (
	"bytes"
	"fmt"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// field is a member of a request's body that the gateway acts on.
type field uint8

const (
	fieldModel field = iota
	fieldStream
	fieldPrevious
	fieldStreamOptions
	noField
)

var (
	fieldNames = [noField]string{"model", "stream", "previous_response_id", "stream_options"}
	foldNames  = [noField][]byte{[]byte("model"), []byte("stream"), []byte("previous_response_id"), []byte("stream_options")}
)

// longestName is the most bytes that a spelling of a field's name has: every character an escape.
const longestName = 6*len("previous_response_id") + 2

// fieldOf returns which field a name stands for. exact is false for a spelling that differs in case only: engines
// written in Go take it for the field (encoding/json folds case), those in Python do not. Nobody acts on such a spelling
// here, but beside the exact one it is a field written twice, of which two readers may see different values.
func fieldOf(quoted []byte, escaped bool) (f field, exact bool) {
	if len(quoted) > longestName {
		return noField, false
	}
	name := quoted[1 : len(quoted)-1]
	var buf [longestName]byte
	if escaped {
		name = jsonscan.AppendUnquoted(buf[:0], quoted)
	}
	switch string(name) {
	case "model":
		return fieldModel, true
	case "stream":
		return fieldStream, true
	case "previous_response_id":
		return fieldPrevious, true
	case "stream_options":
		return fieldStreamOptions, true
	}
	for i, folded := range foldNames {
		// A letter folds to one of at most three bytes.
		if len(name) >= len(folded) && len(name) <= 3*len(folded) && bytes.EqualFold(name, folded) {
			return field(i), false
		}
	}
	return noField, false
}

// fieldSet is a set of fields.
type fieldSet uint8

func (s fieldSet) has(f field) bool { return s>>f&1 != 0 }
func (s *fieldSet) add(f field)     { *s |= 1 << f }

// twice is the error for a field that the walk meets again, exactly or in another case.
func (s fieldSet) twice(f field, exact bool) *Error {
	e := writtenTwice(fieldNames[f])
	if !exact || !s.has(f) {
		e.Message = fmt.Sprintf("The field %q is written a second time in another case, which some engines take for the same "+
			"field; write it once.", fieldNames[f])
	}
	return e
}

func writtenTwice(name string) *Error {
	return &Error{Status: 400, Type: invalidRequest, Code: "duplicate_parameter", Param: name,
		Message: fmt.Sprintf("The field %s is written more than once; write it once. Escapes in its name make no difference.",
			quote(name))}
}

// wrongValue says what a field is, and what it must be.
func wrongValue(name string, kind jsonscan.Kind, raw []byte, must string) *Error {
	return &Error{Status: 400, Type: invalidRequest, Code: "invalid_value", Param: name,
		Message: fmt.Sprintf("The field %q is %s; it must be %s.", name, describe(kind, raw), must)}
}

func describe(kind jsonscan.Kind, raw []byte) string {
	switch kind {
	case jsonscan.String:
		if len(raw) == len(`""`) {
			return "an empty string"
		}
		return "the string " + quote(raw[1:len(raw)-1])
	case jsonscan.Number:
		return fmt.Sprintf("the number %.20s", raw)
	case jsonscan.Object:
		return "an object"
	case jsonscan.Array:
		return "an array"
	}
	return string(raw) // true, false, null
}

// notJSON says why a body can't be read.
func notJSON(err *jsonscan.Error) *Error {
	e := &Error{Status: 400, Type: invalidRequest, Code: "invalid_json"}
	switch err.Fault {
	case jsonscan.Empty:
		e.Message = "The request body is empty; it must be a JSON object."
	case jsonscan.WrongKind:
		e.Message = fmt.Sprintf("The request body is not a JSON object: %v.", err)
	default:
		e.Message = fmt.Sprintf("The request body is not valid JSON: %v.", err)
	}
	return e
}
