package openai

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

func streamUsage(t *testing.T, stream []byte) (u Usage) {
	t.Helper()
	var s Events
	for len(stream) > 0 {
		n, e, ok := s.Next(stream)
		stream = stream[n:]
		if ok {
			u.Read(e.Data)
		}
	}
	return u
}

func TestC118_UsageOfEveryKindOfAnswer(t *testing.T) {
	for name, want := range map[string]Usage{
		"chat.sse":        {21, 13, 16, 5, true},
		"completions.sse": {1, 3, 0, 0, true},
		"responses.sse":   {36, 87, 32, 64, true},
		"messages.sse":    {25, 15, 1024, 0, true},
	} {
		if got := streamUsage(t, recorded(t, name)); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	tests := []struct {
		file string
		want Usage
	}{
		{"chat.json", Usage{19, 10, 0, 4, true}},
		{"completions.json", Usage{5, 7, 0, 0, true}},
		{"responses.json", Usage{36, 87, 0, 0, true}},
		{"messages.json", Usage{2095, 503, 128, 0, true}},
		{"embeddings.json", Usage{8, 0, 0, 0, true}},
		{"rerank.json", Usage{56, 0, 0, 0, true}},
		{"transcription.json", Usage{14, 45, 0, 0, true}},
		{"systemone.json", Usage{120, 1, 0, 0, true}},
	}
	for _, test := range tests {
		body, err := os.ReadFile(filepath.Join("..", "testdata", "bodies", test.file))
		if err != nil {
			t.Fatal(err)
		}
		var u Usage
		if u.Read(body); u != test.want {
			t.Errorf("%s: %+v, want %+v", test.file, u, test.want)
		}
	}
	for _, end := range []string{"incomplete", "failed"} {
		var u Usage
		u.Read([]byte(`{"type":"response.` + end + `","response":{"id":"r","usage":{"input_tokens":3,"output_tokens":4}}}`))
		if u != (Usage{3, 4, 0, 0, true}) {
			t.Errorf("%s: %+v", end, u)
		}
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name string
		data []string
		want Usage
	}{
		{"nothing", []string{"", "{}", "[DONE]", `{"usage":null}`, `{"usage":[]}`, `{"usage":"x"}`, `"usage"`, `[{"usage":{"prompt_tokens":1}}]`}, Usage{}},
		{"nothing in it", []string{`{"usage":{}}`, `{"usage":{"prompt_tokens":null,"total_tokens":"7"}}`, `{"usage":{"prompt_tokens":-1}}`}, Usage{}},
		{"garbage", []string{`{"usage":`, `{"usage":{"prompt_tokens":1`, `{"usage":{"prompt_tokens":1e999}}`, `{"usage":{"prompt_tokens":99999999999999999999}}`}, Usage{}},
		{"zero is something", []string{`{"usage":{"prompt_tokens":0}}`}, Usage{Known: true}},
		{"a fraction of nothing", []string{`{"usage":{"prompt_tokens":12.0,"completion_tokens":1e2}}`}, Usage{12, 100, 0, 0, true}},
		{"total only", []string{`{"usage":{"total_tokens":9}}`}, Usage{9, 0, 0, 0, true}},
		{"total and output", []string{`{"usage":{"total_tokens":9,"completion_tokens":4}}`}, Usage{5, 4, 0, 0, true}},
		{"in every chunk", []string{`{"usage":{"prompt_tokens":5,"completion_tokens":1}}`, `{"usage":{"prompt_tokens":5,"completion_tokens":2}}`}, Usage{5, 2, 0, 0, true}},
		{"zeros at the end", []string{`{"message":{"usage":{"input_tokens":5,"output_tokens":1}}}`, `{"usage":{"input_tokens":0,"output_tokens":7}}`}, Usage{5, 7, 0, 0, true}},
		{"details of another kind", []string{`{"usage":{"prompt_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":"x"}}}`}, Usage{5, 0, 0, 0, true}},
		{"an error's message", []string{`{"message":"usage","usage":null}`, `{"response":"x","x":"\"usage\""}`}, Usage{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var u Usage
			for _, data := range test.data {
				u.Read([]byte(data))
			}
			if u != test.want {
				t.Errorf("%+v, want %+v", u, test.want)
			}
		})
	}
}

func TestUsage_ReadEnd(t *testing.T) {
	for end, want := range map[string]Usage{
		`,0.12,0.5]}],"model":"e","usage":{"prompt_tokens":8,"total_tokens":8}}`:   {8, 0, 0, 0, true},
		"0.5]}], \"usage\" : {\"prompt_tokens\": 8},\n\"model\": {\"a\": [1]} }\n": {8, 0, 0, 0, true},
		`"usage":{"prompt_tokens":8}}`:                                             {8, 0, 0, 0, true},
		`"x","usage":{"prompt_tokens":8}}]}`:                                       {}, // somebody else's
		`"x","usage":{"prompt_tokens":8}}}`:                                        {},
		`"x","usage":{"prompt_tokens":8`:                                           {}, // it broke off
		`"x","usage":{"prompt_tokens":8},"b64":"abc`:                               {},
		`sage":{"prompt_tokens":8}}`:                                               {},
		`"text":"\"usage\":{\"prompt_tokens\":8}"}`:                                {},
		`"usage":{"prompt_tokens":1},"data":["x"],"usage":{"prompt_tokens":8}}`:    {8, 0, 0, 0, true},
		``: {}, `}`: {},
	} {
		var u Usage
		if u.ReadEnd([]byte(end)); u != want {
			t.Errorf("%s: %+v, want %+v", end, u, want)
		}
	}
}

func TestResponseID(t *testing.T) {
	for data, want := range map[string]string{
		`{"id":"resp_1","object":"response","output":[]}`:                                   "resp_1",
		`{"object":"response","output":[],"id":"resp_1"}`:                                   "resp_1",
		`{"type":"response.created","response":{"id":"resp_2","object":"response"}}`:        "resp_2",
		`{"type":"response.completed","response":{"object":"response","id":"res\u0070_2"}}`: "resp_2",
		`{"id":"chatcmpl-1","object":"chat.completion"}`:                                    "",
		`{"id":"msg_1","type":"message"}`:                                                   "",
		`{"id":7,"object":"response"}`:                                                      "",
		`{"response":{}}`:                                                                   "",
		`{"response":null}`:                                                                 "",
		`[DONE]`:                                                                            "",
		``:                                                                                  "",
		`{"id":"resp_1","object":"response","output":[`:                                     "resp_1",
	} {
		if got := string(ResponseID([]byte(data))); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	tests := []struct {
		name, data string
		want       Class
	}{
		{"", "", Harmless}, {"ping", "", Harmless}, {"error", "", Failure}, {"error", `{"message":"x"}`, Failure}, {"", "[DONE]", Meaningful},
		{"", "garbage", Meaningful}, {"", `{"a":`, Meaningful}, {"", `{"choices":[],"x":`, Meaningful}, {"", `{}`, Meaningful}, {"x", `{"a":1}`, Meaningful},
		{"", `{"error":{"message":"x"}}`, Failure}, {"", `{"error":"x"}`, Failure}, {"", `{"error":null,"choices":[]}`, Harmless}, {"", `{"error":{},"x":1}`, Meaningful},
		{"", `{"object":"error","message":"x","code":500}`, Failure}, {"", `{"type":"error","error":{"type":"overloaded_error"}}`, Failure},
		{"", `{"type":"error","code":"server_error","message":"x"}`, Failure},
		{"", `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, Harmless},
		{"", `{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null,"tool_calls":[ ]}}]}`, Harmless},
		{"", `{"choices":[{"delta":{"content":"a"}}]}`, Meaningful}, {"", `{"choices":[{"delta":{"reasoning_content":"a"}}]}`, Meaningful},
		{"", `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, Meaningful}, {"", `{"choices":[{"delta":{}},{"delta":{"content":"a"}}]}`, Meaningful},
		{"", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, Meaningful}, {"", `{"choices":[{"text":""}]}`, Harmless}, {"", `{"choices":[{"text":"a"}]}`, Meaningful},
		{"", `{"choices":[],"usage":{"prompt_tokens":1}}`, Harmless}, {"", `{"choices":null}`, Meaningful},
		{"response.created", `{"type":"response.created","response":{"error":null,"status":"in_progress"}}`, Harmless},
		{"response.failed", `{"type":"response.failed","response":{"error":{"code":"x"}}}`, Failure},
		{"response.incomplete", `{"type":"response.incomplete","response":{}}`, Meaningful},
		{"message_start", `{"type":"message_start","message":{}}`, Harmless}, {"ping", `{"type": "ping"}`, Harmless},
		{"content_block_start", `{"type":"content_block_start"}`, Meaningful},
	}
	for _, test := range tests {
		if got := Classify(Event{Name: []byte(test.name), Data: []byte(test.data)}); got != test.want {
			t.Errorf("%s %s: %d, want %d", test.name, test.data, got, test.want)
		}
	}
	if Classify(Event{Oversized: true}) != Meaningful || Classify(Event{}) != Harmless {
		t.Error("oversized, or nothing")
	}
	for name, want := range map[string]int{"chat.sse": 1, "completions.sse": 0, "responses.sse": 2, "messages.sse": 1} {
		var s Events
		harmless := 0
		for rest := recorded(t, name); ; harmless++ {
			n, e, ok := s.Next(rest)
			if rest = rest[n:]; !ok || Classify(e) != Harmless {
				break
			}
		}
		if harmless != want {
			t.Errorf("%s: %d harmless events, want %d", name, harmless, want)
		}
	}
}

