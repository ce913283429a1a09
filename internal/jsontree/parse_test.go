package jsontree

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// plainValue is a tree as encoding/json would give it.
func plainValue(v *Value) any {
	switch v.Kind {
	case Bool:
		return v.Text == "true"
	case Number:
		return json.Number(v.Text)
	case String:
		return v.Text
	case Array:
		items := []any{}
		for _, item := range v.Items {
			items = append(items, plainValue(item))
		}
		return items
	case Object:
		members := map[string]any{}
		for _, m := range v.Members {
			members[m.Name] = plainValue(m.Value)
		}
		return members
	}
	return nil
}

func reference(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParse(t *testing.T) {
	for _, text := range []string{
		`null`, ` true `, `false`, `0`, `-0.5e+10`, `1E3`, `""`, `[]`, "{}\n", `[1,[2,{"a":[]}],"x"]`,
		`{"a":{"b":null},"c":[true,false]}`, `"\"\\\/\b\f\n\r\t"`, `"\u0041\u00fc\u20ac\ud83d\ude00\ufffd"`,
		`"Grüße \u0000"`, `{"":1}`, "\t[\r\n1 , 2 ]",
	} {
		v, problems := Parse([]byte(text))
		if len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		if got, want := plainValue(v), reference(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestParsePlaces(t *testing.T) {
	const text = ` { "a" : [ 10 , "x" ] , "b" : { } } `
	v, problems := Parse([]byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for path, want := range map[string]string{
		"": `{ "a" : [ 10 , "x" ] , "b" : { } }`, "a": `[ 10 , "x" ]`, "a[0]": "10", "a[1]": `"x"`, "b": "{ }",
	} {
		at, found := v.Find(path)
		if !found || text[at.Offset:at.End] != want {
			t.Errorf("%q: found %v, %q", path, found, text[at.Offset:at.End])
		}
	}
	if at := v.Members[1].Offset; text[at:at+3] != `"b"` {
		t.Errorf("the name of b is at %q", text[at:])
	}
}

func TestParseProblems(t *testing.T) {
	for _, test := range []struct {
		text string
		want string // offset, path: message
	}{
		{``, `0 : is empty`},
		{" \n", `2 : is empty`},
		{`{`, `1 : has the end of the text where the name of a member, in double quotes, is expected`},
		{`{"a":[1,`, `8 a[1]: has the end of the text where a value is expected`},
		{`{"a"`, `4 a: has the end of the text where a colon is expected`},
		{`{"a":{"b":1`, `11 a: has the end of the text where a comma or '}' is expected`},
		{`{"a":"x`, `5 a: holds a string that does not end`},
		{"{\"a\":\"x\n\"}", `5 a: holds a string that does not end on its line`},
		{"[\"a\tb\"]", `3 [0]: holds a string with a control character, which is to be written \u0009`},
		{`["\x"]`, `2 [0]: holds a string with the escape "\\x", which JSON does not know (a backslash is written \\)`},
		{`["\ud800"]`, `2 [0]: holds a string with the escape "\\ud800", which JSON does not know (a backslash is written \\)`},
		{`["\udc00\ud800"]`, `2 [0]: holds a string with the escape "\\udc00", which JSON does not know (a backslash is written \\)`},
		{`["\u12`, `2 [0]: holds a string with the escape "\\u12", which JSON does not know (a backslash is written \\)`},
		{"[\"\xff\"]", `1 [0]: holds a string that is not UTF-8`},
		{`[1] x`, `4 : goes on after its end, with 'x'`},
		{`[1] // x`, `4 : goes on after its end, with '/' (JSON has no comments)`},
		{`{"a":1,}`, `6 : has a comma after its last element`},
		{`[1,,2]`, `3 [1]: has ',' where a value is expected`},
		{`{"a":1 "b":2}`, `7 : lacks a comma between two elements`},
		{`[1 2]`, `3 : has '2' where a comma or ']' is expected`},
		{`{a:1}`, `1 : has 'a' where the name of a member, in double quotes, is expected`},
		{`{'a':1}`, `1 : has "'" (strings are written in double quotes) where the name of a member, in double quotes, is expected`},
		{`{"a":yes}`, `5 a: "yes" is not JSON: no number, true, false or null, and strings are written in double quotes`},
		{`[NaN]`, `1 [0]: "NaN" is not JSON: no number, true, false or null, and strings are written in double quotes`},
		{`[+.5]`, `1 [0]: "+.5" is not JSON: no number, true, false or null, and strings are written in double quotes`},
		{`[sk-123]`, `1 [0]: a word is not JSON: no number, true, false or null, and strings are written in double quotes`},
		{`[01]`, `1 [0]: "01" is not JSON: no number, true, false or null, and strings are written in double quotes`},
		{`{"a":1,"a":2}`, `7 a: is given twice`},
		{`{"a":1,"\u0061":2}`, `7 a: is given twice`},
		{`{"a b":{"c":1,"c":2,"c":3}}`, `14 ["a b"].c: is given twice; 20 ["a b"].c: is given twice`},
		{"\xef\xbb\xbf{}", `0 : begins with a byte order mark, which JSON does not allow`},
		{`[{"a":1,},{"a":2,"a":3}]`, `7 [0]: has a comma after its last element; 17 [1].a: is given twice`},
	} {
		v, problems := Parse([]byte(test.text))
		if got := list(problems); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.text, got, test.want)
		}
		if v == nil && len(problems) == 0 {
			t.Errorf("%s: nothing and no problem", test.text)
		}
	}
}

func list(problems []Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%d %s: %s", p.Offset, p.Path, p.Message))
	}
	return strings.Join(lines, "; ")
}

// Test that neither deep nesting nor many members cost more than they should.
func TestParseBounds(t *testing.T) {
	deep := strings.Repeat("[", 10_000_000)
	if v, problems := Parse([]byte(deep)); v != nil || len(problems) != 1 || problems[0].Offset != maxDepth+1 {
		t.Errorf("deep nesting: %v", list(problems))
	}
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `,"%d":0`, i)
	}
	text := "{" + many.String()[1:] + `,"77777":1}`
	if _, problems := Parse([]byte(text)); len(problems) != 1 || problems[0].Path != "77777" {
		t.Errorf("many members: %v", list(problems))
	}
}

