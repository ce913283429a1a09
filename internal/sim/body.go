package sim

import (
	"encoding/json"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// text returns b as a string that is valid as long as b is not changed.
func text(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // a body is not changed while it is served
}

// members are those of a JSON object, in their order. A body is walked over once: each look-up in it would do so again.
type members []member

type member struct {
	name  string
	value gjson.Result
}

// get returns the last value of a name, as Python does, or a result that does not exist.
func (m members) get(name string) gjson.Result {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].name == name {
			return m[i].value
		}
	}
	return gjson.Result{}
}

// peek reads the members of a JSON body, and notes the model and the wish for a stream that a body or a form states.
func (x *exchange) peek() {
	q := x.q
	x.members = x.c.members[:0]
	if boundary, ok := formBoundary(q.Get("Content-Type")); ok {
		q.Model, q.Stream = peekForm(q.Body, boundary)
		return
	}
	root := gjson.Parse(text(q.Body))
	if !root.IsObject() {
		return
	}
	root.ForEach(func(name, value gjson.Result) bool {
		x.members = append(x.members, member{name.Str, value})
		return true
	})
	x.c.members = x.members
	q.Model = strings.Clone(x.members.get("model").Str)
	q.Stream = x.members.get("stream").Type == gjson.True
}

// object returns the body's members, if it is a JSON object that names a model that is served.
func (x *exchange) object() (members, bool) {
	body := text(x.q.Body)
	if !x.e.off && !json.Valid(x.q.Body) {
		x.fail(400, "", "", "The body is not valid JSON.")
		return nil, false
	}
	if !strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "{") {
		x.fail(400, "", "", "The body is not a JSON object.")
		return nil, false
	}
	if model := x.members.get("model"); model.Type != gjson.String && model.Exists() {
		x.fail(400, "", "model", "The model must be a string.")
		return nil, false
	}
	if stream := x.members.get("stream"); stream.Exists() && !stream.IsBool() && stream.Type != gjson.Null {
		x.fail(400, "", "stream", "The member stream must be a boolean.")
		return nil, false
	}
	return x.members, x.serves(x.q.Model)
}
