package openai

import "testing"

func TestAskUsage(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"model":"m","stream":true}`, `{"stream_options":{"include_usage":true},"model":"m","stream":true}`},
		{" {\n \"model\": \"m\", \"stream\": true }", " {\"stream_options\":{\"include_usage\":true},\n \"model\": \"m\", \"stream\": true }"},
		{`{"model":"m","stream":true,"stream_options":null}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{`{"stream_options":{ },"model":"m","stream":true}`, `{"stream_options":{"include_usage":true },"model":"m","stream":true}`},
		{`{"model":"m","stream":true,"stream_options":{"x":{"include_usage":1}}}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":{"include_usage":1}}}`},
		{`{"model":"m","stream":true,"stream_options":{"include_usage": false, "x":1}}`, `{"model":"m","stream":true,"stream_options":{"include_usage": true, "x":1}}`},
		{`{"model":"m","stream":true,"stream_options":{"include_usage":null}}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		// Nothing to ask, or nowhere to ask it.
		{`{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, ""},
		{`{"model":"m","stream":false}`, ""},
		{`{"model":"m"}`, ""},
		{`{"model":"m","stream":true,"stream_options":1}`, ""},
		{`{"model":"m","stream":true,"stream_options":{"include_usage":"yes"}}`, ""},
	} {
		var c Call
		if err := c.Parse([]byte(test.body)); err != nil {
			t.Fatalf("%s: %v", test.body, err)
		}
		from, until, text, ok := c.AskUsage()
		got := ""
		if ok {
			got = test.body[:from] + text + test.body[until:]
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.body, got, test.want)
		}
		if ok {
			if err := c.Parse([]byte(got)); err != nil || !c.IncludeUsage() {
				t.Errorf("%s does not ask: %v", got, err)
			}
		}
	}
}

func TestUsageOnly(t *testing.T) {
	for data, want := range map[string]bool{
		`{"id":"x","choices":[],"usage":{"prompt_tokens":1}}`:              true,
		` {"usage":{},"choices":[ ]} `:                                     true,
		`{"choices":[],"usage":null}`:                                      false,
		`{"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":1}}`: false,
		`{"usage":{"prompt_tokens":1}}`:                                    false,
		`{"choices":[],"usage":{"prompt_tokens":1}`:                        false,
		`[DONE]`: false, ``: false,
		`{"choices":[{"delta":{"content":"\"choices\":[],\"usage\":{}"}}]}`: false,
	} {
		if got := UsageOnly(Event{Data: []byte(data)}); got != want {
			t.Errorf("%s: %v", data, got)
		}
	}
}
