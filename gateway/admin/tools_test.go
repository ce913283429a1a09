package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/gateway/admin"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

const votingFile = `{
  "models": [
    { "name": "small", "instances": [ { "name": "small-1", "url": "http://10.0.0.1:8000" }, { "name": "small-2", "url": "http://10.0.0.2:8000" } ] },
    { "name": "large", "instances": [ { "name": "large-1", "url": "http://10.0.0.3:8000" } ] },
    { "name": "again", "instances": [ { "name": "again-1", "url": "http://10.0.0.1:8000/" } ] }
  ],
  "providers": [ { "name": "out", "type": "openai", "endpoint": "http://out.example" }, { "name": "jev", "type": "typesafe", "endpoint": "http://jev.example" } ],
  "routes": [
    { "name": "voting", "targets": [ { "model": "small" }, { "model": "large", "overridden_model_name": "lora" }, { "provider": "out", "overridden_model_name": "chat" },
      { "model": "large", "fallback_status_codes": ["5xx"] } ],
      "policies": { "session_affinity": {}, "least_inflight": {},
        "decision_service": { "provider": "jev", "model": "j", "criteria": { "old": "Gone.", "small": "Short \u0026 simple." } } } },
    { "name": "turns", "targets": [ { "model": "small" } ] },
    { "name": "broken", "targets": [ { "model": "small", "weight": 1 }, { "model": "large" } ] },
    { "name": "load", "targets": [ { "model": "small" } ], "policies": { "least_inflight": {} } }
  ]
}`

func TestSimulate(t *testing.T) {
	o := operate(t, votingFile)
	got := o.ask("POST", "/api/simulate", `{"route": "voting"}`)
	if got.status != 200 || got.get("candidates") != "4" || got.get("votes", 1, "plugin") != "least_inflight" || got.get("rows", 0, "candidates") != "2" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	before := got.get("rows", 0, "first_flip")
	if got = o.ask("POST", "/api/simulate", `{"route": "voting", "weights": {"least_inflight": 4}}`); got.get("rows", 0, "first_flip") == before || got.get("votes", 1, "weight") != "4" {
		t.Errorf("with more weight: %s", got.body)
	}
	for body, status := range map[string]int{
		`{"route": "none"}`: 404, `{"route": "turns"}`: 422, `{"route": "broken"}`: 422, `{"route": "load"}`: 422, `{}`: 422, `[]`: 400, ``: 400,
		`{"route": "voting", "weights": {"luck": 1}}`: 422, `{"route": "voting", "weights": {"least_inflight": 0}}`: 422,
		`{"route": "voting", "weights": {"least_inflight": "2"}}`: 422, `{"route": "voting", "rows": 3}`: 422,
	} {
		if got := o.ask("POST", "/api/simulate", body); got.status != status {
			t.Errorf("%s: %d, %s", body, got.status, got.body)
		}
	}
}

// What is there stays as it is, what the targets ask for is added, empty, in their order; fallback targets have no say.
func TestCriteria(t *testing.T) {
	o := operate(t, votingFile)
	for _, test := range []struct{ route, body, want string }{
		{"voting", `{}`, `{"criteria":{"small":"Short \u0026 simple.","lora":"","chat":"","old":"Gone."}}`},
		{"turns", `{}`, `{"criteria":{"small":""}}`},
		{"broken", `{}`, `{"criteria":{"small":"","large":""}}`},
		{"turns", `{"criteria": {"small": "mine"}}`, `{"criteria":{"small":"mine"}}`},
		{"not%2Fyet", `{"targets": [{"model": "a"}, {"model": "b"}, {"model": "a"}, {"model": "c", "fallback_status_codes": ["429"]}], "criteria": {"b": "B"}}`, `{"criteria":{"a":"","b":"B"}}`},
		{"voting", `{"targets": []}`, `{"criteria":{}}`},
	} {
		if got := o.ask("POST", "/api/routes/"+test.route+"/criteria", test.body); got.status != 200 || got.body != test.want {
			t.Errorf("%s %s: %d, %s", test.route, test.body, got.status, got.body)
		}
	}
	for body, status := range map[string]int{`{}`: 404, `{"targets": 1}`: 422, `{"x": 1}`: 422, `{"targets": [{"mdoel": "a"}]}`: 422} {
		if got := o.ask("POST", "/api/routes/none/criteria", body); got.status != status {
			t.Errorf("%s: %d, %s", body, got.status, got.body)
		}
	}
	if o.text() != votingFile {
		t.Error("the file was written")
	}
}

