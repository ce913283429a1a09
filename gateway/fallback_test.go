package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// guarded is a public route "m" over the instances at some URLs, with fallback targets f1, f2, ... for some codes each,
// and further members of the route.
func guarded(route string, urls []string, fallbacks ...[2]string) string {
	var instances, models, targets []string
	for i, url := range urls {
		instances = append(instances, fmt.Sprintf(`{"name": "m-%d", "url": %q}`, i+1, url))
	}
	for i, f := range fallbacks {
		models = append(models, fmt.Sprintf(`, {"name": "f%d", "instances": [{"name": "f%d-1", "url": %q}]}`, i+1, i+1, f[0]))
		targets = append(targets, fmt.Sprintf(`, {"model": "f%d", "fallback_status_codes": [%s]}`, i+1, f[1]))
	}
	if route != "" {
		route = ", " + route
	}
	return fmt.Sprintf(`{
		"models": [{"name": "m", "instances": [%s]}%s],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}%s]%s}],
		"defaults": {"debug_headers": true}}`,
		strings.Join(instances, ", "), strings.Join(models, ""), strings.Join(targets, ""), route)
}

// failing is an engine that answers a status, as its kind of error.
func failing(t testing.TB, status int) *sim.Engine { return engine(t, sim.Behaviour{Status: status}) }

const anyBody = `{"model": "m", "max_tokens": 20, "input": "hi", "messages": [{"role": "user", "content": "hi"}]}`

// In whatever way the main target fails, it is the failing request itself that the fallback answers.
func TestC023TheFallbackAnswersAtOnce(t *testing.T) {
	well := engine(t, sim.Behaviour{})
	for _, c := range []struct {
		name  string
		urls  []string
		route string
		codes string
		drain bool
	}{
		{"refused", []string{refusing(t)}, "", `"429"`, false},
		{"refused by two", []string{refusing(t), refusing(t)}, "", `"5xx"`, false},
		{"503", []string{failing(t, 503).URL()}, "", `"5xx"`, false},
		{"503 from two", []string{failing(t, 503).URL(), failing(t, 503).URL()}, "", `"503"`, false},
		{"500", []string{failing(t, 500).URL()}, "", `"500"`, false},
		{"reset before the head", []string{engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetBeforeHead}}).URL()}, "", `"429"`, false},
		{"closed before the head", []string{engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.CloseBeforeHead}}).URL()}, "", `"429"`, false},
		{"reset in the head", []string{engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetAfterBytes, After: 20}}).URL()}, "", `"429"`, false},
		{"no HTTP", []string{answering(t, "SSH-2.0-OpenSSH_9.9\r\n\r\n")}, "", `"429"`, false},
		{"silent", []string{engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}}).URL()}, `"timeouts": {"first_byte": "200ms"}`, `"429"`, false},
		{"drained", []string{engine(t, sim.Behaviour{}).URL()}, "", `"429"`, true},
		{"no instance", nil, "", `"429"`, false},
		{"one attempt in all", []string{failing(t, 503).URL()}, `"retry": {"max_attempts": 2}`, `"5xx"`, false},
	} {
		g := gatewaytest.Start(t, guarded(c.route, c.urls, [2]string{well.URL(), c.codes}))
		if c.drain {
			for _, e := range g.Fleet.Engines() {
				e.SetDrained(e.URL() == c.urls[0])
			}
		}
		sent := 0
		for _, path := range []string{chat, "/v1/responses", "/v1/messages"} {
			for _, body := range []string{anyBody, strings.Replace(anyBody, "{", `{"stream": true, `, 1)} {
				before := well.Received()
				a := g.Post(path, body)
				if a.Status != 200 || a.Err != nil || a.Header.Get("X-Gpustack-Instance") != "f1-1" {
					t.Errorf("%s, %s: %d %s %v", c.name, path, a.Status, a.Body, a.Err)
				}
				if n := well.Received() - before; n != 1 {
					t.Errorf("%s, %s: the fallback was asked %d times", c.name, path, n)
				}
				sent++
			}
		}
		for _, l := range g.WaitRequests(sent) {
			if l["fallback"] != true || l["target"] != "f1" || l["outcome"] != "ok" || l["status"] != 200.0 {
				t.Errorf("%s: access log: %v", c.name, l)
			}
		}
	}
}

