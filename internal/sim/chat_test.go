package sim

import (
	"strings"
	"testing"
)

func TestChatWhole(t *testing.T) {
	e := start(t, Options{})
	a := post(t, client(t), e.URL()+"/v1/chat/completions", hello)
	v := decode(t, a.body)
	for path, want := range map[string]any{
		"object":                      "chat.completion",
		"model":                       "m",
		"choices.0.message.role":      "assistant",
		"choices.0.message.content":   "This is m. You said: Say hello.",
		"choices.0.finish_reason":     "stop",
		"usage.prompt_tokens":         2.0,
		"usage.completion_tokens":     7.0,
		"usage.total_tokens":          9.0,
		"usage.prompt_tokens_details": nil,
	} {
		if got := at(v, path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if a.status != 200 || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, header %v", a.status, a.header)
	}
}

func TestChatStreamSaysTheSame(t *testing.T) {
	e := start(t, Options{})
	for _, usage := range []bool{false, true} {
		body := helloStream
		if usage {
			body = strings.Replace(body, `"stream"`, `"stream_options":{"include_usage":true},"stream"`, 1)
		}
		a := post(t, client(t), e.URL()+"/chat/completions", body)
		names, data := events(t, a.body)
		said := joined(data, "choices.0.delta.content")
		last := data[len(data)-2]
		if said != "This is m. You said: Say hello." || names[len(names)-1] != "[DONE]" {
			t.Errorf("said %q, events %v", said, names)
		}
		if usage {
			if len(at(last, "choices").([]any)) != 0 || at(last, "usage.total_tokens") != 9.0 {
				t.Errorf("the usage event is %v", last)
			}
			last = data[len(data)-3]
		}
		if at(last, "choices.0.finish_reason") != "stop" || strings.Contains(a.body, `"usage"`) != usage {
			t.Errorf("usage %t: %s", usage, a.body)
		}
	}
}

func TestChatWordsAreAsMany(t *testing.T) {
	e := start(t, Options{})
	for _, c := range []struct {
		behaviour Behaviour
		limit     string
		want      string
		reason    string
	}{
		{Behaviour{Text: "one two three"}, "", "one two three", "stop"},
		{Behaviour{Text: "one two three", Tokens: 2}, "", "one two", "stop"},
		{Behaviour{Text: "one two three", Tokens: 7}, "", "one two three one two three one", "stop"},
		{Behaviour{Text: "one two three"}, `"max_tokens":2,`, "one two", "length"},
		{Behaviour{Text: "one two three"}, `"max_completion_tokens":3,`, "one two three", "stop"},
		{Behaviour{Text: "héllo \"你好\"\n\x01 \\"}, "", "héllo \"你好\"\n\x01 \\", "stop"},
	} {
		e.Set(c.behaviour)
		v := decode(t, post(t, client(t), e.URL()+"/v1/chat/completions", strings.Replace(hello, "{", "{"+c.limit, 1)).body)
		if got := at(v, "choices.0.message.content"); got != c.want || at(v, "choices.0.finish_reason") != c.reason {
			t.Errorf("%+v: got %q, %v", c, got, at(v, "choices.0.finish_reason"))
		}
	}
}

func TestChatTools(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"other"}},{"type":"function","function":{"name":"get_weather",
		"parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"at":{"type":"object",
		"properties":{"x":{"enum":["a","b"]}},"required":["x"]}},"required":["city","at"]}}}],`
	const args = `{"at":{"x":"a"},"city":"sample"}`
	e := start(t, Options{})
	for name, c := range map[string]struct{ more, said, tool string }{
		"required":        {tools + `"tool_choice":"required",`, "hi", "other"},
		"named":           {tools + `"tool_choice":{"type":"function","function":{"name":"get_weather"}},`, "hi", "get_weather"},
		"asked for":       {tools, "Please call get_weather now", "get_weather"},
		"not asked for":   {tools, "hi", ""},
		"none":            {tools + `"tool_choice":"none",`, "call get_weather", ""},
		"there are none":  {`"tool_choice":"required",`, "call get_weather", ""},
		"answered before": {tools, `call get_weather"},{"role":"tool","tool_call_id":"x","content":"sunny`, ""},
	} {
		for _, stream := range []string{"", `"stream":true,`} {
			a := post(t, client(t), e.URL()+"/v1/chat/completions",
				`{"model":"m",`+stream+c.more+`"messages":[{"role":"user","content":"`+c.said+`"}]}`)
			var got, gotArgs, finish string
			if stream == "" {
				v := decode(t, a.body)
				got, _ = at(v, "choices.0.message.tool_calls.0.function.name").(string)
				gotArgs, _ = at(v, "choices.0.message.tool_calls.0.function.arguments").(string)
				finish, _ = at(v, "choices.0.finish_reason").(string)
			} else {
				_, data := events(t, a.body)
				got = joined(data, "choices.0.delta.tool_calls.0.function.name")
				gotArgs = joined(data, "choices.0.delta.tool_calls.0.function.arguments")
				finish = joined(data, "choices.0.finish_reason")
			}
			want := map[bool]string{true: "tool_calls", false: "stop"}[c.tool != ""]
			if got != c.tool || finish != want || c.tool == "get_weather" && gotArgs != args {
				t.Errorf("%s, %s: got %q with %q, %q", name, stream, got, gotArgs, finish)
			}
		}
	}
}

func TestBadRequests(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Models: []string{"m"}}})
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		param, code        any
	}{
		"no JSON":       {"POST", "/v1/chat/completions", `{"model":"m"`, 400, nil, nil},
		"no object":     {"POST", "/v1/chat/completions", `[]`, 400, nil, nil},
		"no body":       {"POST", "/v1/chat/completions", ``, 400, nil, nil},
		"no model":      {"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, 400, "model", nil},
		"no text":       {"POST", "/v1/chat/completions", `{"model":7}`, 400, "model", nil},
		"other model":   {"POST", "/v1/chat/completions", `{"model":"x"}`, 404, "model", "model_not_found"},
		"no messages":   {"POST", "/v1/chat/completions", `{"model":"m"}`, 400, "messages", nil},
		"odd stream":    {"POST", "/v1/chat/completions", `{"model":"m","stream":"yes"}`, 400, "stream", nil},
		"many choices":  {"POST", "/v1/chat/completions", `{"model":"m","n":2,"messages":[{}]}`, 400, "n", nil},
		"unknown path":  {"POST", "/v1/nothing", hello, 404, nil, nil},
		"wrong method":  {"GET", "/v1/chat/completions", "", 405, nil, nil},
		"unknown model": {"GET", "/v1/models/x", "", 404, "model", "model_not_found"},
	} {
		a := do(t, client(t), c.method, e.URL()+c.path, c.body)
		v := decode(t, a.body)
		if a.status != c.status || at(v, "error.param") != c.param || at(v, "error.code") != c.code || at(v, "error.message") == "" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func TestInfo(t *testing.T) {
	e := start(t, Options{Base: "/api", Behaviour: Behaviour{Models: []string{"m", "org/m"}}})
	c := client(t)
	for path, want := range map[string]string{
		"/v1/models":       `"id":"org/m"`,
		"/models":          `"object":"list"`,
		"/v1/models/org/m": `"id":"org/m"`,
		"/health":          "",
		"/metrics":         "vllm:num_requests_running{model_name=\"m\"} 0\n",
	} {
		if a := do(t, c, "GET", e.URL()+path, ""); a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if a := do(t, c, "HEAD", e.URL()+path, ""); a.status != 200 || a.body != "" {
			t.Errorf("HEAD %s: %d %s", path, a.status, a.body)
		}
		if a := do(t, c, "GET", "http://"+e.Addr()+path, ""); a.status != 404 {
			t.Errorf("%s without the base: %d", path, a.status)
		}
	}
}