// A drain is the engine's, whatever name it goes by, and survives edits of the file.
func TestDrain(t *testing.T) {
	o := operate(t, votingFile)
	state := func(path ...any) string {
		return o.ask("GET", "/api/routes", "").get(append([]any{"routes"}, path...)...)
	}
	first := []any{1, "targets", 0, "instances", 0, "state"}
	if got := o.ask("POST", "/api/models/again/instances/again-1/drain", ""); got.status != 200 || got.get("state") != "drained" {
		t.Fatalf("status %d, %s", got.status, got.body)
	}
	if got := state(first...); got != "drained" {
		t.Errorf("state %s", got)
	}
	if got := o.write("DELETE", "/api/routes/load", ""); got.status != 204 {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if got := state(first...); got != "drained" {
		t.Errorf("state %s after an edit", got)
	}
	if got := o.ask("DELETE", "/api/models/small/instances/small-1/drain", ""); got.status != 200 || got.get("state") != "up" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if got := state(first...); got != "up" {
		t.Errorf("state %s", got)
	}
	for _, path := range []string{"/api/models/none/instances/small-1/drain", "/api/models/small/instances/none/drain"} {
		if got := o.ask("POST", path, ""); got.status != 404 {
			t.Errorf("%s: %d, %s", path, got.status, got.body)
		}
	}
}

// A provider is asked with its token, once in a while, and its answer is believed as far as it goes.
func TestProviderModels(t *testing.T) {
	service, err := sim.StartDecision("127.0.0.1:0", sim.DecisionOptions{Key: "jev-3f9c2b7a1d5e8804", Behaviour: sim.Behaviour{Models: []string{"jev-1", "jev-2"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	asked := 0
	var answer http.HandlerFunc
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		answer(w, r)
	}))
	t.Cleanup(other.Close)
	file := fmt.Sprintf(`{"providers": [{"name": "jev", "type": "typesafe", "endpoint": %q, "api_token": "${JEV}"},
		{"name": "ant", "type": "anthropic", "endpoint": %q, "api_token": "sk-literal-secret"},
		{"name": "gone", "type": "openai", "endpoint": "http://127.0.0.1:1"}], "routes": []}`, service.URL(), other.URL+"/base")
	o := operate(t, file)
	for range 3 {
		got := o.ask("GET", "/api/providers/jev/models", "")
		if got.status != 200 || got.get("models") != "[jev-1 jev-2]" {
			t.Fatalf("status %d, %s", got.status, got.body)
		}
		silent(t, "the provider", got)
	}
	if n := len(service.Requests()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	for name, test := range map[string]struct {
		status int
		answer http.HandlerFunc
		want   string
	}{
		"a list": {200, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/base/models" || r.Header.Get("X-Api-Key") != "sk-literal-secret" || r.Header.Get("Anthropic-Version") == "" {
				t.Errorf("it was asked %s with %v", r.URL, r.Header)
			}
			_, _ = w.Write([]byte(`{"data": [{"id": "a", "object": "model"}, {"x": 1}], "has_more": false}`))
		}, "[a]"},
		"no list": {502, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"models": "sk-literal-secret"}`))
		}, ""},
		"no JSON": {502, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`sk-literal-secret`)) }, ""},
		"a refusal": {502, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "sk-literal-secret is wrong", http.StatusUnauthorized)
		}, ""},
		"a long answer": {502, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) }, ""},
		"half an answer": {502, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"data"`))
		}, ""},
		"another address": {502, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, service.URL()+"/v1/models", http.StatusFound)
		}, ""},
	} {
		answer = test.answer
		if got := o.write("PUT", "/api/defaults", fmt.Sprintf(`{"max_body_bytes": %d}`, 1000+asked)); got.status != 200 { // so that nothing is remembered
			t.Fatal(got.body)
		}
		asked++ // so that the next one is another file, whatever happens
		got := o.ask("GET", "/api/providers/ant/models", "")
		if got.status != test.status || test.want != "" && got.get("models") != test.want {
			t.Errorf("%s: %d, %s", name, got.status, got.body)
		}
		silent(t, name, got)
	}
	if n := len(service.Requests()); n != 1 {
		t.Errorf("a redirect was followed with a token")
	}
	if got := o.ask("GET", "/api/providers/gone/models", ""); got.status != 502 {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if got := o.ask("GET", "/api/providers/none/models", ""); got.status != 404 {
		t.Errorf("status %d, %s", got.status, got.body)
	}
}

