package gateway_test

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// apiError is what a client's SDK reads of an error.
type apiError struct {
	kind, code, message, param, id string
}

// readError reads an error in the dialect of a path, and fails the test if it is anything else.
func readError(t testing.TB, path string, a gatewaytest.Answer) apiError {
	t.Helper()
	if a.Err != nil || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d %q %q %v", path, a.Status, a.Header.Get("Content-Type"), a.Body, a.Err)
	}
	var v struct {
		Type      string  `json:"type"`
		RequestID string  `json:"request_id"`
		Param     *string `json:"param"`
		Error     struct {
			Type    string  `json:"type"`
			Message string  `json:"message"`
			Code    *string `json:"code"`
			Param   *string `json:"param"`
		} `json:"error"`
	}
	d := json.NewDecoder(strings.NewReader(a.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v in %s", path, err, a.Body)
	}
	e := apiError{kind: v.Error.Type, message: v.Error.Message, id: a.Header.Get("X-Request-Id")}
	if v.Error.Code != nil {
		e.code = *v.Error.Code
	}
	if v.Error.Param != nil {
		e.param = *v.Error.Param
	}
	anthropic := strings.Contains(path, "/messages")
	if anthropic != (v.Type == "error") || anthropic && (v.RequestID != e.id || a.Header.Get("Request-Id") != e.id || e.code != "") {
		t.Errorf("%s: not in its dialect: %v %s", path, a.Header, a.Body)
	}
	if e.id == "" || e.message == "" || e.kind == "" {
		t.Errorf("%s: incomplete: %v %s", path, a.Header, a.Body)
	}
	if at := regexp.MustCompile(`127\.0\.0\.1|\[::1\]|upstream:|goroutine`).FindString(a.Body); at != "" {
		t.Errorf("%s: an error tells %q: %s", path, at, a.Body)
	}
	return e
}

// refusing is the URL of an engine that refuses connections.
func refusing(t testing.TB) string {
	return engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Refuse}}).URL()
}

// lame has a route for each thing that can be wrong.
func lame(t testing.TB) string {
	model := func(name string, b sim.Behaviour) string {
		return fmt.Sprintf(`{"name": %q, "instances": [{"name": "%s-1", "url": %q}]}`, name, name, engine(t, b).URL())
	}
	return fmt.Sprintf(`{
		"models": [%s, %s, %s, %s, {"name": "gone", "instances": []}, {"name": "down", "instances": [{"name": "down-1", "url": %q}]},
			{"name": "full", "instances": [{"name": "full-1", "url": %q, "max_inflight": 1}]}],
		"routes": [
			{"name": "well", "targets": [{"model": "well"}]},
			{"name": "down", "targets": [{"model": "down"}]},
			{"name": "gone", "targets": [{"model": "gone"}]},
			{"name": "full", "targets": [{"model": "full"}]},
			{"name": "silent", "targets": [{"model": "silent"}], "timeouts": {"first_byte": "100ms"}},
			{"name": "cut", "targets": [{"model": "cut"}]},
			{"name": "short", "targets": [{"model": "short"}]},
			{"name": "mixed", "targets": [{"model": "well", "weight": 1}, {"model": "down"}]}],
		"defaults": {"max_body_bytes": 100000, "health": {"unhealthy_threshold": 1000}},
		"api_keys": [%s]}`,
		model("well", sim.Behaviour{}),
		model("silent", sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}}),
		model("cut", sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetBeforeHead}}),
		model("short", sim.Behaviour{Fault: sim.Fault{Kind: sim.ShortBody, After: 5}}), refusing(t),
		engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.HeadThenSilence}}).URL(), key("alice-laptop", "alice", aliceKey, ""))
}

// hold occupies a place on a route until the test ends.
func hold(t testing.TB, g *gatewaytest.Gateway, model string, headers ...string) net.Conn {
	t.Helper()
	body := fmt.Sprintf(`{"model": %q, "stream": true, "messages": [{"role": "user", "content": "hi"}]}`, model)
	c, r := send(t, g, post(chat, body, headers...))
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") {
		t.Fatalf("%q %v", line, err)
	}
	return c
}