// A fallback is used for the listed codes exactly. Everything else passes as it is.
func TestC024ListedCodesOnly(t *testing.T) {
	main, well := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, guarded(`"health": {"unhealthy_threshold": 1000}`, []string{main.URL()}, [2]string{well.URL(), `"401", "429", "5xx"`}))
	for status, falls := range map[int]bool{
		401: true, 429: true, 500: true, 502: true, 503: true, 504: true, 529: true, 599: true,
		400: false, 402: false, 403: false, 404: false, 408: false, 413: false, 422: false, 499: false, 301: false, 204: false, 200: false,
	} {
		body := fmt.Sprintf(`{"from":"main","status":%d}`, status)
		if status == 204 {
			body = ""
		}
		main.Set(sim.Behaviour{Status: status, Body: body, Header: []sim.Field{
			{Name: "Content-Type", Value: "application/problem+json"}, {Name: "Retry-After", Value: "7"}, {Name: "X-Ratelimit-Remaining", Value: "0"}, {Name: "X-Request-Id", Value: "theirs"},
			{Name: "Set-Cookie", Value: "a=b"}}})
		for _, stream := range []string{"", `"stream": true, `} {
			before := well.Received()
			a := g.Post(chat, strings.Replace(anyBody, "{", "{"+stream, 1))
			if fell := well.Received() > before; fell != falls {
				t.Errorf("after %d the fallback was asked: %v", status, fell)
			}
			if falls {
				if a.Status != 200 || strings.Contains(a.Body, "main") || a.Header.Get("Retry-After") != "" {
					t.Errorf("after %d: %d %v %s", status, a.Status, a.Header, a.Body)
				}
				continue
			}
			if a.Status != status || a.Body != body || a.Header.Get("Retry-After") != "7" || a.Header.Get("X-Ratelimit-Remaining") != "0" ||
				a.Header.Get("X-Request-Id") != "theirs" || body != "" && a.Header.Get("Content-Type") != "application/problem+json" || a.Header.Get("Set-Cookie") != "" {
				t.Errorf("%d became %d %v %q", status, a.Status, a.Header, a.Body)
			}
		}
	}
}

// What the client gets when nobody serves is the last real answer.
func TestC024TheLastRealAnswer(t *testing.T) {
	say := func(status int, text string) string {
		return engine(t, sim.Behaviour{Status: status, Body: text, Header: []sim.Field{{Name: "X-From", Value: text}, {Name: "Content-Type", Value: "text/plain"}}}).URL()
	}
	cut := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetBeforeHead}}).URL()
	for _, c := range []struct {
		name      string
		main      string
		fallbacks [][2]string
		status    int
		body      string // or the code of the gateway's own error
	}{
		{"only the main one answers", say(503, "main"), [][2]string{{refusing(t), `"5xx"`}}, 503, "main"},
		{"only the fallback answers", refusing(t), [][2]string{{say(429, "first"), `"5xx"`}}, 429, "first"},
		{"both answer", say(503, "main"), [][2]string{{say(429, "first"), `"5xx"`}}, 429, "first"},
		{"the second answers last", say(503, "main"), [][2]string{{say(500, "first"), `"5xx"`}, {say(418, "second"), `"500"`}}, 418, "second"},
		{"the second is not for that", say(503, "main"), [][2]string{{say(400, "first"), `"503"`}, {say(418, "second"), `"5xx"`}}, 400, "first"},
		{"the first is not for that", say(500, "main"), [][2]string{{say(400, "first"), `"503"`}, {say(418, "second"), `"5xx"`}}, 418, "second"},
		{"the first does not answer", say(503, "main"), [][2]string{{cut, `"5xx"`}, {say(418, "second"), `"5xx"`}}, 418, "second"},
		{"the last does not answer", say(503, "main"), [][2]string{{say(500, "first"), `"5xx"`}, {cut, `"5xx"`}}, 500, "first"},
		{"nobody answers", refusing(t), [][2]string{{cut, `"5xx"`}}, 502, "upstream_error"},
		{"nobody can be reached", cut, [][2]string{{refusing(t), `"5xx"`}}, 503, "upstream_unreachable"},
	} {
		g := gatewaytest.Start(t, guarded("", []string{c.main}, c.fallbacks...))
		a := g.Post(chat, chatBody)
		if a.Status != c.status || a.Body != c.body && a.Error("code") != c.body || a.Header.Get("X-From") != "" && a.Header.Get("X-From") != c.body {
			t.Errorf("%s: %d %v %q", c.name, a.Status, a.Header, a.Body)
		}
	}
}