// Requests are shown as they end: all there are, those after one, and as events.
func TestLive(t *testing.T) {
	recent := admin.NewRecent()
	o := operate(t, votingFile, func(c *admin.Config) { c.Recent = recent })
	small := o.table.Load().Route([]byte("turns"))
	pass := func(id string, e gateway.Ended) {
		e.ID, e.Time = []byte(id), time.Now()
		recent.Observe(e)
	}
	for i := range 3 {
		up := &small.Upstreams[i%2]
		pass(fmt.Sprint("id-", i), gateway.Ended{Route: small, To: up, Endpoint: "chat", Key: "laptop", Status: 200, Outcome: "ok", Attempts: 1,
			FirstByte: 10 * time.Millisecond, Total: 20 * time.Millisecond})
	}
	pass("id-3", gateway.Ended{Status: 404, Outcome: "rejected"})
	got := o.ask("GET", "/api/live", "")
	if got.get("last") != "4" || got.get("requests", 0, "request_id") != "id-0" || got.get("requests", 0, "instance") != "small-1" ||
		got.get("requests", 0, "first_byte_ms") != "10" || got.get("requests", 3, "status") != "404" || got.get("requests", 3, "first_byte_ms") != "<nil>" {
		t.Errorf("%s", got.body)
	}
	if got := o.ask("GET", "/api/live?after=2&limit=1", ""); got.get("requests", 0, "number") != "4" || got.get("requests", 1) != "" {
		t.Errorf("%s", got.body)
	}
	for _, query := range []string{"after=x", "after=-1", "limit=x", "limit=-1"} {
		if got := o.ask("GET", "/api/live?"+query, ""); got.status != 400 {
			t.Errorf("%s: %d", query, got.status)
		}
	}
	// The route's target has served them all.
	if got := o.ask("GET", "/api/routes/turns", ""); got.get("requests") != "3" || got.get("targets", 0, "share") != "1" || got.get("targets", 0, "instances", 0, "requests") != "2" {
		t.Errorf("%s", got.body)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url+"/api/live", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", "3")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatal(kind)
	}
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"id-3", "id-4"} {
		var id string
		var e struct {
			ID string `json:"request_id"`
		}
		for lines.Scan() && lines.Text() != "" {
			if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = text
			}
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(text), &e); err != nil {
					t.Fatal(err)
				}
			}
		}
		if e.ID != want || id == "" {
			t.Errorf("event %s is %s, not %s", id, e.ID, want)
		}
		pass("id-4", gateway.Ended{Status: 200, Outcome: "ok"})
	}
}

// Streams are counted, so that no page can open any number of them.
func TestLiveStreamsAreBounded(t *testing.T) {
	o := operate(t, votingFile)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func() int {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url+"/api/live", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp.StatusCode
	}
	for range 32 {
		if status := open(); status != 200 {
			t.Fatal(status)
		}
	}
	if status := open(); status != 503 {
		t.Errorf("status %d", status)
	}
}

// A stream outlives the limits of other answers.
func TestLiveHasNoEnd(t *testing.T) {
	recent := admin.NewRecent()
	var handler http.Handler
	operate(t, votingFile, func(c *admin.Config) {
		c.Recent = recent
		handler = admin.New(*c)
	})
	server := httptest.NewUnstartedServer(handler)
	server.Config = admin.Server(handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	server.Start()
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/live", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 { // each after the stream has looked once more, every 250 ms
		recent.Observe(gateway.Ended{Status: 200, Outcome: "ok", ID: fmt.Append(nil, i)})
		want := fmt.Sprintf(`"request_id":"%d"`, i)
		for !strings.Contains(lines.Text(), want) && lines.Scan() {
			continue
		}
	}
	if err := lines.Err(); err != nil || !strings.Contains(lines.Text(), `"request_id":"2"`) {
		t.Errorf("%q, %v", lines.Text(), err)
	}
}

// Names may hold whatever is printed; in a path they are escaped as one segment.
func TestNames(t *testing.T) {
	for _, name := range []string{"org/qwen3", "base:lora", "a%2Fb", "100%", "a+b", "a?b=c", "a#b", "ü/ß", "a&b;c", `a"b\`, "...", "a/../b", "targets", "a/targets/0"} {
		o := operate(t, votingFile)
		text, _ := json.Marshal(map[string]any{"name": name, "targets": []any{map[string]any{"model": "small"}}})
		if got := o.write("POST", "/api/routes", string(text)); got.status != 201 || got.get("name") != name {
			t.Fatalf("%s: %d, %s", name, got.status, got.body)
		}
		at := "/api/routes/" + url.PathEscape(name)
		if got := o.ask("GET", at, ""); got.status != 200 || got.get("name") != name {
			t.Errorf("%s: %d, %s", name, got.status, got.body)
		}
		if got := o.write("POST", at+"/targets", `{"model": "large"}`); got.status != 201 || got.get("targets", 1, "name") != "large" {
			t.Errorf("%s: %d, %s", name, got.status, got.body)
		}
		if got := o.write("DELETE", at, ""); got.status != 204 {
			t.Errorf("%s: %d, %s", name, got.status, got.body)
		}
	}
}
