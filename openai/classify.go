package openai

import (
	"bytes"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// Class is what an event means to who waits for the first one that says something.
type Class uint8

// The classes of events.
const (
	Harmless   Class = iota // says nothing yet: the role of a chat, response.created and in_progress, message_start, a ping
	Meaningful              // a part of the answer, or its end
	Failure                 // an error instead of an answer
)

// Classify tells what an event means. Whatever is not known is meaningful: it is better to pass an event on than to wait
// for another.
func Classify(e Event) Class {
	data := bytes.TrimSpace(e.Data)
	switch {
	case e.Oversized:
		return Meaningful
	case string(e.Name) == "error":
		return Failure
	case len(data) == 0:
		return Harmless
	case data[0] != '{':
		return Meaningful // the end of a chat: [DONE]
	}
	class := Meaningful
	var s jsonscan.Scanner
	for s.Object(data); s.Next(); {
		value := s.Value.Of(data)
		switch string(s.Key.Of(data)) {
		case `"error"`:
			if !isEmpty(value, s.Kind) {
				return Failure
			}
		case `"object"`:
			if string(value) == `"error"` {
				return Failure
			}
		case `"type"`:
			if class = classOfType(string(value)); class == Failure {
				return Failure
			}
		case `"choices"`:
			if s.Kind == jsonscan.Array && !anyChoiceSays(value) {
				class = Harmless
			}
		}
	}
	if s.Err() != nil {
		return Meaningful
	}
	return class
}

func classOfType(quoted string) Class {
	switch quoted {
	case `"error"`, `"response.failed"`:
		return Failure
	case `"response.created"`, `"response.queued"`, `"response.in_progress"`, `"message_start"`, `"ping"`:
		return Harmless
	}
	return Meaningful
}

// anyChoiceSays reports whether one of the choices of a chunk has a text, a call of a tool, or an end.
func anyChoiceSays(choices []byte) bool {
	var s jsonscan.Scanner
	for s.Array(choices); s.Next(); {
		if s.Kind == jsonscan.Object && choiceSays(s.Value.Of(choices)) {
			return true
		}
	}
	return false
}

func choiceSays(choice []byte) bool {
	var s jsonscan.Scanner
	for s.Object(choice); s.Next(); {
		value := s.Value.Of(choice)
		switch string(s.Key.Of(choice)) {
		case `"text"`, `"finish_reason"`:
			if !isEmpty(value, s.Kind) {
				return true
			}
		case `"delta"`:
			if s.Kind == jsonscan.Object && deltaSays(value) {
				return true
			}
		}
	}
	return false
}

// deltaSays reports whether there is anything in a delta besides a role: contents have many names.
func deltaSays(delta []byte) bool {
	var s jsonscan.Scanner
	for s.Object(delta); s.Next(); {
		if string(s.Key.Of(delta)) != `"role"` && !isEmpty(s.Value.Of(delta), s.Kind) {
			return true
		}
	}
	return false
}

// isEmpty reports whether a value is null, false, or a string, array or object with nothing in it.
func isEmpty(value []byte, kind jsonscan.Kind) bool {
	switch kind {
	case jsonscan.None, jsonscan.Null, jsonscan.False:
		return true
	case jsonscan.String:
		return len(value) == len(`""`)
	case jsonscan.Array, jsonscan.Object:
		return len(bytes.TrimSpace(value[1:len(value)-1])) == 0
	}
	return false
}