func TestC098ErrorsInTheDialectOfTheAPI(t *testing.T) {
	g := gatewaytest.Start(t, lame(t))
	auth := "Authorization: Bearer " + aliceKey
	hold(t, g, "full", auth)
	for _, c := range []struct {
		name, model, header    string
		status                 int
		openai, anthropic      string // types
		code, param, mustTell  string
		retryAfter, noUpstream bool
	}{
		{name: "unknown model", model: "nothing", status: 404, openai: "invalid_request_error", anthropic: "not_found_error",
			code: "model_not_found", param: "model", mustTell: `"nothing"`},
		{name: "bad key", model: "well", header: "Authorization: Bearer " + unknownKey, status: 401, openai: "authentication_error",
			anthropic: "authentication_error", code: "invalid_api_key"},
		{name: "two keys", model: "well", header: auth + "\r\nx-api-key: " + unknownKey, status: 401, openai: "authentication_error",
			anthropic: "authentication_error", code: "invalid_api_key", mustTell: "x-api-key"},
		{name: "refused", model: "down", status: 503, openai: "server_error", anthropic: "api_error", code: "upstream_unreachable",
			mustTell: `"down"`, retryAfter: true},
		{name: "no instance", model: "gone", status: 503, openai: "server_error", anthropic: "api_error", code: "route_unavailable",
			mustTell: `"gone"`},
		{name: "mixed weights", model: "mixed", status: 503, openai: "server_error", anthropic: "api_error", code: "route_unavailable",
			mustTell: "weight"},
		{name: "full", model: "full", status: 429, openai: "rate_limit_error", anthropic: "rate_limit_error", code: "max_inflight",
			mustTell: `"full"`, retryAfter: true},
		{name: "silent", model: "silent", status: 504, openai: "server_error", anthropic: "api_error", code: "upstream_timeout"},
		{name: "cut", model: "cut", status: 502, openai: "server_error", anthropic: "api_error", code: "upstream_error"},
		{name: "short", model: "short", status: 502, openai: "server_error", anthropic: "api_error", code: "upstream_error"},
		{name: "too large", model: strings.Repeat("x", 100000), status: 413, openai: "invalid_request_error", anthropic: "request_too_large",
			code: "request_too_large", mustTell: "100000"},
		{name: "encoded", model: "well", header: auth + "\r\nContent-Encoding: br", status: 415, openai: "invalid_request_error",
			anthropic: "invalid_request_error", code: "unsupported_content_encoding", mustTell: `"br"`},
		{name: "not gzip", model: "well", header: auth + "\r\nContent-Encoding: gzip", status: 400, openai: "invalid_request_error",
			anthropic: "invalid_request_error", code: "invalid_content_encoding"},
		{name: "no model", model: "", status: 400, openai: "invalid_request_error", anthropic: "invalid_request_error", code: "invalid_value",
			param: "model", mustTell: "model"},
	} {
		if c.header == "" {
			c.header = auth
		}
		for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/messages", "/v1-openai/messages/count_tokens"} {
			a := ask(t, g, post(path, fmt.Sprintf(`{"model": %q, "messages": []}`, c.model), c.header, "X-Request-Id: abc.123"))
			if a.Status != c.status {
				t.Errorf("%s, %s: %d %s %v", c.name, path, a.Status, a.Body, a.Err)
				continue
			}
			e := readError(t, path, a)
			want := apiError{kind: c.openai, code: c.code, param: c.param, message: e.message, id: "abc.123"}
			if strings.Contains(path, "/messages") {
				want = apiError{kind: c.anthropic, message: e.message, id: "abc.123"}
			}
			if e != want || !strings.Contains(e.message, c.mustTell) {
				t.Errorf("%s, %s: %+v, want %+v", c.name, path, e, want)
			}
			if (a.Header.Get("Retry-After") != "") != c.retryAfter {
				t.Errorf("%s, %s: Retry-After %q", c.name, path, a.Header.Get("Retry-After"))
			}
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/v1/nothing", 404}, {"POST", "/v1/messages/batches", 404}, {"GET", "/v1/messages", 405}, {"GET", "/v1/chat/completions", 405},
		{"DELETE", "/v1/models", 405}, {"POST", "/", 405}, {"GET", "/favicon.ico", 404}, {"GET", "/v1/models/nothing", 404},
	} {
		a := ask(t, g, request(c.method, c.path, "application/json", "", auth))
		if a.Status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.Status, a.Body)
		}
		readError(t, c.path, a)
	}
}

