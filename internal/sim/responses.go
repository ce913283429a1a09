package sim

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// maxStored is how many answers an engine keeps for clients that ask for them again; the oldest goes first.
const maxStored = 1000

// store keeps answers of the responses API by their id.
type store struct {
	mu    sync.Mutex
	byID  map[string][]byte
	order []string
}

func (s *store) put(id string, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string][]byte)
	}
	if len(s.order) == maxStored {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
	s.byID[id] = answer
	s.order = append(s.order, id)
}

func (s *store) get(id string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.byID[id]
	return b, ok
}

// response serves an answer that was stored.
func (x *exchange) response() {
	path, _ := x.path()
	id := strings.TrimPrefix(path, "/responses/")
	if b, ok := x.e.stored.get(id); ok {
		x.s.buf = append(x.s.buf, b...)
		x.s.put(atOnce)
		return
	}
	x.unknownResponse(id)
}

func (x *exchange) unknownResponse(id string) {
	x.fail(404, "", "response_id", "Response with id '"+id+"' not found.")
}

// responses serves OpenAI's responses.
func (x *exchange) responses() {
	root, ok := x.object()
	if !ok {
		return
	}
	input := root.get("input")
	if input.Type != gjson.String && !input.IsArray() {
		x.fail(400, "", "input", "The input must be a text or a list of items.")
		return
	}
	if id := root.get("previous_response_id"); id.Type == gjson.String {
		if _, known := x.e.stored.get(id.Str); !known && !x.e.off {
			x.unknownResponse(id.Str)
			return
		}
	}
	var p prompt
	p.words += countWords(strings.Trim(root.get("instructions").Raw, `"`))
	p.addItems(input)
	p.limit = int(root.get("max_output_tokens").Int())
	p.responseTools(root)

	r := &responding{x: x, root: root, id: x.id("resp_"), in: p.words}
	if t, calls := p.calls(); calls {
		r.tool, r.callID, r.itemID = &t, x.id("call_"), x.id("fc_")
		r.text = arguments(t.schema)
		r.pieces = splitArguments(r.text)
	} else {
		r.itemID = x.id("msg_")
		r.text, r.pieces, r.cut = x.reply(&p)
	}
	r.out = len(r.pieces) + x.b.Reasoning
	final := appendJSON(nil, r.object(r.status(), []any{r.item("completed", r.text)}))
	if s := root.get("store"); (!s.Exists() || s.Bool()) && !x.e.off {
		x.e.stored.put(r.id, final)
	}
	if x.q.Stream {
		r.play(final)
		return
	}
	x.s.buf = append(x.s.buf, final...)
	x.s.tokens = len(r.pieces)
	x.s.put(atOnce)
}

// addItems takes in the input of the responses API.
func (p *prompt) addItems(input gjson.Result) {
	if input.Type == gjson.String {
		p.add("user", input)
		return
	}
	input.ForEach(func(_, item gjson.Result) bool {
		switch kind := item.Get("type").Str; {
		case kind == "" || kind == "message":
			p.add(item.Get("role").Str, item.Get("content"))
		case strings.HasSuffix(kind, "_call_output"):
			p.words += countWords(item.Get("output").Raw)
			p.afterTool = true
		default:
			p.words += countWords(item.Raw)
		}
		return true
	})
}

// responseTools reads the tools of the responses API; those that are no functions cannot be called here.
func (p *prompt) responseTools(root members) {
	root.get("tools").ForEach(func(_, t gjson.Result) bool {
		if t.Get("type").Str == "function" {
			p.tools = append(p.tools, tool{t.Get("name").Str, t.Get("parameters")})
		}
		p.words += countWords(t.Raw)
		return true
	})
	switch c := root.get("tool_choice"); {
	case c.Str == "required":
		p.choice.must = true
	case c.Str == "none":
		p.choice.none = true
	case c.IsObject() && c.Get("type").Str == "function":
		p.choice = toolChoice{must: true, name: c.Get("name").Str}
	}
}

