package sim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// DecisionOptions are what a decision service is started with.
type DecisionOptions struct {
	Behaviour Behaviour
	// Key is the bearer token that clients must send. Empty: none is asked for.
	Key string
}

// Decision is a simulated decision service: the wire of System One, and judgements by rules that can be read in
// judge.go. Of its Behaviour, Models, delays, Status, faults, framing and headers count.
type Decision struct {
	*Engine
	key string
}

// decisionModel is the version that a decision service has if its Behaviour names none; the aliases lead to it.
const decisionModel = "jev-1.13"

func decisionAliases() []string { return []string{"jev-latest", "jev-preview"} }

// maxState is how large a state and one question may be together, in bytes; about 32,000 tokens of English.
const maxState = 128 << 10

// StartDecision starts a decision service on a TCP address; "127.0.0.1:0" takes a free port.
func StartDecision(addr string, o DecisionOptions) (*Decision, error) {
	d := &Decision{Engine: new(Engine), key: o.Key}
	d.route, d.shape = d.answer, (*exchange).appendDetail
	if err := d.start(addr, Options{Behaviour: o.Behaviour}); err != nil {
		return nil, err
	}
	return d, nil
}

// appendDetail appends an error as decision services have it.
func (x *exchange) appendDetail(dst []byte, status int, code, param, message string) []byte {
	if param != "" {
		loc := []string{"body"}
		loc = append(loc, strings.Split(param, ".")...)
		return appendJSON(dst, object{"detail": []object{{"loc": loc, "msg": message, "type": code}}})
	}
	if code == "" {
		code = map[int]string{
			401: "authentication_error", 403: "authentication_error", 404: "not_found_error", 429: "rate_limit_error",
			529: "overloaded_error",
		}[status]
	}
	switch {
	case code != "":
	case status >= 500:
		code = "internal_error"
	default:
		code = "invalid_request_error"
	}
	return appendJSON(dst, object{"detail": object{"error_type": code, "message": message}})
}

// answer serves what comes below any prefix.
func (d *Decision) answer(x *exchange) {
	x.s.fields = append(x.s.fields, Field{"X-Typesafe-Request-Id", x.id("req_")})
	path := x.q.Path()
	switch token, sent := bearer(x.q); {
	case d.key != "" && !sent:
		x.fail(403, "", "", "No key was sent.")
	case d.key != "" && token != d.key:
		x.fail(401, "", "", "The key is not valid.")
	case x.q.Method == http.MethodPost && strings.HasSuffix(path, "/v1/systemone"):
		x.decide()
	case x.q.Method == http.MethodGet && strings.HasSuffix(path, "/v1/models"):
		x.decisionModels()
	default:
		x.fail(404, "", "", "There is nothing at "+path+" for "+x.q.Method+".")
	}
}

func bearer(q *Request) (token string, sent bool) {
	scheme, token, found := strings.Cut(q.Get("Authorization"), " ")
	return strings.TrimSpace(token), found && strings.EqualFold(scheme, "bearer")
}

func (x *exchange) decisionModels() {
	names := x.b.Models
	if len(names) == 0 {
		names = []string{decisionModel}
	}
	list := make([]object, len(names))
	for i, name := range names {
		list[i] = object{"name": name, "description": "Simulated: judges by the words of a task.", "release_date": "2026-01-01"}
	}
	x.list(object{"models": list})
}

// version returns the model that a request's name leads to.
func (x *exchange) version() (string, bool) {
	served := x.b.Models
	if len(served) == 0 {
		served = []string{decisionModel}
	}
	if x.q.Model == "" || slices.Contains(decisionAliases(), x.q.Model) {
		return served[0], true
	}
	return x.q.Model, slices.Contains(served, x.q.Model)
}

// decide serves POST /v1/systemone.
func (x *exchange) decide() {
	body := text(x.q.Body)
	root := gjson.Parse(body)
	if !json.Valid(x.q.Body) || !root.IsObject() {
		x.fail(422, "json_invalid", "body", "JSON decode error")
		return
	}
	state, questions := root.Get("state"), root.Get("questions")
	version, known := x.version()
	switch {
	case !state.Exists() || state.Type == gjson.Null:
		x.fail(422, "missing", "state", "Field required")
	case state.Type != gjson.String && !state.IsObject() && !state.IsArray():
		x.fail(422, "value_error", "state", "Input should be a string, an object or an array")
	case root.Get("model").Exists() && root.Get("model").Type != gjson.String:
		x.fail(422, "string_type", "model", "Input should be a valid string")
	case !known:
		x.fail(404, "model_not_found", "", "There is no model "+x.q.Model+".")
	case !questions.IsObject() || len(questions.Map()) == 0:
		x.fail(422, "missing", "questions", "At least one question is required")
	default:
		x.judge(version, state, questions)
	}
}

func (x *exchange) judge(version string, state, questions gjson.Result) {
	hard := difficulty(task(state))
	answers, longest, failed := object{}, 0, false
	questions.ForEach(func(id, q gjson.Result) bool {
		longest = max(longest, len(q.Raw))
		a, problem := judge(hard, q)
		if problem != nil {
			x.fail(422, problem.kind, "questions."+id.Str+"."+problem.member, problem.message)
			failed = true
			return false
		}
		answers[id.Str] = a
		return true
	})
	switch {
	case failed:
	case len(state.Raw)+longest > maxState:
		x.fail(413, "max_tokens_exceeded", "", "The state and the longest question are too long.")
	default:
		x.list(object{
			"model": version, "answers": answers,
			"usage": object{"input_tokens": countWords(text(x.q.Body)), "output_tokens": len(answers)},
		})
	}
}
