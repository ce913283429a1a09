package sim

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// The words that the judgements go by, each also as the beginning of a longer one.

// hardTask are words of tasks that are hard.
func hardTask() []string {
	return []string{
		"prove", "proof", "theorem", "implement", "debug", "refactor", "analyse", "analyze", "analysis", "code", "program",
		"python", "algorithm", "derive", "equation", "integral", "optimise", "optimize", "architecture", "compile", "regex",
	}
}

// strong and light are words that describe models for hard and for easy tasks.
func strong() []string {
	return []string{
		"large", "big", "strong", "reason", "math", "code", "coding", "proof", "complex", "hard", "think", "expert", "analy",
	}
}

func light() []string {
	return []string{
		"small", "fast", "short", "greet", "format", "mini", "tiny", "nano", "lite", "flash", "simple", "easy", "cheap", "quick",
		"chat", "everyday",
	}
}

// count returns how many different stems begin a word of the text.
func count(text string, stems []string) int {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	n := 0
	for _, stem := range stems {
		for _, w := range words {
			if strings.HasPrefix(w, stem) {
				n++
				break
			}
		}
	}
	return n
}

// task returns what is to be judged: the last thing said by the user if the state is the body of a request, or the text
// of one; else all of it.
func task(state gjson.Result) string {
	body := state
	if state.Type == gjson.String {
		if body = gjson.Parse(state.Str); !body.IsObject() || !json.Valid([]byte(state.Str)) {
			return state.Str
		}
	}
	var p prompt
	p.addMessages(body.Get("messages"))
	if input := body.Get("input"); input.Exists() {
		p.addItems(input)
	}
	switch {
	case p.said != "":
		return p.said
	case body.Get("prompt").Type == gjson.String:
		return body.Get("prompt").Str
	}
	return state.String()
}

// difficulty judges a task from 0, easy, to 1: a half is left to go with each hard word, and with code, with signs of
// mathematics, and with length.
func difficulty(task string) float64 {
	points := count(task, hardTask())
	if strings.Contains(task, "```") {
		points++
	}
	if strings.ContainsAny(task, "∑∏∫√≤≥≠∞∀∃∈^") {
		points++
	}
	if n := countWords(task); n > 200 {
		points++
	}
	return 1 - math.Pow(0.5, float64(points))
}

// strength judges an option from -2, for easy tasks, to 2, for hard ones, by its description and its name.
func strength(name, description string) float64 {
	words := name + " " + description
	s := count(words, strong()) - count(words, light())
	switch size := billions(name); {
	case size == 0:
	case size < 4:
		s--
	case size >= 14:
		s++
	}
	return float64(max(-2, min(2, s)))
}

// billions returns the number of parameters that a name such as qwen3-0.6b states, or 0.
func billions(name string) float64 {
	for part := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool {
		return r != '.' && !unicode.IsDigit(r) && !unicode.IsLetter(r)
	}) {
		if digits, ok := strings.CutSuffix(part, "b"); ok {
			if f, err := strconv.ParseFloat(digits, 64); err == nil {
				return f
			}
		}
	}
	return 0
}

// problem is what is wrong with a question.
type problem struct{ member, kind, message string }

// judge answers one question about a task of the given difficulty.
func judge(hard float64, q gjson.Result) (object, *problem) {
	criteria := q.Get("criteria")
	switch q.Get("type").Str {
	case "choice":
		if !criteria.IsObject() {
			return nil, &problem{"criteria", "dict_type", "Input should be a valid dictionary"}
		}
		return choose(hard, criteria)
	case "score":
		if !criteria.IsArray() {
			return nil, &problem{"criteria", "list_type", "Input should be a valid list"}
		}
		return grade(hard, criteria.Array())
	case "noul":
		if criteria.Exists() && criteria.Type != gjson.Null && !criteria.IsObject() {
			return nil, &problem{"criteria", "dict_type", "Input should be a valid dictionary"}
		}
		return object{"type": "noul", "noul": 0.05 + 0.9*hard}, nil
	}
	return nil, &problem{"type", "union_tag_invalid", "Input should be 'choice', 'score' or 'noul'"}
}

// choose gives each option a weight of exp(1.5 * strength * (2 * difficulty - 1)).
func choose(hard float64, criteria gjson.Result) (object, *problem) {
	var options []string
	var weights []float64
	criteria.ForEach(func(name, description gjson.Result) bool {
		options = append(options, name.Str)
		weights = append(weights, math.Exp(1.5*strength(name.Str, description.String())*(2*hard-1)))
		return true
	})
	if n := len(options); n < 2 || n > 255 {
		return nil, &problem{"criteria", "value_error", "There must be 2 to 255 options"}
	}
	p := object{}
	best, confidence := normalise(weights)
	for i, option := range options {
		p[option] = weights[i]
	}
	return object{"type": "choice", "choice": options[best], "probabilities": p, "confidence": confidence}, nil
}

// grade gives each level a weight that falls with its distance from the one that the difficulty stands for.
func grade(hard float64, levels []gjson.Result) (object, *problem) {
	if n := len(levels); n < 2 || n > 10 {
		return nil, &problem{"criteria", "value_error", "There must be 2 to 10 levels"}
	}
	weights := make([]float64, len(levels))
	for i := range levels {
		weights[i] = math.Exp(-2 * math.Abs(float64(i)-hard*float64(len(levels)-1)))
	}
	_, confidence := normalise(weights)
	score, p, legend := 0.0, object{}, object{}
	for i, w := range weights {
		score += float64(i) * w
		p[strconv.Itoa(i)], legend[strconv.Itoa(i)] = w, levels[i].Value()
	}
	return object{"type": "score", "score": score, "legend": legend, "probabilities": p, "confidence": confidence}, nil
}

// normalise makes the weights sum to 1 and returns which is the largest, and the confidence in it: 0 if all are alike,
// 1 if it is alone, (m - 1/n) / (1 - 1/n) between.
func normalise(weights []float64) (best int, confidence float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for i := range weights {
		weights[i] /= sum
		if weights[i] > weights[best] {
			best = i
		}
	}
	even := 1 / float64(len(weights))
	return best, max(0, (weights[best]-even)/(1-even))
}
