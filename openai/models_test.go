package openai

import "testing"

func TestModels(t *testing.T) {
	two := []Model{{ID: "qwen3", Created: 1700000000, OwnedBy: "gpustack"}, {ID: `a"b`, Created: 0, OwnedBy: ""}}
	tests := []struct {
		name   string
		d      Dialect
		models []Model
		want   string
	}{
		{"openai", OpenAI, two, `{"object":"list","data":[{"id":"qwen3","object":"model","created":1700000000,"owned_by":"gpustack"},` +
			`{"id":"a\"b","object":"model","created":0,"owned_by":""}]}`},
		{"openai, none", OpenAI, nil, `{"object":"list","data":[]}`},
		{"anthropic", Anthropic, two, `{"data":[{"type":"model","id":"qwen3","display_name":"qwen3","created_at":"2023-11-14T22:13:20Z"},` +
			`{"type":"model","id":"a\"b","display_name":"a\"b","created_at":"1970-01-01T00:00:00Z"}],` +
			`"has_more":false,"first_id":"qwen3","last_id":"a\"b"}`},
		{"anthropic, none", Anthropic, nil, `{"data":[],"has_more":false,"first_id":null,"last_id":null}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(AppendModels(nil, test.d, test.models)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
