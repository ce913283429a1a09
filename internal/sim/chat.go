package sim

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// chat serves OpenAI's chat completions.
func (x *exchange) chat() {
	root, ok := x.object()
	if !ok {
		return
	}
	var p prompt
	if !p.addMessages(root.get("messages")) {
		x.fail(400, "", "messages", "The messages must be a list with at least one in it.")
		return
	}
	if n := root.get("n"); n.Exists() && n.Num != 1 {
		x.fail(400, "", "n", "This engine gives one choice.")
		return
	}
	p.limit = int(max(root.get("max_completion_tokens").Int(), root.get("max_tokens").Int()))
	p.chatTools(root)

	usage := root.get("stream_options").Get("include_usage").Bool()
	t, calls := p.calls()
	switch {
	case calls && x.q.Stream:
		x.streamChatTool(&p, t, usage)
	case calls:
		x.chatTool(&p, t)
	case x.q.Stream:
		x.streamChat(&p, usage)
	default:
		x.wholeChat(&p)
	}
}

// chatTools reads the tools of a chat request.
func (p *prompt) chatTools(root members) {
	root.get("tools").ForEach(func(_, t gjson.Result) bool {
		if f := t.Get("function"); f.Get("name").Str != "" {
			p.tools = append(p.tools, tool{f.Get("name").Str, f.Get("parameters")})
			p.words += countWords(f.Raw)
		}
		return true
	})
	switch c := root.get("tool_choice"); {
	case c.Str == "required":
		p.choice.must = true
	case c.Str == "none":
		p.choice.none = true
	case c.IsObject():
		p.choice = toolChoice{must: true, name: c.Get("function.name").Str}
	}
}

// appendChatHead appends the members that every object of an answer begins with.
func (x *exchange) appendChatHead(dst []byte, id, kind string) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","object":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, x.q.At.Unix(), 10)
	dst = append(dst, `,"model":`...)
	return appendString(dst, x.q.Model)
}

// appendUsage appends a usage in OpenAI's words.
func (x *exchange) appendUsage(dst []byte, in, out int) []byte {
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(out), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(in+out), 10)
	if x.b.Cached > 0 {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
		dst = strconv.AppendInt(dst, int64(min(in, x.b.Cached)), 10)
		dst = append(dst, '}')
	}
	if x.b.Reasoning > 0 {
		dst = append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, int64(x.b.Reasoning), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func stopReason(cut bool) string {
	if cut {
		return "length"
	}
	return "stop"
}

func (x *exchange) wholeChat(p *prompt) {
	said, words, cut := x.reply(p)
	b := x.appendChatHead(x.s.buf, x.id("chatcmpl-"), "chat.completion")
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	b = appendString(b, said)
	b = append(b, `},"logprobs":null,"finish_reason":"`...)
	b = append(b, stopReason(cut)...)
	b = append(b, `"}],`...)
	b = x.appendUsage(b, p.words, len(words)+x.b.Reasoning)
	b = append(b, '}')
	x.s.buf = b
	x.s.tokens = len(words)
	x.s.put(atOnce)
}

// chunks writes the events of a chat stream.
type chunks struct {
	x     *exchange
	head  []byte // of every chunk, up to its choices
	usage bool
}

func (x *exchange) newChunks(usage bool) *chunks {
	x.s.stream, x.s.ctype = true, "text/event-stream"
	x.c.chunk = append(x.c.chunk[:0], "data: "...)
	x.c.chunk = x.appendChatHead(x.c.chunk, x.id("chatcmpl-"), "chat.completion.chunk")
	return &chunks{x, x.c.chunk, usage}
}

// begin and end put the delta between them into a chunk.
func (c *chunks) begin() []byte {
	b := c.x.s.buf
	b = append(b, c.head...)
	return append(b, `,"choices":[{"index":0,"delta":{`...)
}

func (c *chunks) end(b []byte, finish string, p pause) {
	b = append(b, `},"finish_reason":`...)
	if finish == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, finish)
	}
	b = append(b, "}]}\n\n"...)
	c.x.s.buf = b
	c.x.event(p)
}

// finish ends the stream, after a chunk with the usage if that was asked for.
func (c *chunks) finish(in, out int) {
	if c.usage {
		b := c.x.s.buf
		b = append(b, c.head...)
		b = append(b, `,"choices":[],`...)
		b = c.x.appendUsage(b, in, out)
		b = append(b, "}\n\n"...)
		c.x.s.buf = b
		c.x.event(atOnce)
	}
	c.x.s.buf = append(c.x.s.buf, "data: [DONE]\n\n"...)
	c.x.s.put(atOnce)
}

func (x *exchange) streamChat(p *prompt, usage bool) {
	_, words, cut := x.reply(p)
	c := x.newChunks(usage)
	c.end(append(c.begin(), `"role":"assistant","content":""`...), "", firstToken)
	for i, w := range words {
		after := betweenToken
		if i == 0 {
			after = atOnce
		}
		c.end(appendString(append(c.begin(), `"content":`...), w), "", after)
	}
	c.end(c.begin(), stopReason(cut), atOnce)
	c.finish(p.words, len(words)+x.b.Reasoning)
}

func (x *exchange) chatTool(p *prompt, t tool) {
	args := arguments(t.schema)
	b := x.appendChatHead(x.s.buf, x.id("chatcmpl-"), "chat.completion")
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[`...)
	b = appendJSON(b, object{"id": x.id("call_"), "type": "function", "function": object{"name": t.name, "arguments": args}})
	b = append(b, `]},"logprobs":null,"finish_reason":"tool_calls"}],`...)
	b = x.appendUsage(b, p.words, countWords(args)+x.b.Reasoning)
	b = append(b, '}')
	x.s.buf = b
	x.s.put(atOnce)
}

func (x *exchange) streamChatTool(p *prompt, t tool, usage bool) {
	args := arguments(t.schema)
	c := x.newChunks(usage)
	c.end(append(c.begin(), `"role":"assistant","content":null`...), "", firstToken)
	call := object{"index": 0, "id": x.id("call_"), "type": "function", "function": object{"name": t.name, "arguments": ""}}
	c.end(appendJSON(append(c.begin(), `"tool_calls":`...), []object{call}), "", atOnce)
	for _, part := range splitArguments(args) {
		more := object{"index": 0, "function": object{"arguments": part}}
		c.end(appendJSON(append(c.begin(), `"tool_calls":`...), []object{more}), "", betweenToken)
	}
	c.end(c.begin(), "tool_calls", atOnce)
	c.finish(p.words, countWords(args)+x.b.Reasoning)
}
