package decisionservice

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func answered(choice string) string { return `{"answers":{"model_selection":{` + choice + `}}}` }

func TestBelieve(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		want   verdict
	}{
		{"the contract's form", `{"model":"jev-1.14","answers":{"model_selection":{"type":"choice","choice":"big",` +
			`"probabilities":{"small":0.25,"big":0.75},"confidence":0.5}},"usage":{"input_tokens":9,"output_tokens":0}}`,
			verdict{[]float64{.25, .75}, 1, .5}},
		{"no probabilities: all of it", answered(`"type":"choice","choice":"small","confidence":0.9`),
			verdict{[]float64{1, 0}, 0, .9}},
		{"no confidence: certain", answered(`"choice":"big","probabilities":{"big":1,"small":0}`),
			verdict{[]float64{0, 1}, 1, 1}},
		{"no choice: the most probable", answered(`"probabilities":{"small":0.25,"big":0.75}`),
			verdict{[]float64{.25, .75}, 1, 1}},
		{"the probabilities decide", answered(`"choice":"small","probabilities":{"small":0.25,"big":0.75}`),
			verdict{[]float64{.25, .75}, 0, 1}},
		{"hundredths", answered(`"choice":"big","probabilities":{"small":25,"big":75}`), verdict{[]float64{.25, .75}, 1, 1}},
		{"a sum below 1", answered(`"choice":"big","probabilities":{"small":0.1,"big":0.3}`), verdict{[]float64{.25, .75}, 1, 1}},
		{"the smallest numbers", answered(`"choice":"big","probabilities":{"small":5e-324,"big":5e-324}`),
			verdict{[]float64{.5, .5}, 1, 1}},
		{"null is absent", answered(`"type":null,"choice":"big","probabilities":null,"confidence":null`),
			verdict{[]float64{0, 1}, 1, 1}},
		{"members without a meaning here, twice", `{"x":[[{}]],"x":1,` + answered(`"y":{"choice":7},"choice":"big","y":0`)[1:],
			verdict{[]float64{0, 1}, 1, 1}},
		{"another question's answer beside it", `{"answers":{"x":{"choice":7},"model_selection":{"choice":"big"}}}`,
			verdict{[]float64{0, 1}, 1, 1}},
		{"a name in escapes", answered(`"\u0063hoice":"b\u0069g"`), verdict{[]float64{0, 1}, 1, 1}},
		{"no confidence at all", answered(`"choice":"big","confidence":0`), verdict{[]float64{0, 1}, 1, 0}},
		{"white space", " \r\n\t" + answered(` "choice" : "big" `) + "\n", verdict{[]float64{0, 1}, 1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := believe([]byte(test.answer), []string{"small", "big"})
			if err != nil {
				t.Fatal(err)
			}
			if got.chosen != test.want.chosen || got.confidence != test.want.confidence ||
				!slices.EqualFunc(got.shares, test.want.shares, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

var nonsense = []struct {
	name   string
	answer string
	want   refusal
}{
	{"nothing", "", errMalformed},
	{"text", "the big one, I think", errMalformed},
	{"a page", "<html><body>502 Bad Gateway</body></html>", errMalformed},
	{"half of it", answered(`"choice":"big"`)[:40], errMalformed},
	{"more behind it", answered(`"choice":"big"`) + "{}", errMalformed},
	{"null", "null", errMalformed},
	{"bytes that are no text", answered("\"choice\":\"big\",\"why\":\"\xff\""), errMalformed},
	{"a list", "[]", errMalformed},
	{"an empty object", "{}", errNoAnswer},
	{"an error with status 200", `{"error":{"message":"overloaded"}}`, errNoAnswer},
	{"no answer to the question", `{"answers":{"other":{"choice":"big"}}}`, errNoAnswer},
	{"an empty answer", answered(""), errNoAnswer},
	{"a name in another case", `{"Answers":{"model_selection":{"choice":"big"}}}`, errNoAnswer},
	{"answers as a list", `{"answers":[{"choice":"big"}]}`, errMalformed},
	{"an answer as text", `{"answers":{"model_selection":"big"}}`, errMalformed},
	{"another type", answered(`"type":"score","choice":"big"`), errMalformed},
	{"a type that is none", answered(`"type":1,"choice":"big"`), errMalformed},
	{"a choice that is a number", answered(`"choice":1`), errMalformed},
	{"a choice that is a list", answered(`"choice":["big"]`), errMalformed},
	{"a choice not offered", answered(`"choice":"huge"`), errUnknownOption},
	{"a choice in another case", answered(`"choice":"Big"`), errUnknownOption},
	{"an empty choice", answered(`"choice":""`), errUnknownOption},
	{"a probability of something else", answered(`"choice":"big","probabilities":{"big":1,"small":0,"huge":0}`), errUnknownOption},
	{"a probability twice", answered(`"choice":"big","probabilities":{"big":0.5,"small":0.5,"b\u0069g":0.5}`), errDuplicateOption},
	{"a probability missing", answered(`"choice":"big","probabilities":{"big":1}`), errProbability},
	{"no probability in it", answered(`"choice":"big","probabilities":{}`), errProbability},
	{"a negative probability", answered(`"choice":"big","probabilities":{"big":1.5,"small":-0.5}`), errProbability},
	{"a probability beyond all numbers", answered(`"choice":"big","probabilities":{"big":1e999,"small":0}`), errProbability},
	{"a sum beyond all numbers", answered(`"choice":"big","probabilities":{"big":1e308,"small":1e308}`), errProbability},
	{"all zero", answered(`"choice":"big","probabilities":{"big":0,"small":-0.0}`), errProbability},
	{"a probability that is null", answered(`"choice":"big","probabilities":{"big":null,"small":1}`), errProbability},
	{"a probability that is text", answered(`"choice":"big","probabilities":{"big":"1","small":0}`), errMalformed},
	{"a probability that is NaN", answered(`"choice":"big","probabilities":{"big":NaN,"small":0}`), errMalformed},
	{"probabilities as a list", answered(`"choice":"big","probabilities":[0.1,0.9]`), errMalformed},
	{"a confidence over 1", answered(`"choice":"big","confidence":1.0000001`), errConfidence},
	{"a negative confidence", answered(`"choice":"big","confidence":-0.1`), errConfidence},
	{"a confidence beyond all numbers", answered(`"choice":"big","confidence":1e400`), errConfidence},
	{"a confidence that is text", answered(`"choice":"big","confidence":"high"`), errMalformed},
	{"a confidence that is an object", answered(`"choice":"big","confidence":{}`), errMalformed},
	{"the choice twice", answered(`"choice":"big","choice":"big"`), errDuplicate},
	{"the choice twice, once in escapes", answered(`"choice":"big","\u0063hoice":"small"`), errDuplicate},
	{"probabilities twice", answered(`"probabilities":null,"probabilities":{"big":1,"small":0}`), errDuplicate},
	{"the answer twice", `{"answers":{"model_selection":{"choice":"big"},"model_selection":{"choice":"small"}}}`, errDuplicate},
	{"the answers twice", `{"answers":{},"answers":{"model_selection":{"choice":"big"}}}`, errDuplicate},
	{"6 million brackets", strings.Repeat("[", 6_000_000), errTooLarge},
	{"nested too deeply", `{"answers":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, errMalformed},
	{"nested in the choice", answered(`"choice":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat("}", 5000)), errMalformed},
	{"too large", answered(`"choice":"big","why":"` + strings.Repeat("x", maxAnswer) + `"`), errTooLarge},
}

func TestBelieve_Refuses(t *testing.T) {
	for _, test := range nonsense {
		t.Run(test.name, func(t *testing.T) {
			if v, err := believe([]byte(test.answer), []string{"small", "big"}); !errors.Is(err, test.want) {
				t.Errorf("got %v, %v, want %v", v, err, test.want)
			}
		})
	}
}

// As many options as a service must take, and an answer about all of them.
func TestBelieve_ManyOptions(t *testing.T) {
	var options []string
	var all strings.Builder
	for i := range 255 {
		options = append(options, fmt.Sprintf("org/model-%d:lora", i))
		fmt.Fprintf(&all, "%q:%d,", options[i], i)
	}
	v, err := believe([]byte(answered(`"probabilities":{`+strings.TrimSuffix(all.String(), ",")+`}`)), options)
	if err != nil || v.chosen != 254 || math.Abs(v.shares[254]-254.0/(254*255/2)) > 1e-12 {
		t.Errorf("chosen %d, %v", v.chosen, err)
	}
}

// Whatever is answered: a refusal with a known reason, or a verdict that can be voted by.
func FuzzVerdict(f *testing.F) {
	for _, test := range nonsense {
		if len(test.answer) <= 4096 {
			f.Add(test.answer)
		}
	}
	f.Add(answered(`"type":"choice","choice":"big","probabilities":{"small":0.25,"big":0.75},"confidence":0.5`))
	f.Add(answered(`"choice":"small"`))
	known := []refusal{errTooLarge, errMalformed, errDuplicate, errNoAnswer, errUnknownOption, errDuplicateOption,
		errProbability, errConfidence}
	options := []string{"small", "big", "org/\ufffd"}
	f.Fuzz(func(t *testing.T, answer string) {
		v, err := believe([]byte(answer), options)
		if err != nil {
			var why refusal
			if !errors.As(err, &why) || !slices.Contains(known, why) {
				t.Fatalf("unknown reason %v", err)
			}
			return
		}
		var sum float64
		for _, share := range v.shares {
			if !(share >= 0 && share <= 1) {
				t.Fatalf("share %v", share)
			}
			sum += share
		}
		if len(v.shares) != len(options) || math.Abs(sum-1) > 1e-9 || v.chosen < 0 || v.chosen >= len(options) ||
			!(v.confidence >= 0 && v.confidence <= 1) {
			t.Fatalf("not a verdict: %+v", v)
		}
	})
}

func BenchmarkBelieve(b *testing.B) {
	answer := []byte(answered(`"type":"choice","choice":"qwen3-32b","probabilities":{"qwen3-0.6b":0.1,"qwen3-32b":0.9},"confidence":0.8`))
	options := []string{"qwen3-0.6b", "qwen3-32b"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := believe(answer, options); err != nil {
			b.Fatal(err)
		}
	}
}