// Two answers are never spliced: after the first byte has gone down, what breaks is broken.
func TestC025NoFallbackMidStream(t *testing.T) {
	well := engine(t, sim.Behaviour{})
	for _, c := range []struct {
		path, start string
		fault       sim.Fault
	}{
		{"/v1/messages", "event: message_start", sim.Fault{Kind: sim.ResetAfterEvents, After: 3}},
		{"/v1/messages", "event: message_start", sim.Fault{Kind: sim.CloseAfterEvents, After: 3}},
		{"/v1/responses", "event: response.created", sim.Fault{Kind: sim.ResetAfterEvents, After: 3}},
		{chat, `"role":"assistant"`, sim.Fault{Kind: sim.CloseAfterEvents, After: 1}},
	} {
		main := engine(t, sim.Behaviour{Tokens: 20, Fault: c.fault})
		g := gatewaytest.Start(t, guarded("", []string{main.URL(), main.URL()}, [2]string{well.URL(), `"4xx", "5xx"`}))
		before := well.Received()
		a := g.Post(c.path, strings.Replace(anyBody, "{", `{"stream": true, `, 1))
		if a.Status != 200 || a.Err == nil || strings.Count(strings.ReplaceAll(a.Body, " ", ""), strings.ReplaceAll(c.start, " ", "")) != 1 {
			t.Errorf("%s: %d %v %q", c.path, a.Status, a.Err, a.Body)
		}
		if n := main.Received() + well.Received() - before; n != 1 {
			t.Errorf("%s: %d upstreams were asked", c.path, n)
		}
		if l := g.WaitRequests(1)[0]; l["outcome"] != "upstream_aborted" || l["attempts"] != 1.0 {
			t.Errorf("%s: access log: %v", c.path, l)
		}
		main.Set(sim.Behaviour{Status: 503})
		if a := g.Post(c.path, strings.Replace(anyBody, "{", `{"stream": true, `, 1)); a.Status != 200 || a.Err != nil || a.Header.Get("X-Gpustack-Target") != "f1" {
			t.Errorf("%s, 503 at open: %d %v %q", c.path, a.Status, a.Err, a.Body)
		}
	}
}

// An error inside a stream of status 200 passes as it is, and the request counts as failed.
func TestC026AnErrorEventPasses(t *testing.T) {
	const stream = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"},\"sequence_number\":0}\n\n" +
		"event: error\ndata: {\"type\":\"error\",\"code\":\"insufficient_quota\",\"message\":\"no\",\"sequence_number\":1}\n\n"
	well := engine(t, sim.Behaviour{})
	main := engine(t, sim.Behaviour{Status: 200, Body: stream, Header: []sim.Field{{Name: "Content-Type", Value: "text/event-stream"}}})
	g := gatewaytest.Start(t, guarded("", []string{main.URL()}, [2]string{well.URL(), `"4xx", "5xx"`}))
	a := g.Post("/v1/responses", strings.Replace(anyBody, "{", `{"stream": true, `, 1))
	if a.Status != 200 || a.Err != nil || a.Body != stream || well.Received() != 0 {
		t.Errorf("%d %v %q", a.Status, a.Err, a.Body)
	}
	if l := g.WaitRequests(1)[0]; l["outcome"] != "upstream_error" {
		t.Errorf("access log: %v", l)
	}
}

