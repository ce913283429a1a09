package openai

import (
	"bytes"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// AskUsage returns how the body of a chat that is to be streamed has to be changed so that its engine tells the usage in
// an event of its own, which it does if stream_options.include_usage is true: text goes in the place of the bytes from
// from until until. The rest of the body stays as it is. ok is false if the client asked for that itself, or if the body
// is not one of a stream, or holds something else than it should at that place.
func (c *Call) AskUsage() (from, until int, text string, ok bool) {
	if c.form != JSON || !c.stream || c.includeUsage {
		return 0, 0, "", false
	}
	whole := jsonscan.Span{Until: len(c.body)}
	options, found, _ := c.find(whole, "stream_options", 0)
	switch {
	case !found:
		from = bytes.IndexByte(c.body, '{') + 1
		return from, from, `"stream_options":{"include_usage":true},`, true // a model follows
	case options.kind == jsonscan.Null:
		return options.value.From, options.value.Until, `{"include_usage":true}`, true
	case options.kind != jsonscan.Object:
		return 0, 0, "", false
	}
	usage, found, _ := c.find(options.value, "include_usage", 1)
	switch {
	case !found:
		from = options.value.From + 1
		if empty(options.value.Of(c.body)) {
			return from, from, `"include_usage":true`, true
		}
		return from, from, `"include_usage":true,`, true
	case usage.kind == jsonscan.False, usage.kind == jsonscan.Null:
		return usage.value.From, usage.value.Until, "true", true
	}
	return 0, 0, "", false
}

// empty reports whether a JSON object has no members.
func empty(object []byte) bool {
	return len(bytes.TrimLeft(object[1:], " \t\r\n")) == 1
}

// UsageOnly reports whether an event of a chat's stream says nothing but the usage: it has no choices.
func UsageOnly(e Event) bool {
	data := bytes.TrimSpace(e.Data)
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return false
	}
	var usage, choices bool
	var s jsonscan.Scanner
	for s.Object(data); s.Next(); {
		switch value := s.Value.Of(data); string(s.Key.Of(data)) {
		case `"usage"`:
			usage = s.Kind == jsonscan.Object
		case `"choices"`:
			choices = s.Kind == jsonscan.Array && len(bytes.TrimSpace(value[1:len(value)-1])) == 0
		}
	}
	return s.Err() == nil && usage && choices
}