func TestPaths(t *testing.T) {
	for _, test := range []struct{ path, field, want string }{
		{"", "a", "a"}, {"a", "b_1", "a.b_1"}, {"a[0]", "$schema", "a[0].$schema"}, {"a", "", `a[""]`},
		{"a", "x.y", `a["x.y"]`}, {"", "x y", `["x y"]`}, {"a", `q"]`, `a["q\"]"]`},
	} {
		if got := Field(test.path, test.field); got != test.want {
			t.Errorf("Field(%q, %q) = %q, want %q", test.path, test.field, got, test.want)
		}
	}
	for _, test := range [][3]string{{"", "a", "a"}, {"a", "", "a"}, {"a", "[0]", "a[0]"}, {"a", "b.c", "a.b.c"}} {
		if got := Join(test[0], test[1]); got != test[2] {
			t.Errorf("Join(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
}

func TestFind(t *testing.T) {
	v, problems := Parse([]byte(`{"a":[{"x.y":{"q\"]":7}}],"b":null}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, test := range []struct {
		path  string
		found bool
		at    int
	}{
		{"", true, 0}, {"a", true, 5}, {"a[0]", true, 6}, {`a[0]["x.y"]`, true, 13}, {`a[0]["x.y"]["q\"]"]`, true, 21},
		{"a[0].x.y", true, 13}, {"a[0].x", false, 6}, {`a[0].x.y["q\"]"]`, true, 21}, {"b", true, 30}, {"c", false, 0}, {"a[1]", false, 5}, {"a[-1]", false, 5}, {"a[x]", false, 5}, {"a.b", false, 5},
		{"a[0].z.q[3]", false, 6}, {"b.c", false, 30}, {"a[", false, 5}, {`a["`, false, 5}, {".", false, 0},
	} {
		at, found := v.Find(test.path)
		if found != test.found || at.Offset != test.at {
			t.Errorf("%q: found %v at %d", test.path, found, at.Offset)
		}
	}
	if at, found := (*Value)(nil).Find("a"); at != nil || found {
		t.Error("found something in nothing")
	}
}

// FuzzParse holds Parse to encoding/json: what one reads without a complaint, the other reads as well, and as the same.
// Parse refuses more: members given twice, text that is not UTF-8, half of a surrogate pair.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"x\u00e9",true,null]}`, `{"a":1,"a":2}`, `[1,]`, `"\ud83d\ude00"`, `{"a" 1}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, problems := Parse(text)
		if v == nil && len(problems) == 0 {
			t.Fatal("nothing and no problem")
		}
		for _, p := range problems {
			if p.Offset < 0 || p.Offset > len(text) || p.Message == "" {
				t.Errorf("bad problem %+v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		if !json.Valid(text) {
			t.Fatal("encoding/json refuses it")
		}
		if got, want := plainValue(v), reference(t, string(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		walk(t, v, v, "")
	})
}

// walk checks that every value is found by its path.
func walk(t *testing.T, root, v *Value, path string) {
	t.Helper()
	if at, found := root.Find(path); !found || at != v {
		t.Errorf("%s is not found", strconv.Quote(path))
	}
	for i, item := range v.Items {
		walk(t, root, item, Index(path, i))
	}
	for _, m := range v.Members {
		walk(t, root, m.Value, Field(path, m.Name))
	}
}