// Each attempt is a request of its own: address, path, model and credential are its target's.
func TestC035EachAttemptIsItsTargets(t *testing.T) {
	const first, second = "sk-first-111", "sk-second-222"
	engines := cluster(t, 3)
	for _, e := range engines[:2] {
		e.Hook(func(*sim.Request) sim.Behaviour { return sim.Behaviour{Status: 500} })
	}
	g := gatewaytest.Start(t, fmt.Sprintf(`{
		"models": [{"name": "m", "served_model_name": "a-longer-name", "instances": [{"name": "m-1", "url": %q}]}],
		"providers": [
			{"name": "p", "type": "openai", "endpoint": "%s/p/v2", "api_token": %q},
			{"name": "q", "type": "anthropic", "endpoint": "%s/v1", "api_token": %q}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [
			{"provider": "p", "overridden_model_name": "px"}, {"model": "m", "fallback_status_codes": ["5xx"]},
			{"provider": "q", "overridden_model_name": "qx", "fallback_status_codes": ["5xx"]}]}]}`,
		engines[0].URL(), engines[1].URL(), first, engines[2].URL(), second))
	for _, path := range []string{"/chat/completions", "/messages"} {
		before := engines[2].Received()
		a := g.Post("/v1"+path+"?x=1", anyBody, "Authorization", "Bearer mine", "X-Request-Id", "one")
		if a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		last := func(e *sim.Engine) sim.Request { all := e.Requests(); return all[len(all)-1] }
		for i, want := range []struct{ target, model, authorization, key string }{
			{"/v1" + path + "?x=1", "a-longer-name", "", ""},
			{"/p/v2" + path + "?x=1", "px", "Bearer " + first, ""},
			{"/v1" + path + "?x=1", "qx", "", second},
		} {
			q := last(engines[i])
			if q.Target != want.target || q.Model != want.model || q.Get("Authorization") != want.authorization || q.Get("X-Api-Key") != want.key ||
				q.Get("Host") != engines[i].Addr() || q.Get("X-Request-Id") != "one" ||
				string(q.Body) != strings.Replace(anyBody, `"m"`, `"`+want.model+`"`, 1) {
				t.Errorf("engine %d was asked %s %s for %s: %v", i, q.Method, q.Target, q.Model, q.Header)
			}
		}
		if engines[2].Received() != before+1 {
			t.Error("the last one was not asked once")
		}
	}
}

// Access is granted on the route that is asked for. Where it ends up is the route's decision, never the client's.
func TestC035NobodyChoosesAFallback(t *testing.T) {
	main, other := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, fmt.Sprintf(`{
		"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q}]}, {"name": "o", "instances": [{"name": "o-1", "url": %q}]}],
		"routes": [
			{"name": "r1", "targets": [{"model": "m"}, {"model": "o", "fallback_status_codes": ["5xx"]}]},
			{"name": "r2", "targets": [{"model": "o"}]}],
		"defaults": {"health": {"unhealthy_threshold": 1000}},
		"api_keys": [%s]}`, main.URL(), other.URL(), key("narrow", "alice", narrowKey, `, "allowed_routes": ["r1"]`)))
	auth := []string{"Authorization", "Bearer " + narrowKey}
	ask := func(body string, headers ...string) gatewaytest.Answer {
		return g.Post(chat, strings.Replace(body, "{", `{"messages": [{"role": "user", "content": "hi"}], `, 1), append(auth, headers...)...)
	}
	for _, body := range []string{
		`{"model": "r1", "models": ["o"], "fallbacks": ["r2"], "fallback": "o", "route": "r2", "target": "o", "provider": {"order": ["o"]}}`,
		`{"model": "r1", "extra_body": {"model": "o"}, "metadata": {"model": "r2"}}`,
	} {
		a := ask(body, "X-Gpustack-Target", "o", "X-Gpustack-Instance", "o-1", "X-Gpustack-Model", "o", "X-Higress-Fallback-From", "r1", "X-Fallback", "o",
			"X-Model", "r2", "X-Route", "r2", "X-Status", "503", "Model", "o")
		if a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if main.Received() != 2 || other.Received() != 0 {
		t.Errorf("asked for r1, the fallback target served %d of 2", other.Received())
	}
	for _, model := range []string{"r2", "o", "m", "m-1"} {
		if a := ask(`{"model": "` + model + `"}`); a.Status != http.StatusNotFound || a.Error("code") != "model_not_found" {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
	main.Set(sim.Behaviour{Status: 503})
	if a := ask(`{"model": "r1"}`); a.Status != 200 || other.Received() != 1 {
		t.Errorf("the fallback itself: %d %s", a.Status, a.Body)
	}
	if a := ask(`{"model": "r2"}`); a.Status != 404 || other.Received() != 1 {
		t.Errorf("r2 after that: %d %s", a.Status, a.Body)
	}
}
