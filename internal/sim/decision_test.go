package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

func startDecision(t *testing.T, o DecisionOptions) *Decision {
	t.Helper()
	d, err := StartDecision("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

const (
	greeting = "Write a one-line greeting card."
	proof    = "Prove that there are infinitely many primes, then implement the proof sketch in Python."
	pair     = `{"type":"choice","criteria":{"qwen3-0.6b":"Very fast; greetings, short facts, formatting.","qwen3-32b":"Reasoning, math, code."}}`
	bare     = `{"type":"choice","criteria":{"qwen3-0.6b":null,"qwen3-32b":null}}`
)

func TestDecisionChoosesByTheTask(t *testing.T) {
	d := startDecision(t, DecisionOptions{Key: "k"})
	c := client(t)
	chat := func(text string) string {
		return `{"model":"r","messages":[{"role":"system","content":"You prove and implement code."},{"role":"user","content":` + quote(text) + `}]}`
	}
	for text, want := range map[string]string{greeting: "qwen3-0.6b", proof: "qwen3-32b"} {
		for name, state := range map[string]string{
			"text": quote(text), "body as text": quote(chat(text)), "body": chat(text),
			"responses": quote(`{"model":"r","input":` + quote(text) + `}`),
			"items":     quote(`{"model":"r","input":[{"role":"user","content":[{"type":"input_text","text":` + quote(text) + `}]}]}`),
			"prompt":    quote(`{"prompt":` + quote(text) + `}`),
			"object":    `{"task":` + quote(text) + `}`,
		} {
			for _, question := range []string{pair, bare} {
				a := post(t, c, d.URL()+"/any/prefix/v1/systemone", `{"state":`+state+`,"model":"jev-latest","questions":{"q":`+question+`}}`,
					"Authorization", "Bearer k")
				v := decode(t, a.body)
				if got := at(v, "answers.q.choice"); got != want || at(v, "model") != "jev-1.13" {
					t.Errorf("%s, %s: %s", text, name, a.body)
					continue
				}
				p := at(v, "answers.q.probabilities").(map[string]any)
				sum := p["qwen3-0.6b"].(float64) + p["qwen3-32b"].(float64)
				confidence := (p[want].(float64) - 0.5) / 0.5
				if math.Abs(sum-1) > 1e-9 || math.Abs(at(v, "answers.q.confidence").(float64)-confidence) > 1e-9 {
					t.Errorf("%s, %s: %s", text, name, a.body)
				}
			}
		}
	}
}

func TestDecisionAnswersEveryQuestion(t *testing.T) {
	d := startDecision(t, DecisionOptions{})
	a := post(t, client(t), d.URL()+"/v1/systemone", `{"state":`+quote(proof)+`,"questions":{
		"a":`+pair+`,"b":{"type":"score","criteria":["easy","middling","hard"]},"c":{"type":"noul","instructions":"Is it hard?"}}}`)
	v := decode(t, a.body)
	for path, want := range map[string]any{
		"answers.a.type": "choice", "answers.b.type": "score", "answers.c.type": "noul", "answers.b.legend.2": "hard", "usage.output_tokens": 3.0,
	} {
		if got := at(v, path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
	score, sum := 0.0, 0.0
	for level, p := range at(v, "answers.b.probabilities").(map[string]any) {
		var i float64
		fmt.Sscan(level, &i)
		score += i * p.(float64)
		sum += p.(float64)
	}
	if math.Abs(sum-1) > 1e-9 || math.Abs(score-at(v, "answers.b.score").(float64)) > 1e-9 || score < 1.5 {
		t.Errorf("score %v, sum %v: %s", score, sum, a.body)
	}
	if noul := at(v, "answers.c.noul").(float64); noul < 0.5 || noul > 1 {
		t.Errorf("noul %v", noul)
	}
}

func TestDecisionWithManyOptions(t *testing.T) {
	d := startDecision(t, DecisionOptions{})
	for n, want := range map[int]int{1: 422, 2: 200, 255: 200, 256: 422} {
		options := make([]string, n)
		for i := range options {
			options[i] = fmt.Sprintf(`"öption %d \"":null`, i)
		}
		a := post(t, client(t), d.URL()+"/v1/systemone",
			`{"state":"x","questions":{"q":{"type":"choice","criteria":{`+strings.Join(options, ",")+`}}}}`)
		if a.status != want {
			t.Errorf("%d options: %d %s", n, a.status, a.body)
		}
		if want == 200 && (at(decode(t, a.body), "answers.q.confidence") != 0.0 || len(at(decode(t, a.body), "answers.q.probabilities").(map[string]any)) != n) {
			t.Errorf("%d options that are alike: %s", n, a.body)
		}
	}
}

func TestDecisionErrors(t *testing.T) {
	d := startDecision(t, DecisionOptions{Key: "k"})
	const good = `{"state":"x","questions":{"q":` + pair + `}}`
	for name, c := range map[string]struct {
		method, path, key, body string
		status                  int
		where, want             string
	}{
		"no key":          {"POST", "/v1/systemone", "", good, 403, "detail.error_type", "authentication_error"},
		"wrong key":       {"POST", "/v1/systemone", "Bearer x", good, 401, "detail.error_type", "authentication_error"},
		"any scheme case": {"POST", "/v1/systemone", "bearer k", good, 200, "answers.q.type", "choice"},
		"no JSON":         {"POST", "/v1/systemone", "Bearer k", `{`, 422, "detail.0.type", "json_invalid"},
		"no state":        {"POST", "/v1/systemone", "Bearer k", `{"questions":{}}`, 422, "detail.0.loc.1", "state"},
		"odd state":       {"POST", "/v1/systemone", "Bearer k", `{"state":7}`, 422, "detail.0.loc.1", "state"},
		"odd model":       {"POST", "/v1/systemone", "Bearer k", `{"state":"x","model":7}`, 422, "detail.0.loc.1", "model"},
		"unknown model":   {"POST", "/v1/systemone", "Bearer k", `{"state":"x","model":"x"}`, 404, "detail.error_type", "model_not_found"},
		"no questions":    {"POST", "/v1/systemone", "Bearer k", `{"state":"x","questions":{}}`, 422, "detail.0.loc.1", "questions"},
		"odd type":        {"POST", "/v1/systemone", "Bearer k", `{"state":"x","questions":{"q":{"type":"box"}}}`, 422, "detail.0.loc.2", "q"},
		"score by map":    {"POST", "/v1/systemone", "Bearer k", `{"state":"x","questions":{"q":{"type":"score","criteria":{}}}}`, 422, "detail.0.loc.3", "criteria"},
		"one level":       {"POST", "/v1/systemone", "Bearer k", `{"state":"x","questions":{"q":{"type":"score","criteria":["a"]}}}`, 422, "detail.0.type", "value_error"},
		"choice by list":  {"POST", "/v1/systemone", "Bearer k", `{"state":"x","questions":{"q":{"type":"choice","criteria":[]}}}`, 422, "detail.0.type", "dict_type"},
		"noul by list":    {"POST", "/v1/systemone", "Bearer k", `{"state":"x","questions":{"q":{"type":"noul","criteria":[]}}}`, 422, "detail.0.type", "dict_type"},
		"too long":        {"POST", "/v1/systemone", "Bearer k", `{"state":"` + strings.Repeat("x", maxState) + `","questions":{"q":` + pair + `}}`, 413, "detail.error_type", "max_tokens_exceeded"},
		"unknown path":    {"POST", "/v1/other", "Bearer k", good, 404, "detail.error_type", "not_found_error"},
		"models":          {"GET", "/v1/models", "Bearer k", "", 200, "models.0.name", "jev-1.13"},
	} {
		var header []string
		if c.key != "" {
			header = []string{"Authorization", c.key}
		}
		a := do(t, client(t), c.method, d.URL()+c.path, c.body, header...)
		if a.status != c.status || at(decode(t, a.body), c.where) != c.want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func TestDecisionFaults(t *testing.T) {
	d := startDecision(t, DecisionOptions{Behaviour: Behaviour{Models: []string{"jev-2"}}})
	c := client(t)
	ask := func() answer { return post(t, c, d.URL()+"/v1/systemone", `{"state":"x","questions":{"q":`+pair+`}}`) }
	if a := ask(); at(decode(t, a.body), "model") != "jev-2" {
		t.Errorf("%+v", a)
	}
	d.Set(Behaviour{Status: 529, Header: []Field{{"Retry-After", "1"}}})
	if a := ask(); a.status != 529 || at(decode(t, a.body), "detail.error_type") != "overloaded_error" {
		t.Errorf("%+v", a)
	}
	d.Set(Behaviour{Status: 200, Body: strings.Repeat("x", 10<<20)})
	if a := ask(); len(a.body) != 10<<20 {
		t.Errorf("%d bytes", len(a.body))
	}
	d.Set(Behaviour{Fault: Fault{Kind: Refuse}})
	if a := ask(); a.err == nil {
		t.Errorf("%+v", a)
	}
	d.Set(Behaviour{Fault: Fault{Kind: Silent}})
	hasty := &http.Client{Transport: c.Transport, Timeout: 50 * time.Millisecond}
	if a := post(t, hasty, d.URL()+"/v1/systemone", "{}"); a.err == nil {
		t.Errorf("%+v", a)
	}
	eventually(t, "the client is missed", func() bool { return d.Aborted() == 1 })
	if q := d.Requests()[0]; q.Target != "/v1/systemone" || q.Method != http.MethodPost {
		t.Errorf("%+v", q)
	}
}
