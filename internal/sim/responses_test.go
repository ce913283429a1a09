package sim

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestResponsesStreamInOrder(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Text: "one two", Cached: 1, Reasoning: 5}})
	a := post(t, client(t), e.URL()+"/v1/responses", `{"model":"m","input":"Say hello.","stream":true,"temperature":0.5}`)
	names, data := events(t, a.body)
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.delta", "response.output_text.done", "response.content_part.done",
		"response.output_item.done", "response.completed",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("%v", names)
	}
	id := at(data[0], "response.id")
	for i, d := range data {
		if d["sequence_number"] != float64(i) || d["type"] != names[i] {
			t.Errorf("%d: %v", i, d)
		}
	}
	last := data[len(data)-1]
	for path, want := range map[string]any{
		"response.id": id, "response.status": "completed", "response.output.0.content.0.text": "one two", "response.temperature": 0.5,
		"response.usage.input_tokens": 2.0, "response.usage.input_tokens_details.cached_tokens": 1.0,
		"response.usage.output_tokens": 7.0, "response.usage.output_tokens_details.reasoning_tokens": 5.0,
		"response.usage.total_tokens": 9.0,
	} {
		if got := at(last, path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func TestResponsesAreStored(t *testing.T) {
	e, other := start(t, Options{}), start(t, Options{})
	c := client(t)
	first := decode(t, post(t, c, e.URL()+"/v1/responses", `{"model":"m","input":"Say hello."}`).body)
	id := at(first, "id").(string)
	if got := decode(t, do(t, c, "GET", e.URL()+"/v1/responses/"+id, "").body); !reflect.DeepEqual(got, first) {
		t.Errorf("got %v, want %v", got, first)
	}
	next := `{"model":"m","input":[{"role":"user","content":"More."}],"store":false,"previous_response_id":"` + id + `"}`
	a := post(t, c, e.URL()+"/v1/responses", next)
	if a.status != 200 || at(decode(t, a.body), "previous_response_id") != id {
		t.Errorf("%d %s", a.status, a.body)
	}
	if b := do(t, c, "GET", e.URL()+"/v1/responses/"+at(decode(t, a.body), "id").(string), ""); b.status != 404 {
		t.Errorf("an answer that was not to be stored: %d", b.status)
	}
	if b := post(t, c, other.URL()+"/v1/responses", next); b.status != 404 || !strings.Contains(b.body, id) {
		t.Errorf("another engine's answer: %d %s", b.status, b.body)
	}
}

func TestStoreForgetsTheOldest(t *testing.T) {
	var s store
	for i := range maxStored + 1 {
		s.put(strings.Repeat("x", i+1), nil)
	}
	_, first := s.get("x")
	_, second := s.get("xx")
	if first || !second || len(s.byID) != maxStored {
		t.Errorf("first %t, second %t, %d kept", first, second, len(s.byID))
	}
}

func TestResponsesTools(t *testing.T) {
	const tools = `"tools":[{"type":"web_search"},{"type":"function","name":"f","parameters":{"required":["a"],"properties":{"a":{"type":"string"}}}}]`
	e := start(t, Options{})
	for name, c := range map[string]struct {
		more  string
		calls bool
	}{
		"required":  {`"input":"x","tool_choice":"required",` + tools, true},
		"named":     {`"input":"x","tool_choice":{"type":"function","name":"f"},` + tools, true},
		"asked for": {`"input":"call f",` + tools, true},
		"not asked": {`"input":"x",` + tools, false},
		"none":      {`"input":"call f","tool_choice":"none",` + tools, false},
		"answered":  {`"input":[{"role":"user","content":"call f"},{"type":"function_call","call_id":"1"},{"type":"function_call_output","call_id":"1","output":"x"}],` + tools, false},
	} {
		whole := decode(t, post(t, client(t), e.URL()+"/v1/responses", `{"model":"m",`+c.more+`}`).body)
		_, data := events(t, post(t, client(t), e.URL()+"/v1/responses", `{"model":"m","stream":true,`+c.more+`}`).body)
		args := ""
		if c.calls {
			args = joined(data, "delta")
		}
		got := at(whole, "output.0.arguments")
		if !c.calls && got != nil || c.calls && (got != `{"a":"sample"}` || args != got) {
			t.Errorf("%s: whole %v, streamed %q", name, got, args)
		}
		if final := data[len(data)-1]; at(final, "response.output.0.type") != at(whole, "output.0.type") {
			t.Errorf("%s: %v", name, final)
		}
	}
}

func TestResponsesCutAndBroken(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Text: "one two three"}})
	names, data := events(t, post(t, client(t), e.URL()+"/v1/responses", `{"model":"m","input":"x","max_output_tokens":2,"stream":true}`).body)
	last := data[len(data)-1]
	if names[len(names)-1] != "response.incomplete" || at(last, "response.incomplete_details.reason") != "max_output_tokens" ||
		at(last, "response.output.0.content.0.text") != "one two" || at(last, "response.output.0.status") != "incomplete" {
		t.Errorf("%v %v", names, last)
	}
	e.Set(Behaviour{ErrorEvent: 2})
	names, data = events(t, post(t, client(t), e.URL()+"/v1/responses", `{"model":"m","input":"x","stream":true}`).body)
	if !slices.Equal(names, []string{"response.created", "error"}) || data[1]["code"] != "server_error" || data[1]["sequence_number"] != 1.0 {
		t.Errorf("%v %v", names, data)
	}
	if a := post(t, client(t), e.URL()+"/v1/responses", `{"model":"m"}`); a.status != 400 || at(decode(t, a.body), "error.param") != "input" {
		t.Errorf("%+v", a)
	}
}
