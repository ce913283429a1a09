package jsontree

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// upper is a text that reads itself.
type upper string

func (u *upper) UnmarshalText(text []byte) error {
	if strings.ToUpper(string(text)) != string(text) {
		return errors.New("is not in capital letters")
	}
	*u = upper(text)
	return nil
}

type inner struct {
	Name string `json:"name" jsontree:"required"`
	Size *int   `json:"size"`
}

type embedded struct {
	Deep int `json:"deep"`
}

type everything struct {
	Schema  string            `json:"$schema"`
	Text    string            `json:"text"`
	Flag    bool              `json:"flag"`
	Maybe   *bool             `json:"maybe"`
	Int     int64             `json:"int"`
	Small   int8              `json:"small"`
	Byte    uint8             `json:"byte"`
	Uint    uint64            `json:"uint"`
	Float   float64           `json:"float"`
	Half    float32           `json:"half"`
	Wait    time.Duration     `json:"wait"`
	Until   *time.Time        `json:"until"`
	Upper   upper             `json:"upper"`
	Inner   inner             `json:"inner"`
	Pointer *inner            `json:"pointer"`
	List    []string          `json:"list"`
	Inners  []inner           `json:"inners"`
	Names   map[string]string `json:"names"`
	Any     *Value            `json:"any"`
	Secret  string            `json:"secret" jsontree:"secret"`
	Secrets []string          `json:"secrets" jsontree:"secret"`
	embedded
	Ignored  string
	internal string
}

func parse(t *testing.T, text string) *Value {
	t.Helper()
	v, problems := Parse([]byte(text))
	if v == nil || len(problems) > 0 {
		t.Fatal(list(problems))
	}
	return v
}

