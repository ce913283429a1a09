package decisionservice

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/gpustack/gpustack-gateway/lb"
)

func TestForm(t *testing.T) {
	f := newForm("jev-latest", "Pick \"well\".", map[string]string{"qwen3-32b": "Reasoning,\nmath.", "unused": "x"})
	got := f.append(nil, []byte("user: say \"hi\"\u2028\xff"), []string{"qwen3-0.6b", "qwen3-32b", `org/"x"`})
	want := `{"model":"jev-latest","state":"user: say \"hi\"` + "\u2028\ufffd" + `","questions":{"model_selection":{"type":"choice",` +
		`"instructions":"Pick \"well\".","criteria":{"qwen3-0.6b":null,"qwen3-32b":"Reasoning,\nmath.","org/\"x\"":null}}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := f.append(got[:0], []byte("user: say \"hi\"\u2028\xff"), []string{"qwen3-0.6b", "qwen3-32b", `org/"x"`}); string(again) != want {
		t.Errorf("a second time: %s", again)
	}
}

func TestOptionsOf(t *testing.T) {
	var candidates []lb.Candidate
	for _, model := range []string{"a", "a", "b", "c", "b", "a"} {
		candidates = append(candidates, lb.Candidate{Model: model})
	}
	tests := []struct {
		live []bool
		want []string
	}{
		{[]bool{true, true, true, true, true, true}, []string{"a", "b", "c"}},
		{[]bool{false, false, true, false, true, true}, []string{"b", "a"}},
		{[]bool{false, true, false, false, false, false}, []string{"a"}},
		{make([]bool, 6), nil},
	}
	for _, test := range tests {
		if got := optionsOf(candidates, test.live); !slices.Equal(got, test.want) {
			t.Errorf("%v: got %q, want %q", test.live, got, test.want)
		}
	}
}

// Whatever the texts are, the question is JSON that says just them.
func FuzzForm(f *testing.F) {
	f.Add("jev", "choose", "a task", "a", "good")
	f.Add("\"", "\\", "\x00\xff", "\u2028", "\n")
	f.Fuzz(func(t *testing.T, model, instructions, state, option, criterion string) {
		got := newForm(model, instructions, map[string]string{option: criterion}).append(nil, []byte(state), []string{option, option + "2"})
		var question, want any
		if err := json.Unmarshal(got, &question); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		text, _ := json.Marshal(map[string]any{"model": model, "state": state, "questions": map[string]any{
			"model_selection": map[string]any{"type": "choice", "instructions": instructions,
				"criteria": map[string]any{option: criterion, option + "2": nil}}}})
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(question, want) {
			t.Errorf("got %s, want %s", got, text)
		}
	})
}