// responding is the making of an answer of the responses API: one output item, a message or the call of a function.
type responding struct {
	x            *exchange
	root         members
	id, itemID   string
	callID       string
	tool         *tool // nil: a message
	text         string
	pieces       []string
	cut          bool
	in, out, seq int
}

func (r *responding) status() string {
	if r.cut {
		return "incomplete"
	}
	return "completed"
}

// object returns the response with what the request set in it.
func (r *responding) object(status string, output []any) object {
	o := object{
		"id": r.id, "object": "response", "created_at": r.x.q.At.Unix(), "status": status, "model": r.x.q.Model, "output": output,
		"error": nil, "incomplete_details": nil, "usage": nil,
	}
	for name, usual := range map[string]any{
		"instructions": nil, "max_output_tokens": nil, "metadata": object{}, "parallel_tool_calls": true,
		"previous_response_id": nil, "store": true, "temperature": 1, "tool_choice": "auto", "tools": []any{}, "top_p": 1,
		"truncation": "disabled", "text": object{"format": object{"type": "text"}}, "reasoning": object{"effort": nil, "summary": nil},
	} {
		o[name] = usual
		if v := r.root.get(name); v.Exists() && v.Type != gjson.Null {
			o[name] = v.Value()
		}
	}
	if status == "in_progress" {
		return o
	}
	if r.cut {
		o["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	o["usage"] = object{
		"input_tokens": r.in, "input_tokens_details": object{"cached_tokens": min(r.in, r.x.b.Cached)},
		"output_tokens": r.out, "output_tokens_details": object{"reasoning_tokens": r.x.b.Reasoning}, "total_tokens": r.in + r.out,
	}
	return o
}

func textPart(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// item returns the output item with so much of its text.
func (r *responding) item(status, text string) object {
	if r.tool != nil {
		return object{
			"type": "function_call", "id": r.itemID, "call_id": r.callID, "name": r.tool.name, "arguments": text, "status": status,
		}
	}
	content := []any{}
	if status == "completed" {
		content = []any{textPart(text)}
		status = r.status()
	}
	return object{"type": "message", "id": r.itemID, "role": "assistant", "status": status, "content": content}
}

// event writes an event with the next number.
func (r *responding) event(name string, data object, p pause) {
	data["sequence_number"] = r.seq
	r.seq++
	r.x.named(name, data, p)
}

// play writes the events of a stream. The prefill lies between what only says that the request was taken and the rest.
func (r *responding) play(final []byte) {
	x := r.x
	x.s.stream, x.s.ctype = true, "text/event-stream"
	begun := r.object("in_progress", []any{})
	r.event("response.created", object{"response": begun}, atOnce)
	r.event("response.in_progress", object{"response": begun}, atOnce)
	r.event("response.output_item.added", object{"output_index": 0, "item": r.item("in_progress", "")}, firstToken)
	at := func(more object) object {
		more["item_id"], more["output_index"] = r.itemID, 0
		if r.tool == nil {
			more["content_index"] = 0
		}
		return more
	}
	delta, done := "response.output_text.delta", "response.output_text.done"
	whole := object{"text": r.text, "logprobs": []any{}}
	if r.tool != nil {
		delta, done = "response.function_call_arguments.delta", "response.function_call_arguments.done"
		whole = object{"arguments": r.text, "name": r.tool.name}
	} else {
		r.event("response.content_part.added", at(object{"part": textPart("")}), atOnce)
	}
	for i, piece := range r.pieces {
		pause := betweenToken
		if i == 0 {
			pause = atOnce
		}
		d := at(object{"delta": piece})
		if r.tool == nil {
			d["logprobs"] = []any{}
		}
		r.event(delta, d, pause)
	}
	r.event(done, at(whole), atOnce)
	if r.tool == nil {
		r.event("response.content_part.done", at(object{"part": textPart(r.text)}), atOnce)
	}
	r.event("response.output_item.done", object{"output_index": 0, "item": r.item("completed", r.text)}, atOnce)
	r.event("response."+r.status(), object{"response": json.RawMessage(final)}, atOnce)
}