func TestDecode(t *testing.T) {
	yes, seven := true, 7
	until := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	v := parse(t, `{"$schema": "x", "text": "a", "flag": true, "maybe": true, "int": -9007199254740993, "small": -1.2e2,
		"byte": 255, "uint": 18446744073709551615, "float": 1.5e3, "half": 0.5, "wait": "1m30s",
		"until": "2027-06-30T00:00:00Z", "upper": "UP", "inner": {"name": "n"}, "pointer": {"name": "p", "size": 7.0},
		"list": ["a", "b"], "inners": [{"name": "1"}, {"name": "2"}], "names": {"k": "v"}, "any": null, "secret": "s",
		"secrets": [], "deep": 4}`)
	want := everything{Schema: "x", Text: "a", Flag: true, Maybe: &yes, Int: -9007199254740993, Small: -120, Byte: 255,
		Uint: 18446744073709551615, Float: 1500, Half: .5, Wait: 90 * time.Second, Until: &until, Upper: "UP",
		Inner: inner{Name: "n"}, Pointer: &inner{Name: "p", Size: &seven}, List: []string{"a", "b"},
		Inners: []inner{{Name: "1"}, {Name: "2"}}, Names: map[string]string{"k": "v"}, Any: v.Member("any"), Secret: "s",
		Secrets: []string{}, embedded: embedded{Deep: 4}}
	var got everything
	if problems := Decode(v, "", &got); len(problems) > 0 {
		t.Fatal(list(problems))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Test that what is absent or does not fit leaves what was there.
func TestDecodeDefaults(t *testing.T) {
	got := everything{Text: "default", Int: 3, List: []string{"x"}, Wait: time.Second, internal: "mine"}
	problems := Decode(parse(t, `{"inner": {"name": ""}, "text": 4, "wait": 0, "maybe": 1}`), "", &got)
	if list(problems) != `32 text: the number 4 is not a string; 55 maybe: the number 1 is not true or false` {
		t.Error(list(problems))
	}
	if got.Text != "default" || got.Int != 3 || len(got.List) != 1 || got.Wait != 0 || got.Maybe != nil || got.Pointer != nil {
		t.Errorf("got %+v", got)
	}
}

func TestDecodeProblems(t *testing.T) {
	const fields = "text, flag, maybe, int, small, byte, uint, float, half, wait, until, upper, inner, pointer, list, inners, names, any, secret, secrets, deep"
	for _, test := range []struct{ text, want string }{
		{`[]`, `0 at: an array is not an object`},
		{`null`, `0 at: null is not an object`},
		{`{"txet": 1}`, `1 at.txet: is unknown here; allowed are ` + fields + `, enabled`},
		{`{"Text": 1}`, `1 at.Text: is unknown here; allowed are ` + fields + `, enabled`},
		{`{"Ignored": ""}`, `1 at.Ignored: is unknown here; allowed are ` + fields + `, enabled`},
		{`{"enabled": 17}`, ``},
		{`{"inner": {"name": "n", "enabled": true}}`, `24 at.inner.enabled: is unknown here; allowed are name, size`},
		{`{"inner": {}}`, `10 at.inner.name: is required`},
		{`{"pointer": {"size": "7"}}`, `21 at.pointer.size: the string "7" is not a whole number; 12 at.pointer.name: is required`},
		{`{"text": null}`, `9 at.text: null is not a string`},
		{`{"maybe": null}`, `10 at.maybe: null is not true or false`},
		{`{"flag": "true"}`, `9 at.flag: the string "true" is not true or false`},
		{`{"int": 1.5}`, `8 at.int: the number 1.5 is not a whole number`},
		{`{"int": true}`, `8 at.int: true is not a whole number`},
		{`{"int": 9223372036854775808}`, `8 at.int: the number 9223372036854775808 is not in the range from -9223372036854775808 to 9223372036854775807`},
		{`{"int": 1e999}`, `8 at.int: the number 1e999 is not in the range from -9223372036854775808 to 9223372036854775807`},
		{`{"small": 128}`, `10 at.small: the number 128 is not in the range from -128 to 127`},
		{`{"byte": -1}`, `9 at.byte: the number -1 is not in the range from 0 to 255`},
		{`{"byte": 256}`, `9 at.byte: the number 256 is not in the range from 0 to 255`},
		{`{"uint": -1}`, `9 at.uint: the number -1 is not in the range from 0 to 18446744073709551615`},
		{`{"uint": "1"}`, `9 at.uint: the string "1" is not a whole number`},
		{`{"float": 1e999}`, `10 at.float: the number 1e999 is not a number of 64 bits`},
		{`{"float": "1"}`, `10 at.float: the string "1" is not a number`},
		{`{"wait": 3}`, `9 at.wait: the number 3 is not a duration: it is written "10s" or "1m30s", or 0`},
		{`{"wait": "3"}`, `9 at.wait: the string "3" is not a duration: it is written "10s" or "1m30s", or 0`},
		{`{"wait": "-3s"}`, `9 at.wait: the string "-3s" is not a duration of 0 or more`},
		{`{"wait": []}`, `9 at.wait: an array is not a duration: it is written "10s" or "1m30s", or 0`},
		{`{"until": "tomorrow"}`, `10 at.until: the string "tomorrow" is not a time: it is written 2027-06-30T00:00:00Z (RFC 3339)`},
		{`{"until": 0}`, `10 at.until: the number 0 is not a time: it is written 2027-06-30T00:00:00Z (RFC 3339)`},
		{`{"upper": "down"}`, `10 at.upper: is not in capital letters`},
		{`{"upper": 5}`, `10 at.upper: the number 5 is not a string`},
		{`{"list": "a"}`, `9 at.list: the string "a" is not an array`},
		{`{"list": ["a", 1, null]}`, `15 at.list[1]: the number 1 is not a string; 18 at.list[2]: null is not a string`},
		{`{"names": []}`, `10 at.names: an array is not an object`},
		{`{"names": {"a b": 1}}`, `18 at.names["a b"]: the number 1 is not a string`},
		{`{"secret": 123}`, `11 at.secret: a number is not a string`},
		{`{"secret": true}`, `11 at.secret: a truth value is not a string`},
		{`{"secrets": "abc"}`, `12 at.secrets: a string is not an array`},
		{`{"deep": "x"}`, `9 at.deep: the string "x" is not a whole number`},
		{`{"embedded": 1}`, `1 at.embedded: is unknown here; allowed are ` + fields + `, enabled`},
		{`{"secrets": [123]}`, `13 at.secrets[0]: a number is not a string`},
		{`{"text": ["` + strings.Repeat("x", 100) + `"]}`, `9 at.text: an array is not a string`},
		{`{"int": "` + strings.Repeat("x", 100) + `"}`, `8 at.int: the string "` + strings.Repeat("x", 60) + `" is not a whole number`},
	} {
		got := everything{Inner: inner{Name: "there"}}
		problems := Decode(parse(t, test.text), "at", &got, "enabled")
		if text := list(problems); text != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.text, text, test.want)
		}
	}
	if problems := Decode(parse(t, `{"x": 1}`), "", &struct{}{}); list(problems) != "1 x: is unknown here; allowed are none" {
		t.Error(list(problems))
	}
}

// Test that a type nobody can write is the programmer's mistake.
func TestDecodeUnsupported(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Decode(parse(t, `{"x": 1}`), "", &struct {
		X chan int `json:"x"`
	}{})
}

// FuzzDecode holds Decode to what it promises: it does not panic, and what it tells has a place and a path.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"text": "a", "int": 1e3, "inner": {"name": 1}, "list": [null], "names": {"": []}, "wait": "1h"}`))
	f.Add([]byte(`{"uint": 18446744073709551616, "byte": -0, "half": 1e39, "small": 1.0, "until": "2027-06-30T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, problems := Parse(text)
		if v == nil || len(problems) > 0 {
			return
		}
		for _, p := range Decode(v, "", &everything{}) {
			at, found := v.Find(p.Path)
			missing := strings.HasSuffix(p.Message, "is required")
			unknown := strings.HasPrefix(p.Message, "is unknown")
			if found == missing || (p.Offset != at.Offset && !unknown) || p.Offset < v.Offset || p.Offset >= v.End {
				t.Errorf("%+v, but the value is at %d", p, at.Offset)
			}
		}
	})
}