// An id that the client gave is used if it is sane, and every answer has one.
func TestC098EveryAnswerHasARequestID(t *testing.T) {
	g := gatewaytest.Start(t, lame(t))
	auth := "Authorization: Bearer " + aliceKey
	made := regexp.MustCompile(`^[0-9a-f]{32}$`)
	seen := map[string]bool{}
	ids := 0
	for _, raw := range []string{
		post(chat, `{"model": "well", "messages": []}`, auth), post(chat, `{"model": "well", "stream": true, "messages": []}`, auth),
		post("/v1/messages", `{"model": "well", "max_tokens": 5, "messages": []}`, auth), post(chat, `{"model": "nothing"}`, auth), post(chat, `{"model": "well"}`),
		post(chat, `{"model": "down"}`, auth), post(chat, `{`, auth), request("GET", "/", "", ""), request("HEAD", "/", "", ""),
		request("GET", "/v1/models", "", "", auth), request("GET", "/nothing", "", ""), request("PUT", chat, "", ""), "GARBAGE\r\n\r\n",
	} {
		a := ask(t, g, raw)
		id := a.Header.Get("X-Request-Id")
		if !made.MatchString(id) && !strings.HasPrefix(id, "req_") || seen[id] {
			t.Errorf("%.40q: id %q", raw, id)
		}
		seen[id] = true
		ids++
		if raw[0] == 'G' && raw[1] == 'A' {
			continue
		}
		for given, want := range map[string]bool{"abc-1": true, "a b": false, "a\"b": false, strings.Repeat("a", 129): false, "<x>": false} {
			a := ask(t, g, strings.Replace(raw, "\r\n", "\r\nX-Request-Id: "+given+"\r\n", 1))
			if id := a.Header.Get("X-Request-Id"); (id == given) != want || id == "" {
				t.Errorf("%.40q: given %q, got %q", raw, given, id)
			}
			ids++
		}
	}
	for _, line := range g.WaitRequests(ids) {
		if id, _ := line["request_id"].(string); id == "" || strings.ContainsAny(id, "< \"") {
			t.Errorf("the access log says %q", id)
		}
	}
}

func TestC099NoInstanceIsNotNoModel(t *testing.T) {
	down, ejected, drained := refusing(t), engine(t, sim.Behaviour{Status: 503}), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, fmt.Sprintf(`{
		"models": [
			{"name": "down", "instances": [{"name": "d1", "url": %q}, {"name": "d2", "url": %q}]},
			{"name": "ejected", "instances": [{"name": "e1", "url": %q}]},
			{"name": "drained", "instances": [{"name": "r1", "url": %q}]},
			{"name": "gone", "instances": []}],
		"routes": [
			{"name": "down", "access_policy": "public", "targets": [{"model": "down"}]},
			{"name": "ejected", "access_policy": "public", "targets": [{"model": "ejected"}], "health": {"fail_open": false, "cooldown": "1h"}},
			{"name": "drained", "access_policy": "public", "targets": [{"model": "drained"}]},
			{"name": "gone", "access_policy": "public", "targets": [{"model": "gone"}]}],
		"api_keys": [%s]}`, down, refusing(t), ejected.URL(), drained.URL(), key("alice-laptop", "alice", aliceKey, "")))
	for range 3 {
		g.Post(chat, `{"model": "ejected"}`)
	}
	for _, e := range g.Fleet.Engines() {
		if e.URL() == drained.URL() {
			e.SetDrained(true)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages"} {
		for model, code := range map[string]string{
			"down": "upstream_unreachable", "ejected": "no_instance", "drained": "no_instance", "gone": "route_unavailable",
		} {
			a := g.Post(path, fmt.Sprintf(`{"model": %q, "messages": []}`, model), "x-api-key", aliceKey)
			if e := readError(t, path, a); a.Status != 503 || e.code != code && path != "/v1/messages" {
				t.Errorf("%s on %s: %d %s", model, path, a.Status, a.Body)
			}
			after := a.Header.Get("Retry-After")
			if model != "gone" && !regexp.MustCompile(`^[1-9][0-9]{0,3}$`).MatchString(after) {
				t.Errorf("%s on %s: Retry-After %q", model, path, after)
			}
			if model == "ejected" && !strings.HasPrefix(after, "3") {
				t.Errorf("the cool-down is an hour, Retry-After %q", after)
			}
		}
		a := g.Post(path, `{"model": "nothing", "messages": []}`, "x-api-key", aliceKey)
		if e := readError(t, path, a); a.Status != 404 || a.Header.Get("Retry-After") != "" || e.code != "model_not_found" && path != "/v1/messages" {
			t.Errorf("no model on %s: %d %s", path, a.Status, a.Body)
		}
	}
	if n := ejected.Received(); n != 3 {
		t.Errorf("the ejected engine was asked %d times", n)
	}
	if n := drained.Received(); n != 0 {
		t.Errorf("the drained engine was asked %d times", n)
	}
}
