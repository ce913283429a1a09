package sim

import "github.com/tidwall/gjson"

// message reads a request of Anthropic's messages.
func (x *exchange) message() (p prompt, ok bool) {
	root, ok := x.object()
	if !ok {
		return p, false
	}
	p.add("system", root.get("system"))
	if !p.addMessages(root.get("messages")) {
		x.fail(400, "", "", "messages: at least one message is required")
		return p, false
	}
	root.get("tools").ForEach(func(_, t gjson.Result) bool {
		if t.Get("input_schema").Exists() {
			p.tools = append(p.tools, tool{t.Get("name").Str, t.Get("input_schema")})
		}
		p.words += countWords(t.Raw)
		return true
	})
	switch choice := root.get("tool_choice"); choice.Get("type").Str {
	case "any":
		p.choice.must = true
	case "tool":
		p.choice = toolChoice{must: true, name: choice.Get("name").Str}
	case "none":
		p.choice.none = true
	}
	return p, true
}

// countTokens serves /messages/count_tokens.
func (x *exchange) countTokens() {
	p, ok := x.message()
	if !ok {
		return
	}
	x.s.buf = appendJSON(x.s.buf, object{"input_tokens": p.words})
	x.s.put(atOnce)
}

// messages serves Anthropic's messages.
func (x *exchange) messages() {
	p, ok := x.message()
	if !ok {
		return
	}
	limit := x.members.get("max_tokens")
	if limit.Type != gjson.Number || limit.Num < 1 {
		x.fail(400, "", "", "max_tokens: a positive number is required")
		return
	}
	p.limit = int(limit.Num)
	var m spoken
	if t, calls := p.calls(); calls {
		m = spoken{tool: &t, pieces: splitArguments(arguments(t.schema)), stop: "tool_use", id: x.id("toolu_")}
	} else {
		text, words, cut := x.reply(&p)
		m = spoken{text: text, pieces: words, stop: "end_turn"}
		if cut {
			m.stop = "max_tokens"
		}
	}
	m.in, m.out = p.words, len(m.pieces)+x.b.Reasoning
	if x.q.Stream {
		x.streamMessage(&m)
		return
	}
	x.s.buf = appendJSON(x.s.buf, x.messageObject([]any{m.block(true)}, m.stop, x.anthropicUsage(m.in, m.out)))
	x.s.tokens = len(m.pieces)
	x.s.put(atOnce)
}

// spoken is the one block of an answer: a text, or the call of a tool.
type spoken struct {
	text    string
	tool    *tool
	id      string // of the call
	pieces  []string
	stop    string
	in, out int
}

// block returns the content block, whole or as it stands at the start of a stream.
func (m *spoken) block(whole bool) object {
	switch {
	case m.tool == nil && whole:
		return object{"type": "text", "text": m.text}
	case m.tool == nil:
		return object{"type": "text", "text": ""}
	}
	input := any(object{})
	if whole {
		input = gjson.Parse(arguments(m.tool.schema)).Value()
	}
	return object{"type": "tool_use", "id": m.id, "name": m.tool.name, "input": input}
}

// delta returns what a piece adds to the block.
func (m *spoken) delta(piece string) object {
	if m.tool == nil {
		return object{"type": "text_delta", "text": piece}
	}
	return object{"type": "input_json_delta", "partial_json": piece}
}

func (x *exchange) messageObject(content []any, stop any, usage object) object {
	return object{
		"id": x.id("msg_"), "type": "message", "role": "assistant", "model": x.q.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
}

// anthropicUsage counts as Anthropic does: what was read from the cache is no input.
func (x *exchange) anthropicUsage(in, out int) object {
	cached := min(in, x.b.Cached)
	return object{
		"input_tokens": in - cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached, "output_tokens": out,
	}
}

func (x *exchange) streamMessage(m *spoken) {
	x.s.stream, x.s.ctype = true, "text/event-stream"
	x.named("message_start", object{"message": x.messageObject([]any{}, nil, x.anthropicUsage(m.in, min(1, m.out)))}, firstToken)
	x.named("content_block_start", object{"index": 0, "content_block": m.block(false)}, atOnce)
	x.named("ping", object{}, atOnce)
	for i, piece := range m.pieces {
		pause := betweenToken
		if i == 0 {
			pause = atOnce
		}
		x.named("content_block_delta", object{"index": 0, "delta": m.delta(piece)}, pause)
	}
	x.named("content_block_stop", object{"index": 0}, atOnce)
	x.named("message_delta", object{
		"delta": object{"stop_reason": m.stop, "stop_sequence": nil}, "usage": x.anthropicUsage(m.in, m.out),
	}, atOnce)
	x.named("message_stop", object{}, atOnce)
}

// named writes an event whose name is also the type in its data.
func (x *exchange) named(name string, data object, p pause) {
	data["type"] = name
	b := x.s.buf
	b = append(b, "event: "...)
	b = append(b, name...)
	b = append(b, "\ndata: "...)
	b = appendJSON(b, data)
	b = append(b, "\n\n"...)
	x.s.buf = b
	x.event(p)
}