func TestUsage_Allocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	stream := recorded(t, "responses.sse")
	var s Events
	if n := testing.AllocsPerRun(100, func() {
		var u Usage
		for rest := stream; len(rest) > 0; {
			n, e, _ := s.Next(rest)
			rest = rest[n:]
			u.Read(e.Data)
			Classify(e)
			ResponseID(e.Data)
		}
		if !u.Known {
			t.Error("unknown")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAnswers(f *testing.F) {
	for _, name := range []string{"chat.sse", "responses.sse", "messages.sse"} {
		for line := range strings.Lines(string(recorded(f, name))) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				f.Add([]byte(data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var u Usage
		u.Read(data)
		if u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.Reasoning < 0 {
			t.Fatalf("%+v", u)
		}
		id := ResponseID(data)
		class := Classify(Event{Data: data})
		var decoded struct {
			ID       any
			Response any
			Error    any `json:"error"`
		}
		if json.Unmarshal(data, &decoded) == nil && decoded.ID == nil && decoded.Response == nil && len(id) > 0 {
			t.Fatalf("%q: id %q", data, id)
		}
		if class > Failure {
			t.Fatal(class)
		}
	})
}

func BenchmarkUsage(b *testing.B) {
	b.Run("chunk", func(b *testing.B) {
		data := []byte(`{"id":"chatcmpl-7f3a","object":"chat.completion.chunk","created":1760000000,"model":"qwen3-0.6b","choices":[{"index":0,"delta":{"content":"Hé"},"logprobs":null,"finish_reason":null}]}`)
		b.SetBytes(int64(len(data)))
		var u Usage
		for b.Loop() {
			u.Read(data)
		}
	})
	b.Run("last", func(b *testing.B) {
		data := []byte(`{"id":"chatcmpl-7f3a","object":"chat.completion.chunk","created":1760000000,"model":"qwen3-0.6b","choices":[],"usage":{"prompt_tokens":21,"total_tokens":34,"completion_tokens":13}}`)
		b.SetBytes(int64(len(data)))
		var u Usage
		for b.Loop() {
			u.Read(data)
		}
	})
}
