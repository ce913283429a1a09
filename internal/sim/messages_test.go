package sim

import (
	"slices"
	"testing"
)

const helloMessage = `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":[{"type":"text","text":"Say hello."}]}]}`

func TestMessagesWholeAndStreamed(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Text: "one two three", Cached: 1}})
	c := client(t)
	whole := decode(t, post(t, c, e.URL()+"/v1/messages", helloMessage).body)
	for path, want := range map[string]any{
		"type": "message", "role": "assistant", "content.0.text": "one two three", "stop_reason": "end_turn",
		"usage.input_tokens": 1.0, "usage.cache_read_input_tokens": 1.0, "usage.output_tokens": 3.0,
	} {
		if got := at(whole, path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
	names, data := events(t, post(t, c, e.URL()+"/v1/messages?beta=true", `{"stream":true,`+helloMessage[1:]).body)
	want := []string{
		"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_delta",
		"content_block_stop", "message_delta", "message_stop",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("%v", names)
	}
	said := joined(data, "delta.text")
	for i, d := range data {
		if d["type"] != names[i] {
			t.Errorf("%s: %v", names[i], d)
		}
	}
	if said != "one two three" || at(data[7], "usage.output_tokens") != 3.0 || at(data[0], "message.usage.input_tokens") != 1.0 {
		t.Errorf("%q %v", said, data)
	}
}

func TestMessagesTools(t *testing.T) {
	const tools = `"tools":[{"type":"bash_20250124","name":"bash"},{"name":"f","input_schema":{"required":["a"],"properties":{"a":{"type":"integer"}}}}]`
	e := start(t, Options{})
	for name, c := range map[string]struct {
		more  string
		calls bool
	}{
		"any":       {`"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"any"},` + tools, true},
		"named":     {`"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"tool","name":"f"},` + tools, true},
		"asked for": {`"messages":[{"role":"user","content":"call f"}],` + tools, true},
		"auto":      {`"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"auto"},` + tools, false},
		"none":      {`"messages":[{"role":"user","content":"call f"}],"tool_choice":{"type":"none"},` + tools, false},
		"answered":  {`"messages":[{"role":"user","content":"call f"},{"role":"user","content":[{"type":"tool_result","content":"x"}]}],` + tools, false},
	} {
		whole := decode(t, post(t, client(t), e.URL()+"/v1/messages", `{"model":"m","max_tokens":9,`+c.more+`}`).body)
		_, data := events(t, post(t, client(t), e.URL()+"/v1/messages", `{"model":"m","max_tokens":9,"stream":true,`+c.more+`}`).body)
		args, stop := joined(data, "delta.partial_json"), joined(data, "delta.stop_reason")
		if c.calls && (at(whole, "content.0.input.a") != 1.0 || args != `{"a":1}` || stop != "tool_use") || !c.calls && (args != "" || stop != "end_turn") ||
			at(whole, "stop_reason") != stop {
			t.Errorf("%s: %v, %q, %v", name, whole, args, stop)
		}
	}
}

func TestMessagesErrors(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Models: []string{"m"}}})
	for name, c := range map[string]struct {
		method, body string
		status       int
		kind         string
	}{
		"no JSON":     {"POST", `{`, 400, "invalid_request_error"},
		"no messages": {"POST", `{"model":"m","max_tokens":1}`, 400, "invalid_request_error"},
		"no limit":    {"POST", `{"model":"m","messages":[{}]}`, 400, "invalid_request_error"},
		"other model": {"POST", `{"model":"x"}`, 404, "not_found_error"},
		"method":      {"GET", ``, 405, "invalid_request_error"},
	} {
		a := do(t, client(t), c.method, e.URL()+"/v1/messages", c.body)
		v := decode(t, a.body)
		if a.status != c.status || at(v, "type") != "error" || at(v, "error.type") != c.kind || at(v, "request_id") == nil {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for status, kind := range map[int]string{
		401: "authentication_error", 403: "permission_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
		529: "overloaded_error",
	} {
		e.Set(Behaviour{Status: status})
		if a := post(t, client(t), e.URL()+"/v1/messages", helloMessage); a.status != status || at(decode(t, a.body), "error.type") != kind {
			t.Errorf("%d: %s", status, a.body)
		}
	}
	e.Set(Behaviour{ErrorEvent: 3})
	names, data := events(t, post(t, client(t), e.URL()+"/v1/messages", `{"stream":true,`+helloMessage[1:]).body)
	if !slices.Equal(names, []string{"message_start", "content_block_start", "error"}) || at(data[2], "error.type") != "overloaded_error" {
		t.Errorf("%v %v", names, data)
	}
}

func TestCountTokens(t *testing.T) {
	e := start(t, Options{})
	a := post(t, client(t), e.URL()+"/v1/messages/count_tokens", `{"model":"m","system":"Be kind now.","messages":[{"role":"user","content":"Say hello."}]}`)
	if got := at(decode(t, a.body), "input_tokens"); got != 5.0 {
		t.Errorf("%s", a.body)
	}
}
