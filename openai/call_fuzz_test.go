package openai

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"model":"m","stream":true}`, `{"mod\u0065l":"\u006d","model":"x"}`, `{"model":"m","a":{"b":"c\n"},"k":"v"}`, `[`,
		`{"model":"m","stream_options":{"include_usage":true},"Model":1}`} {
		f.Add([]byte(seed), "a", "b")
	}
	f.Fuzz(func(t *testing.T, body []byte, first, second string) {
		var c Call
		err := c.Parse(body)
		if err != nil {
			if err.Status != 400 || !json.Valid(err.Append(nil, OpenAI, "id")) {
				t.Fatalf("%+v", err)
			}
			return
		}
		var decoded map[string]json.RawMessage
		if e := json.Unmarshal(body, &decoded); e != nil {
			t.Fatalf("%q passes: %v", body, e)
		}
		var model string
		if json.Unmarshal(decoded["model"], &model) != nil || model != string(c.Model()) {
			t.Fatalf("%q: model %q", body, c.Model())
		}
		from, until := c.ModelSpan()
		renamed := append(c.EncodeModel(bytes.Clone(body[:from]), "x\"y"), body[until:]...)
		var again Call
		if err := again.Parse(renamed); err != nil || string(again.Model()) != "x\"y" || again.Stream() != c.Stream() {
			t.Fatalf("%q: %v", renamed, err)
		}
		for _, path := range [][]string{{first}, {first, second}} {
			value, found, err := c.String(path)
			if err != nil || !found {
				continue
			}
			var at any
			if json.Unmarshal(body, &at) != nil {
				t.Fatal("not JSON")
			}
			for _, name := range path {
				at = at.(map[string]any)[name]
			}
			if at != string(value) {
				t.Fatalf("%q at %q: %q, want %q", body, path, value, at)
			}
		}
	})
}
