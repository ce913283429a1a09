package openai

import (
	"bytes"
	"strconv"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// Usage is what an answer says it took, in tokens, each count under its own API's meaning: Anthropic's Input is without
// what was read from the cache, OpenAI's with it.
type Usage struct {
	Input     int64 // prompt_tokens or input_tokens; what is left of total_tokens where that is all there is
	Output    int64 // completion_tokens or output_tokens, reasoning included
	Cached    int64 // prompt_tokens_details.cached_tokens, input_tokens_details.cached_tokens or cache_read_input_tokens
	Reasoning int64 // reasoning_tokens of the details of the output
	Known     bool  // something has been said
}

// Read takes in what a whole answer says, or one event of a stream, of any API: "usage" at the top (chat, completions,
// embeddings, rerank, messages, and message_delta), in "response" (the last event of responses, whether completed,
// incomplete or failed), or in "message" (message_start). Counts of a stream only rise, so of several the largest stands:
// some servers send zeros where they mean nothing. What is not JSON, or says nothing of the usage, changes nothing.
func (u *Usage) Read(data []byte) {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return
	}
	var s jsonscan.Scanner
	for s.Object(data); s.Next(); {
		if s.Kind != jsonscan.Object {
			continue
		}
		value := s.Value.Of(data)
		switch string(s.Key.Of(data)) {
		case `"usage"`:
			u.read(value)
		case `"response"`, `"message"`:
			if m, found, _ := find(value, "usage"); found && m.kind == jsonscan.Object {
				u.read(m.value.Of(value))
			}
		}
	}
}

// ReadEnd takes in what a whole answer says whose end only is at hand, if its usage is in that. A member counts that all
// braces behind it leave at the top: with a brace before it, the rest is an object of its own.
func (u *Usage) ReadEnd(end []byte) {
	at := bytes.LastIndex(end, []byte(`"usage"`))
	if at < 0 {
		return
	}
	rest := append([]byte{'{'}, end[at:]...)
	var s jsonscan.Scanner
	for s.Object(rest); s.Next(); {
		continue
	}
	if s.Err() == nil {
		u.Read(rest)
	}
}

func (u *Usage) read(usage []byte) {
	var input, output, total int64 = -1, -1, -1
	var s jsonscan.Scanner
	for s.Object(usage); s.Next(); {
		value := s.Value.Of(usage)
		switch string(s.Key.Of(usage)) {
		case `"prompt_tokens"`, `"input_tokens"`:
			input = max(input, tokens(value, s.Kind))
		case `"completion_tokens"`, `"output_tokens"`:
			output = max(output, tokens(value, s.Kind))
		case `"total_tokens"`:
			total = tokens(value, s.Kind)
		case `"cache_read_input_tokens"`:
			u.Cached = max(u.Cached, tokens(value, s.Kind))
		case `"prompt_tokens_details"`, `"input_tokens_details"`:
			u.Cached = max(u.Cached, detail(value, s.Kind, "cached_tokens"))
		case `"completion_tokens_details"`, `"output_tokens_details"`:
			u.Reasoning = max(u.Reasoning, detail(value, s.Kind, "reasoning_tokens"))
		}
	}
	if input < 0 && total >= 0 {
		input = max(0, total-max(0, output))
	}
	u.Known = u.Known || input >= 0 || output >= 0
	u.Input, u.Output = max(u.Input, input), max(u.Output, output)
}

// detail returns a count of an object of counts, negative if there is none.
func detail(object []byte, kind jsonscan.Kind, name string) int64 {
	if kind != jsonscan.Object {
		return -1
	}
	m, _, _ := find(object, name)
	return tokens(m.value.Of(object), m.kind)
}

// tokens returns a count of tokens, negative if that is not what the value is.
func tokens(number []byte, kind jsonscan.Kind) int64 {
	if kind != jsonscan.Number {
		return -1
	}
	if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(string(number), 64); err == nil && f >= 0 && f < 1<<53 {
		return int64(f)
	}
	return -1
}

// ResponseID returns the id by which a later request can go on from a response: out of a whole answer of the Responses
// API, or an event of its stream that carries the response. It is empty if there is none.
func ResponseID(data []byte) []byte {
	var id []byte
	isResponse := false
	var s jsonscan.Scanner
	for s.Object(data); s.Next(); {
		value := s.Value.Of(data)
		switch string(s.Key.Of(data)) {
		case `"object"`:
			isResponse = string(value) == `"response"`
		case `"id"`:
			id = plainString(value, s.Kind)
		case `"response"`:
			if s.Kind == jsonscan.Object {
				m, _, _ := find(value, "id")
				return plainString(m.value.Of(value), m.kind)
			}
		}
		if isResponse && len(id) > 0 {
			return id
		}
	}
	return nil
}

func plainString(quoted []byte, kind jsonscan.Kind) []byte {
	switch {
	case kind != jsonscan.String:
		return nil
	case bytes.IndexByte(quoted, '\\') >= 0:
		return jsonscan.AppendUnquoted(nil, quoted)
	}
	return quoted[1 : len(quoted)-1]
}
