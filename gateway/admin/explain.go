package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
	"github.com/gpustack/gpustack-gateway/route"
)

// maxExplained bounds what explain reads: the largest body that it makes sense to paste.
const maxExplained = 16 << 20

// question is a request that is to be explained instead of served.
type question struct {
	Path                string          `json:"path"`    // as a client would ask it, "/v1/chat/completions"
	Headers             headers         `json:"headers"` // those that matter: session keys, the content type of a form
	Body                json.RawMessage `json:"body"`    // the JSON body itself, or a string that holds the body's text
	CallDecisionService bool            `json:"call_decision_service"`
}

// explanation is what would become of the request at this moment.
type explanation struct {
	Route     string              `json:"route,omitempty"`
	Access    string              `json:"access_policy,omitempty"` // told, not checked: an operator has no client's key
	Refused   *refusal            `json:"refused,omitempty"`       // why it would be refused before anything is chosen
	Choice    *lb.Report          `json:"choice,omitempty"`
	Fallbacks []fallbackCandidate `json:"fallbacks,omitempty"` // who is asked if the others fail, in this order
}

type refusal struct {
	Status  int    `json:"status"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

type fallbackCandidate struct {
	Target string `json:"target"`
	Codes  string `json:"status_codes"`
}

// headers are a request's headers as an operator writes them: each name with a value or a list of values.
type headers map[string][]string

// UnmarshalJSON reads {"name": "value"} and {"name": ["value", "value"]}.
func (h *headers) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return errors.New("headers must be an object of names and values")
	}
	*h = make(headers, len(raw))
	for name, value := range raw {
		var one string
		var many []string
		if json.Unmarshal(value, &one) == nil {
			many = []string{one}
		} else if json.Unmarshal(value, &many) != nil {
			return fmt.Errorf("headers.%s must be a string or a list of strings", name)
		}
		key := textproto.CanonicalMIMEHeaderKey(name)
		(*h)[key] = append((*h)[key], many...)
	}
	return nil
}

// Peek implements lb.Header.
func (h headers) Peek(name string) []byte {
	if v := h[textproto.CanonicalMIMEHeaderKey(name)]; len(v) > 0 {
		return []byte(v[0])
	}
	return nil
}

// explain answers what would happen now to a request, and why. It asks no upstream and changes no state; only if it is
// told to does it ask a decision service.
func (a *admin) explain(w http.ResponseWriter, r *http.Request) {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxExplained))
	dec.DisallowUnknownFields()
	var q question
	if err := dec.Decode(&q); err != nil {
		fail(w, http.StatusBadRequest, `the body must be {"path", "headers", "body"}: `+err.Error())
		return
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		fail(w, http.StatusBadRequest, "there is more than one JSON value in the body")
		return
	}
	body, err := q.text()
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	e := &explanation{}
	if refused := e.explain(r, a.Table.Load(), &q, body); refused != nil {
		e.Refused = &refusal{Status: refused.Status, Code: refused.Code, Message: refused.Message}
	}
	write(w, http.StatusOK, e)
}

// text returns the body as a client would send it.
func (q *question) text() ([]byte, error) {
	raw := bytes.TrimSpace(q.Body)
	if len(raw) == 0 || raw[0] != '"' {
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return []byte(text), nil
}

// explain fills in the explanation, or says why the request would be refused.
func (e *explanation) explain(r *http.Request, s *route.Snapshot, q *question, body []byte) *openai.Error {
	path, _, _ := strings.Cut(q.Path, "?")
	endpoint, _, refused := openai.Resolve([]byte(http.MethodPost), []byte(path))
	if refused != nil {
		return refused
	}
	var call openai.Call
	if endpoint.Body == openai.Form {
		refused = call.ParseForm(q.Headers.Peek("Content-Type"), body)
	} else {
		refused = call.Parse(body)
	}
	if refused != nil {
		return refused
	}
	to := s.Route(call.Model())
	if to == nil {
		return openai.ModelNotFound(string(call.Model()))
	}
	e.Route, e.Access = to.Name, to.Access.String()
	for i := range to.Fallbacks {
		f := &to.Fallbacks[i]
		e.Fallbacks = append(e.Fallbacks, fallbackCandidate{Target: f.Pool.Targets()[0].Name, Codes: f.Codes.String()})
	}
	if to.Reason != "" {
		return &openai.Error{Status: http.StatusServiceUnavailable, Code: "route_unavailable", Message: to.Reason}
	}
	request := lb.Request{Endpoint: endpoint, Call: &call, Header: q.Headers}
	if refused := to.Pool.Read(&request); refused != nil {
		return refused
	}
	now := time.Now()
	if q.CallDecisionService {
		to.Pool.Prepare(r.Context(), &request, now)
	}
	report := to.Pool.Explain(&request, now)
	e.Choice = &report
	return nil
}
