package openai

import (
	"bytes"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// TaskText appends the text of the task in the shape of the endpoint's API: system text and recent turns, at most limit
// bytes of it. Each text is a line that begins with who says it ("user: Hello"), or with the field's name where the API
// knows no roles ("prompt: Hello"). Only texts are taken: no images, no audio, no files, no arguments of tools; data in
// base64 inside a text is replaced by a marker.
//
// What is longer than limit is cut: the system text to a quarter of it, of which it keeps its beginning; the turns to what
// is left, newest first. The oldest turn that is kept may lose its beginning. Nothing is cut inside a character. Of
// requests with more than 1,024 turns the newest are looked at.
func (c *Call) TaskText(dst []byte, e *Endpoint, limit int) []byte {
	if c.form != JSON || e == nil || limit <= 0 {
		return dst
	}
	t := &c.task
	t.reset()
	t.gather(c, e.Name)
	return t.append(dst, c.body, limit)
}

// task is where the texts of a request stand.
type task struct {
	system []source // the first maxSystem
	turns  []source // a ring of the last maxTurns
	count  int      // of all turns
}

// source is a value of the body with text in it: a message, or a content with the label of who says it.
type source struct {
	value jsonscan.Span
	kind  jsonscan.Kind
	label string // empty for a message, which names its own
	size  int    // of its lines, once it has been measured, plus one
}

const (
	maxSystem   = 64
	maxTurns    = 1024
	keepSources = 128 // memory for them that outlives a request
)

func (t *task) reset() {
	t.system, t.count = t.system[:0], 0
	if t.turns = t.turns[:0]; cap(t.turns) > keepSources {
		t.turns = nil
	}
}

func (t *task) addSystem(s source) {
	if len(t.system) < maxSystem {
		t.system = append(t.system, s)
	}
}

func (t *task) addTurn(s source) {
	if len(t.turns) < maxTurns {
		t.turns = append(t.turns, s)
	} else {
		t.turns[t.count%maxTurns] = s
	}
	t.count++
}

// turn returns the i-th newest turn.
func (t *task) turn(i int) *source { return &t.turns[(t.count-1-i)%maxTurns] }

const (
	saysSystem = "system"
	saysUser   = "user"
	saysTool   = "tool"
)

// gather finds the texts of a request.
func (t *task) gather(c *Call, endpoint string) {
	switch endpoint {
	case "chat":
		t.messages(c, "messages")
	case "messages", "count_tokens":
		t.systemField(c, "system")
		t.messages(c, "messages")
	case "responses":
		t.systemField(c, "instructions")
		if m, found := c.field("input"); found && m.kind == jsonscan.String {
			t.addTurn(source{value: m.value, kind: m.kind, label: saysUser})
		}
		t.messages(c, "input")
	case "completions", "images":
		t.texts(c, "prompt")
	case "embeddings", "moderations", "speech":
		t.texts(c, "input")
	case "rerank":
		t.texts(c, "query")
	case "score":
		t.texts(c, "text_1")
		t.texts(c, "text_2")
	case "systemone":
		t.texts(c, "state")
	}
}

// field finds a member of the body. A member that is written twice counts as it is written first: the text is advice.
func (c *Call) field(name string) (member, bool) {
	m, found, _ := c.find(jsonscan.Span{Until: len(c.body)}, name, 0)
	return m, found
}

func (t *task) systemField(c *Call, name string) {
	if m, found := c.field(name); found {
		t.addSystem(source{value: m.value, kind: m.kind, label: saysSystem})
	}
}

// texts adds a field that is a text, or a list of texts.
func (t *task) texts(c *Call, name string) {
	m, found := c.field(name)
	switch {
	case found && m.kind == jsonscan.String:
		t.addTurn(source{value: m.value, kind: m.kind, label: name})
	case found && m.kind == jsonscan.Array:
		array := m.value.Of(c.body)
		var s jsonscan.Scanner
		for s.Array(array); s.Next(); {
			if s.Kind == jsonscan.String {
				t.addTurn(source{value: shift(s.Value, m.value.From), kind: s.Kind, label: name})
			}
		}
	}
}

// messages adds a field that is a list of messages.
func (t *task) messages(c *Call, name string) {
	m, found := c.field(name)
	if !found || m.kind != jsonscan.Array {
		return
	}
	array := m.value.Of(c.body)
	var s jsonscan.Scanner
	for s.Array(array); s.Next(); {
		if s.Kind != jsonscan.Object {
			continue
		}
		message := source{value: shift(s.Value, m.value.From), kind: s.Kind}
		if isSystem(s.Value.Of(array)) {
			t.addSystem(message)
		} else {
			t.addTurn(message)
		}
	}
}

func shift(s jsonscan.Span, by int) jsonscan.Span {
	return jsonscan.Span{From: s.From + by, Until: s.Until + by}
}

// isSystem reports whether a message is one of the operator's own. It looks no further than the role.
func isSystem(message []byte) bool {
	var s jsonscan.Scanner
	for s.Object(message); s.Next(); {
		if isName(s.Key.Of(message), s.KeyEscaped, "role") {
			return s.Kind == jsonscan.String && roleOf(s.Value.Of(message)) == saysSystem
		}
	}
	return false
}

// roleOf returns the label of a role. Who has none that is known is taken for the user.
func roleOf(quoted []byte) string {
	for _, r := range [...]struct{ role, label string }{{"user", saysUser}, {"assistant", "assistant"}, {"system", saysSystem},
		{"developer", saysSystem}, {"tool", saysTool}, {"function", saysTool}} {
		if jsonscan.Equal(quoted, r.role) {
			return r.label
		}
	}
	return saysUser
}

// write writes the lines of a source.
func (s *source) write(w *lines, body []byte) {
	if s.label != "" {
		writeContent(w, s.value.Of(body), s.kind, s.label, true)
		return
	}
	message := s.value.Of(body)
	label := saysUser
	var m, output, kind member
	var sc jsonscan.Scanner
	for sc.Object(message); sc.Next(); {
		found := member{value: sc.Value, kind: sc.Kind}
		switch key := sc.Key.Of(message); {
		case isName(key, sc.KeyEscaped, "role") && sc.Kind == jsonscan.String:
			label = roleOf(sc.Value.Of(message))
		case isName(key, sc.KeyEscaped, "content"):
			m = found
		case isName(key, sc.KeyEscaped, "output"):
			output = found
		case isName(key, sc.KeyEscaped, "type") && sc.Kind == jsonscan.String:
			kind = found
		}
	}
	// Items of the Responses API have a type: a message, or what a tool gave ("function_call_output" and others). All
	// the others are the model's own doing.
	if kind.kind != jsonscan.None && !jsonscan.Equal(kind.value.Of(message), "message") {
		if !bytes.HasSuffix(kind.value.Of(message), []byte(`_output"`)) {
			return
		}
		m, label = output, saysTool
	}
	writeContent(w, m.value.Of(message), m.kind, label, true)
}

// writeContent writes a content: a text, or a list of parts of which those are taken that are texts, and the results of
// tools, which are contents themselves.
func writeContent(w *lines, content []byte, kind jsonscan.Kind, label string, results bool) {
	if kind == jsonscan.String {
		w.line(label, content)
	}
	if kind != jsonscan.Array {
		return
	}
	var s jsonscan.Scanner
	for s.Array(content); s.Next(); {
		switch part := s.Value.Of(content); s.Kind {
		case jsonscan.String:
			w.line(label, part)
		case jsonscan.Object:
			writePart(w, part, label, results)
		}
	}
}

func writePart(w *lines, part []byte, label string, results bool) {
	var kind, text, content member
	var s jsonscan.Scanner
	for s.Object(part); s.Next(); {
		found := member{value: s.Value, kind: s.Kind}
		switch key := s.Key.Of(part); {
		case isName(key, s.KeyEscaped, "type"):
			kind = found
		case isName(key, s.KeyEscaped, "text"):
			text = found
		case isName(key, s.KeyEscaped, "content"):
			content = found
		}
	}
	if kind.kind != jsonscan.String {
		return
	}
	switch name := kind.value.Of(part); {
	case jsonscan.Equal(name, "text"), jsonscan.Equal(name, "input_text"), jsonscan.Equal(name, "output_text"):
		if text.kind == jsonscan.String {
			w.line(label, text.value.Of(part))
		}
	case results && jsonscan.Equal(name, "tool_result"):
		writeContent(w, content.value.Of(part), content.kind, saysTool, false)
	}
}
