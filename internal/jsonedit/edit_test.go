package jsonedit

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

const file = `{
  "models": [
    {
      "name": "small",
      "instances": [
        { "name": "small-1",   "url": "http://a" },
        { "name": "small-2",   "url": "http://b", "max_inflight": 8 }
      ]
    },
    { "name": "large", "instances": [ { "name": "large-1", "url": "http://c" } ] }
  ],


  "routes": [
    {
      "name":    "r",
      "targets": [ { "model": "small", "weight": 100 }, { "model": "large", "weight": 300 } ]
    }
  ]
}
`

// The whole of an edited file, as what was and what has become of it.
func TestSet(t *testing.T) {
	for _, test := range []struct{ name, path, value, was, is string }{
		{"one number", "routes[0]", `{"name":"r","targets":[{"model":"small","weight":100},{"model":"large","weight":200}]}`,
			`"weight": 300`, `"weight": 200`},
		{"in another order", "routes[0]", `{"targets":[{"weight":100,"model":"small"},{"model":"large","weight":200}],"name":"r"}`,
			`"weight": 300`, `"weight": 200`},
		{"nothing", "models[0]", `{"name":"small","instances":[{"name":"small-1","url":"http://a"},{"name":"small-2","url":"http://b","max_inflight":8}]}`,
			"", ""},
		{"a member less", "models[0].instances[1]", `{"name":"small-2","url":"http://b"}`,
			`, "max_inflight": 8`, ``},
		{"the first member", "models[0].instances[1]", `{"url":"http://b","max_inflight":8}`,
			`{ "name": "small-2",   "url"`, `{ "url"`},
		{"all members but one in the middle", "models[0].instances[1]", `{"url":"http://b"}`,
			`{ "name": "small-2",   "url": "http://b", "max_inflight": 8 }`, `{ "url": "http://b" }`},
		{"a member more, on a line", "models[0].instances[0]", `{"name":"small-1","url":"http://a","max_inflight":4}`,
			`"http://a" }`, `"http://a",   "max_inflight": 4 }`},
		{"a member more, on lines", "routes[0]", `{"name":"r","targets":[{"model":"small","weight":100},{"model":"large","weight":300}],"policies":{"least_inflight":{}}}`,
			"\"weight\": 300 } ]\n", "\"weight\": 300 } ],\n      \"policies\": { \"least_inflight\": {} }\n"},
		{"another name", "models[1]", `{"name":"huge","instances":[{"name":"large-1","url":"http://c"}]}`,
			`"name": "large",`, `"name": "huge",`},
		{"an element less at the beginning", "routes[0].targets", `[{"model":"large","weight":300}]`,
			`{ "model": "small", "weight": 100 }, `, ``},
		{"an element less at the end", "routes[0].targets", `[{"model":"small","weight":100}]`,
			`, { "model": "large", "weight": 300 }`, ``},
		{"no element", "routes[0].targets", `[]`,
			`[ { "model": "small", "weight": 100 }, { "model": "large", "weight": 300 } ]`, `[]`},
		{"an element more at the beginning", "routes[0].targets", `[{"model":"x"},{"model":"small","weight":100},{"model":"large","weight":300}]`,
			`[ { "model": "small"`, `[ { "model": "x" }, { "model": "small"`},
		{"an element more in the middle", "routes[0].targets", `[{"model":"small","weight":100},{"model":"x"},{"model":"large","weight":300}]`,
			`100 }, {`, `100 }, { "model": "x" }, {`},
		{"too much for a line", "routes[0].targets", `[{"model":"small","weight":100},{"model":"large","weight":300},{"model":"a-model-with-a-long-name","weight":300}]`,
			`[ { "model": "small", "weight": 100 }, { "model": "large", "weight": 300 } ]`,
			`[
        { "model": "small", "weight": 100 },
        { "model": "large", "weight": 300 },
        { "model": "a-model-with-a-long-name", "weight": 300 }
      ]`},
		{"a new member", "defaults", `{"debug_headers":true}`,
			"  ]\n}", "  ],\n  \"defaults\": { \"debug_headers\": true }\n}"},
		{"something else", "routes[0].targets", `"x"`,
			`[ { "model": "small", "weight": 100 }, { "model": "large", "weight": 300 } ]`, `"x"`},
		{"a string as it was written", "routes[0].name", `"\u00fc<"`, `"r"`, `"\u00fc<"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Set([]byte(file), test.path, []byte(test.value))
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(file, test.was, test.is, 1); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	for _, test := range []struct{ name, path, value, was, is string }{
		{"on lines", "models", `{"name":"new","instances":[]}`,
			"\"http://c\" } ] }\n", "\"http://c\" } ] },\n    { \"name\": \"new\", \"instances\": [] }\n"},
		{"long, on lines", "routes", `{"name":"new","description":"` + strings.Repeat("x", 90) + `","targets":[{"model":"small"}]}`,
			"    }\n  ]\n}", "    },\n    {\n      \"name\": \"new\",\n      \"description\": \"" + strings.Repeat("x", 90) +
				"\",\n      \"targets\": [ { \"model\": \"small\" } ]\n    }\n  ]\n}"},
		{"on a line", "models[1].instances", `{"name":"l-2","url":"http://d"}`,
			`"http://c" } ]`, `"http://c" }, { "name": "l-2", "url": "http://d" } ]`},
		{"a new list", "api_keys", `{"name":"k"}`,
			"  ]\n}", "  ],\n  \"api_keys\": [\n    { \"name\": \"k\" }\n  ]\n}"},
		{"a new list within", "routes[0].categories", `"llm"`,
			"300 } ]\n", "300 } ],\n      \"categories\": [\"llm\"]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Append([]byte(file), test.path, []byte(test.value))
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(file, test.was, test.is, 1); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	for _, test := range []struct{ path, was, is string }{
		{"models[1]", ",\n    { \"name\": \"large\", \"instances\": [ { \"name\": \"large-1\", \"url\": \"http://c\" } ] }", ""},
		{"models[0].instances[0]", "{ \"name\": \"small-1\",   \"url\": \"http://a\" },\n        ", ""},
		{"models[1].instances[0]", `[ { "name": "large-1", "url": "http://c" } ]`, `[]`},
		{"routes", file[strings.Index(file, "  ],\n\n\n")+3 : len(file)-3], ""},
		{"models[0].name", "\"name\": \"small\",\n      ", ""},
	} {
		got, err := Remove([]byte(file), test.path)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(file, test.was, test.is, 1); string(got) != want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.path, got, want)
		}
	}
}

// Files in other styles stay in them.
func TestStyles(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"an empty object", `{}`, "{\n  \"l\": [\n    { \"a\": 1, \"b\": [true] }\n  ]\n}"},
		{"an empty list", `{"l": []}`, `{"l": [{"a": 1, "b": [true]}]}`},
		{"no white space", `{"l":[{"x":1}],"m":0}`, `{"l":[{"x":1},{"a":1,"b":[true]}],"m":0}`},
		{"one line", `{ "l": [ { "x": 1 } ] }`, `{ "l": [ { "x": 1 }, { "a": 1, "b": [true] } ] }`},
		{"tabs", "{\n\t\"l\": [\n\t\t{\"x\": 1}\n\t]\n}", "{\n\t\"l\": [\n\t\t{\"x\": 1},\n\t\t{\"a\": 1, \"b\": [true]}\n\t]\n}"},
		{"a new list with tabs", "{\n\t\"m\": {\"x\": 1}\n}", "{\n\t\"m\": {\"x\": 1},\n\t\"l\": [\n\t\t{\"a\": 1, \"b\": [true]}\n\t]\n}"},
		{"four spaces and CRLF", "{\r\n    \"m\": 1\r\n}\r\n", "{\r\n    \"m\": 1,\r\n    \"l\": [\r\n        { \"a\": 1, \"b\": [true] }\r\n    ]\r\n}\r\n"},
		{"an empty list on lines", "{\n  \"l\": [\n  ]\n}", "{\n  \"l\": [\n    { \"a\": 1, \"b\": [true] }\n  ]\n}"},
		{"brackets in a string", `{"l":[{"n":"]"}]}`, `{"l":[{"n":"]"},{"a":1,"b":[true]}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Append([]byte(test.file), "l", []byte(`{ "a" : 1 ,"b":[ true]}`))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	value := []byte(`1`)
	for name, edit := range map[string]func() ([]byte, error){
		"a text that is none":    func() ([]byte, error) { return Set([]byte(`{"a":`), "a", value) },
		"a value that is none":   func() ([]byte, error) { return Set([]byte(`{"a":1}`), "a", []byte(`x`)) },
		"a member given twice":   func() ([]byte, error) { return Append([]byte(`{"a":[]}`), "a", []byte(`{"b":1,"b":2}`)) },
		"no such place":          func() ([]byte, error) { return Set([]byte(`{"a":1}`), "a.b", value) },
		"a value to add":         func() ([]byte, error) { return Set([]byte(`{"a":1}`), "b", []byte(`x`)) },
		"no array":               func() ([]byte, error) { return Append([]byte(`{"a":1}`), "a", value) },
		"no array to make":       func() ([]byte, error) { return Append([]byte(`{"a":1}`), "a.b", value) },
		"no object to put it in": func() ([]byte, error) { return Append([]byte(`{"a":1}`), "b.c", value) },
		"a name that is none":    func() ([]byte, error) { return Append([]byte(`{"a":[1]}`), "a[1]", value) },
		"nothing to remove":      func() ([]byte, error) { return Remove([]byte(`{"a":1}`), "b") },
		"the whole":              func() ([]byte, error) { return Remove([]byte(`{"a":1}`), "") },
		"a broken text":          func() ([]byte, error) { return Remove([]byte(`{"a":1,}`), "a") },
		"a broken array":         func() ([]byte, error) { return Append([]byte(`[`), "a", value) },
	} {
		if got, err := edit(); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
	var e *Error
	if _, err := Set([]byte(`{"a":1}`), "a", []byte(`{"b":1,"b":2}`)); !errors.As(err, &e) || e.Path != "b" {
		t.Errorf("%v", err)
	}
}

// plain returns what a text says.
func plain(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// FuzzSet holds Set to what it is for: the text says afterwards what it was to say, whatever it said and looked like
// before, and saying it again changes nothing.
func FuzzSet(f *testing.F) {
	for _, seed := range [][2]string{
		{file, `{"models":[],"routes":[{"name":"r"}]}`},
		{`{"a":[1,2,3,4]}`, `{"a":[0,1,3,4,5]}`},
		{`{"a":{"b":1,"c":2,"d":3}}`, `{"a":{"c":2,"e":4}}`},
		{"{\n\"a\":[\n1,\n2\n]\n}", `{"a":[2],"b":{"":[]}}`},
		{`[[],{},[[]],"x"]`, `[{},[],[[],[]],"y"]`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, text, value []byte) {
		if _, problems := jsontree.Parse(text); len(problems) > 0 {
			return
		}
		if _, problems := jsontree.Parse(value); len(problems) > 0 {
			return
		}
		got, err := Set(text, "", value)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(plain(t, got), plain(t, value)) {
			t.Fatalf("%q to be %q became %q", text, value, got)
		}
		again, err := Set(got, "", value)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q, and then %q: %v", text, got, again, err)
		}
	})
}

// FuzzAppendRemove holds Append and Remove to undo each other in what a text says.
func FuzzAppendRemove(f *testing.F) {
	f.Add([]byte(file), []byte(`{"name":"x"}`))
	f.Add([]byte(`{"l":[]}`), []byte(`1`))
	f.Add([]byte("{\r\n\t\"l\" : [ 1\t, 2 ] }"), []byte(`[[{}]]`))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		root, problems := jsontree.Parse(text)
		if _, more := jsontree.Parse(value); len(problems)+len(more) > 0 || root.Kind != jsontree.Object {
			return
		}
		for i := range root.Members {
			path := jsontree.Field("", root.Members[i].Name)
			if root.Members[i].Value.Kind != jsontree.Array {
				continue
			}
			longer, err := Append(text, path, value)
			if err != nil {
				t.Fatal(err)
			}
			n := len(root.Members[i].Value.Items)
			back, err := Remove(longer, jsontree.Index(path, n))
			if err != nil {
				t.Fatalf("%q: %v", longer, err)
			}
			if !reflect.DeepEqual(plain(t, back), plain(t, text)) {
				t.Fatalf("%q became %q and then %q", text, longer, back)
			}
		}
	})
}
