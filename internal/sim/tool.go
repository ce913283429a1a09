package sim

import "github.com/tidwall/gjson"

// arguments returns, as JSON, what a tool is called with: every member that its schema requires, with the simplest
// value of its type.
func arguments(schema gjson.Result) string {
	if !schema.IsObject() {
		return "{}"
	}
	return string(appendJSON(nil, sample(schema, 0)))
}

// maxSchema is how deep a schema is followed; one that refers to itself has no end.
const maxSchema = 8

func sample(schema gjson.Result, depth int) any {
	if values := schema.Get("enum"); values.Get("#").Int() > 0 {
		return values.Get("0").Value()
	}
	if c := schema.Get("const"); c.Exists() {
		return c.Value()
	}
	kind := schema.Get("type")
	if kind.IsArray() {
		kind = kind.Get("0")
	}
	switch kind.Str {
	case "string":
		return "sample"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	case "null":
		return nil
	}
	out := object{}
	if depth < maxSchema {
		schema.Get("required").ForEach(func(_, name gjson.Result) bool {
			out[name.Str] = sample(schema.Get("properties").Get(gjson.Escape(name.Str)), depth+1)
			return true
		})
	}
	return out
}

// splitArguments cuts arguments into the pieces of a stream, in the middle of words as real ones are.
func splitArguments(args string) []string {
	const size = 7
	var out []string
	for len(args) > size {
		out = append(out, args[:size])
		args = args[size:]
	}
	return append(out, args)
}
