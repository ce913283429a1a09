package jsonscan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// drain walks to the end and returns how many steps that took.
func drain(s *Scanner) (steps int) {
	for s.Next() {
		steps++
	}
	return steps
}

// walk tells all that a walk over an object finds, or the error.
func walk(text string) string {
	var s Scanner
	s.Object([]byte(text))
	var out strings.Builder
	for s.Next() {
		fmt.Fprintf(&out, "%s=%s/%d ", s.Key.Of([]byte(text)), s.Value.Of([]byte(text)), s.Kind)
		if s.KeyEscaped || s.Escaped {
			fmt.Fprintf(&out, "escaped %v %v ", s.KeyEscaped, s.Escaped)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Sprintf("fault %d at %d", err.Fault, err.Offset)
	}
	return strings.TrimSpace(out.String())
}

func TestScanner_Object(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{}`, ``},
		{" {\t} \r\n", ``},
		{`{"a":1}`, `"a"=1/4`},
		{` { "a" : null , "b" : true , "c" : false , "d" : "x" } `, `"a"=null/1 "b"=true/3 "c"=false/2 "d"="x"/5`},
		{`{"a":{"b":[1,{"c":[]}]},"d":[[],{}]}`, `"a"={"b":[1,{"c":[]}]}/6 "d"=[[],{}]/7`},
		{`{"a\n":"x\u0041"}`, `"a\n"="x\u0041"/5 escaped true true`},
		{`{"a":"x\"","b":"y"}`, `"a"="x\""/5 escaped false true "b"="y"/5`},
		{`{"a":1,"a":2}`, `"a"=1/4 "a"=2/4`},
		{`{"":""}`, `""=""/5`},
		{`{"日本":"ü € 😀"}`, `"日本"="ü € 😀"/5`},
		{`{"a":-0,"b":1.50e+10,"c":9007199254740993,"d":0.1E-2}`, `"a"=-0/4 "b"=1.50e+10/4 "c"=9007199254740993/4 "d"=0.1E-2/4`},
		{`{"a":"\ud800"}`, `"a"="\ud800"/5 escaped false true`},
	}
	for _, test := range tests {
		if got := walk(test.text); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestScanner_Array(t *testing.T) {
	text := []byte(` [ 1 , "a" , [2] , {"b":3} , null ] `)
	var s Scanner
	var got []string
	for s.Array(text); s.Next(); {
		got = append(got, string(s.Value.Of(text)))
	}
	if s.Err() != nil || strings.Join(got, "|") != `1|"a"|[2]|{"b":3}|null` {
		t.Errorf("%q, %v", got, s.Err())
	}
	for _, bad := range []string{`[1,]`, `[,1]`, `[1 2]`, `[`, `[1`, `[1}`, `[]]`, `{}`, `["a":1]`} {
		s.Array([]byte(bad))
		drain(&s)
		if s.Err() == nil {
			t.Errorf("%s passes", bad)
		}
	}
	for s.Array([]byte(`[]`)); s.Next(); {
		t.Error("an element of nothing")
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

func TestScanner_Errors(t *testing.T) {
	tests := []struct {
		text   string
		fault  Fault
		offset int
	}{
		{``, Empty, 0}, {" \n", Empty, 2},
		{`[]`, WrongKind, 0}, {`"a"`, WrongKind, 0}, {` 1`, WrongKind, 1}, {"\ufeff{}", WrongKind, 0}, {`'a'`, WrongKind, 0},
		{`{`, Truncated, 1}, {`{"a"`, Truncated, 4}, {`{"a":`, Truncated, 5}, {`{"a":1`, Truncated, 6}, {`{"a":1,`, Truncated, 7},
		{`{"a`, Truncated, 3}, {`{"a\`, Truncated, 4}, {`{"a":"\u00`, Truncated, 10}, {`{"a":[`, Truncated, 6}, {`{"a":[1`, Truncated, 7},
		{`{"a":[{"b"`, Truncated, 10}, {`{"a":-`, Truncated, 6}, {`{"a":1.`, Truncated, 7}, {`{"a":tru`, Truncated, 8},
		{`{a:1}`, Syntax, 1}, {`{'a':1}`, Syntax, 1}, {`{"a" 1}`, Syntax, 5}, {`{"a":1,}`, Syntax, 7}, {`{,}`, Syntax, 1},
		{`{"a":}`, Syntax, 5}, {`{"a":1 "b":2}`, Syntax, 7}, {`{"a":1]`, Syntax, 6}, {`{"a":[1}`, Syntax, 7}, {`{"a":[1,]}`, Syntax, 8},
		{`{"a":{"b":1,}}`, Syntax, 12}, {`{"a":{b:1}}`, Syntax, 6}, {`{"a":{"b" 1}}`, Syntax, 10}, {`{"a":[1 2]}`, Syntax, 8},
		{`{"a":01}`, Syntax, 6}, {`{"a":-01}`, Syntax, 7}, {`{"a":+1}`, Syntax, 5}, {`{"a":.5}`, Syntax, 5}, {`{"a":1.}`, Syntax, 7},
		{`{"a":1e}`, Syntax, 7}, {`{"a":1e+}`, Syntax, 8}, {`{"a":0x1}`, Syntax, 6}, {`{"a":--1}`, Syntax, 6},
		{`{"a":NaN}`, Syntax, 5}, {`{"a":Infinity}`, Syntax, 5}, {`{"a":nul}`, Syntax, 8}, {`{"a":True}`, Syntax, 5}, {`{"a":nulll}`, Syntax, 9},
		{`{"a":undefined}`, Syntax, 5}, {`{"a":/**/1}`, Syntax, 5}, {"{\"a\":\v1}", Syntax, 5}, {"{\"a\":\u00a01}", Syntax, 5},
		{"{\"a\":\"\n\"}", Syntax, 6}, {"{\"a\":\"12345678\x1f\"}", Syntax, 14}, {"{\"\x00\":1}", Syntax, 2}, {"{\"a\":[\"\t\"]}", Syntax, 7},
		{`{"a":"\x"}`, Syntax, 7}, {`{"a":"\u12g4"}`, Syntax, 10}, {`{"a":"\U0041"}`, Syntax, 7}, {`{"a":["\'"]}`, Syntax, 8},
		{`{}x`, Trailing, 2}, {`{} {}`, Trailing, 3}, {"{}\x00", Trailing, 2}, {`{"a":1}}`, Trailing, 7}, {"{}\ufeff", Trailing, 2},
		{"{\"a\":\"\xff\"}", NotUTF8, 6}, {"{\"\xc0\x80\":1}", NotUTF8, 2}, {"{\"a\":\"日\xe6\x97\"}", NotUTF8, 9},
		{"{\"a\":\"\xed\xa0\x80\"}", NotUTF8, 6}, {"{\"a\":\"\xf4\x90\x80\x80\"}", NotUTF8, 6}, {"{\"a\":[\"\xe0\x80\x80xxxx\"]}", NotUTF8, 7},
		{"{\"a\":\"12345678901234\xe6\x97\"}", NotUTF8, 20},
	}
	for _, test := range tests {
		if got, want := walk(test.text), fmt.Sprintf("fault %d at %d", test.fault, test.offset); got != want {
			t.Errorf("%q: %s, want %s", test.text, got, want)
		}
		var s Scanner
		s.Object([]byte(test.text))
		drain(&s)
		if s.Next() || s.Err() == nil || s.Err().Error() == "" || !utf8.ValidString(s.Err().Error()) {
			t.Errorf("%q: goes on after an error", test.text)
		}
	}
}

func nested(open, inner, closing string, levels int) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat(closing, levels)
}

func TestC083_Depth(t *testing.T) {
	tests := []struct {
		name, text string
		want       string
	}{
		{"objects at the limit", nested(`{"a":`, "1", "}", MaxDepth), ""},
		{"objects beyond it", nested(`{"a":`, "1", "}", MaxDepth+1), "too deep"},
		{"arrays at the limit", `{"a":` + nested("[", "", "]", MaxDepth-1) + "}", ""},
		{"arrays beyond it", `{"a":` + nested("[", "", "]", MaxDepth) + "}", "too deep"},
		{"both in turn", `{"a":` + nested(`[{"b":`, "[]", "}]", MaxDepth/2-1) + "}", ""},
		{"many one after the other", `{"a":[` + strings.Repeat(nested("[", "", "]", 900)+",", 100) + "0]}", ""},
		{"open brackets only", `{"messages":[{"content":` + strings.Repeat("[", 1<<20), "too deep"},
		{"open braces only", strings.Repeat(`{"a":`, 1<<20), "too deep"},
		{"wrongly closed", `{"a":` + strings.Repeat("[", 900) + strings.Repeat("]", 500) + "}", "syntax"},
		{"wrongly mixed", `{"a":` + nested("[", `{"a":1]`, "]", 500) + "}", "syntax"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s Scanner
			s.Object([]byte(test.text))
			drain(&s)
			got := ""
			if err := s.Err(); err != nil {
				got = map[Fault]string{TooDeep: "too deep", Syntax: "syntax"}[err.Fault]
			}
			if got != test.want {
				t.Errorf("got %q (%v), want %q", got, s.Err(), test.want)
			}
		})
	}
}

// agrees reports whether the walk and encoding/json agree on a text, as far as they are meant to: the standard library
// allows 10,000 levels and takes strings that are not UTF-8.
func agrees(t *testing.T, text []byte) {
	t.Helper()
	var s Scanner
	for s.Object(text); s.Next(); {
		if !json.Valid(s.Value.Of(text)) || !json.Valid(s.Key.Of(text)) {
			t.Fatalf("%q: gives out %q: %q", text, s.Key.Of(text), s.Value.Of(text))
		}
	}
	err := s.Err()
	isObject := strings.HasPrefix(strings.TrimLeft(string(text), " \t\r\n"), "{")
	switch {
	case !isObject:
		if err == nil || err.Fault != WrongKind && err.Fault != Empty {
			t.Fatalf("%q: %v", text, err)
		}
	case err == nil:
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("%q passes", text)
		}
	case err.Offset < 0 || err.Offset > len(text):
		t.Fatalf("%q: offset %d", text, err.Offset)
	case err.Fault == TooDeep:
		if strings.Count(string(text), "[")+strings.Count(string(text), "{") <= MaxDepth {
			t.Fatalf("%q is not that deep", text)
		}
	case err.Fault == NotUTF8:
		if utf8.Valid(text) {
			t.Fatalf("%q is UTF-8", text)
		}
	default:
		if json.Valid(text) {
			t.Fatalf("%q: %v", text, err)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":null}],"c":"x\u0041\n"}`, `{"a":-1.5e+7,"b":true}`, `{}`, ` { "a" : [ ] } `, `{"a":"日本\ud83d\ude00"}`,
		`{"a":1,}`, `[1,2]`, `{"a":"` + "\xff" + `"}`, nested(`{"a":[`, "1", "]}", 600), `{"a":00}`, `{"abcdefgh":"\\\"/"}`, `{}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		agrees(t, text)
		agrees(t, []byte(`{"k":`+string(text)+`}`))
		agrees(t, []byte(`{"k":["`+string(text)+`"]}`))
	})
}

// Every byte at every place in a word, alone and beside every kind of neighbour.
func TestScanner_EveryByteInStrings(t *testing.T) {
	for c := range 256 {
		for at := range 18 {
			for _, filler := range []string{"a", "ü", "\\n", "\x7f", "!"} {
				text := `{"k":"` + strings.Repeat(filler, at) + string([]byte{byte(c)}) + `","l":["` + strings.Repeat(filler, 9) + `"]}`
				agrees(t, []byte(text))
			}
		}
	}
}
