package admin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/gateway/admin"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/route"
)

// operated is an admin side over a routes file, without a gateway.
type operated struct {
	t     testing.TB
	file  string
	table *route.Table
	fleet *lb.Fleet
	url   string
	env   map[string]string
}

const aFile = `{
  "models": [
    { "name": "small", "instances": [ { "name": "small-1", "url": "http://10.0.0.1:8000", "max_inflight": 8 } ] },
    { "name": "large",   "instances": [ { "name": "large-1", "url": "http://10.0.0.2:8000" } ] }
  ],
  "providers": [
    { "name": "out", "type": "openai", "endpoint": "https://out.example/v1", "api_token": "sk-literal-secret" },
    { "name": "jev", "type": "typesafe", "endpoint": "https://jev.example", "api_token": "${JEV}", "models": ["jev-1"] }
  ],

  "routes": [
    {
      "name":        "org/qwen3",
      "description": "two <models>",
      "targets": [ { "model": "small", "weight": 1 }, { "model": "large", "weight": 3 },
        { "provider": "out", "overridden_model_name": "chat", "fallback_status_codes": ["429", "5xx"] } ]
    },
    { "name": "plain", "access_policy": "public", "targets": [ { "model": "small" } ] }
  ],
  "api_keys": [ { "name": "laptop", "user": "alice", "sha256": "2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea", "allowed_routes": ["plain"] } ]
}
`

// operate serves the admin side of a routes file with the given text.
func operate(t testing.TB, text string, change ...func(*admin.Config)) *operated {
	t.Helper()
	file := filepath.Join(t.TempDir(), "routes.json")
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return operateOn(t, file, change...)
}

// operateOn serves the admin side of a routes file that is there.
func operateOn(t testing.TB, file string, change ...func(*admin.Config)) *operated {
	t.Helper()
	o := &operated{t: t, file: file, env: map[string]string{"JEV": "jev-3f9c2b7a1d5e8804"}}
	o.fleet = lb.NewFleet(rand.Uint64)
	options := func(f *lb.Fleet) route.Options {
		return route.Options{Kinds: builtin.All(nil), Fleet: f, Rand: rand.Uint64,
			LookupEnv: func(name string) (string, bool) { v, ok := o.env[name]; return v, ok }}
	}
	o.table = route.NewTable(o.file, options(o.fleet))
	if _, problems, err := o.table.Reload(); err != nil || o.table.Load() == nil {
		t.Fatal(err, problems)
	}
	c := admin.Config{Ready: func() bool { return true }, Table: o.table, Fleet: o.fleet, Version: "test",
		Metrics: http.NotFoundHandler(),
		Active:  func() int64 { return 0 }, Clients: func() int { return 0 }, Circuits: func() []admin.Circuit { return nil },
		Check: func(text []byte) (*route.Snapshot, []route.Problem) {
			return route.Load(o.file, text, options(lb.NewFleet(rand.Uint64)))
		},
		Recent: admin.NewRecent(), Schema: route.Schema(builtin.All(nil)),
		Reload: func() { _, _, _ = o.table.Reload() },
	}
	for _, f := range change {
		f(&c)
	}
	server := httptest.NewServer(admin.New(c))
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

// put writes the file as an editor would.
func (o *operated) put(text string) {
	o.t.Helper()
	if err := os.WriteFile(o.file, []byte(text), 0o640); err != nil {
		o.t.Fatal(err)
	}
}

func (o *operated) text() string {
	o.t.Helper()
	text, err := os.ReadFile(o.file)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}

// engine returns the engine of a URL.
func (o *operated) engine(url string) *lb.Engine {
	o.t.Helper()
	for _, e := range o.fleet.Engines() {
		if e.URL() == url {
			return e
		}
	}
	o.t.Fatalf("there is no engine %s", url)
	return nil
}

type reply struct {
	status int
	header http.Header
	body   string
}

// get returns a member of the answer by its path, as text.
func (r reply) get(path ...any) string {
	var v any
	_ = json.Unmarshal([]byte(r.body), &v)
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return ""
			}
			v = l[s]
		}
	}
	return fmt.Sprint(v)
}

// ask sends a request. Headers are pairs of name and value.
func (o *operated) ask(method, path, body string, headers ...string) reply {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), method, o.url+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	answer := reply{resp.StatusCode, resp.Header, string(bytes.TrimSpace(b))}
	described().check(o.t, method, path, answer)
	return answer
}

// write sends a request that edits the file as it is.
func (o *operated) write(method, path, body string) reply {
	o.t.Helper()
	return o.ask(method, path, body, "If-Match", o.ask("GET", "/api/status", "").header.Get("ETag"))
}

// Each way to edit, as what changes of the file's text and what is answered. Everything else of the text stays.
func TestWrites(t *testing.T) {
	const large = "    { \"name\": \"large\",   \"instances\": [ { \"name\": \"large-1\", \"url\": \"http://10.0.0.2:8000\" } ] }"
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		was, is                  string
		answer                   []any // a path in the answer, and what is there
	}{
		{"a weight", "PUT", "/api/routes/org%2Fqwen3/targets/1", `{"model": "large", "weight": 9}`, 200,
			`"weight": 3`, `"weight": 9`, []any{"targets", 1, "weight", "9"}},
		{"a description", "PUT", "/api/routes/plain", `{"name": "plain", "access_policy": "public", "description": "new", "targets": [{"model": "small"}]}`, 200,
			`"model": "small" } ] }`, `"model": "small" } ], "description": "new" }`, []any{"description", "new"}},
		{"what is null is left out", "PUT", "/api/routes/plain", `{"name": "plain", "access_policy": null, "categories": null, "targets": [{"model": "small"}]}`, 200,
			`"access_policy": "public", `, ``, []any{"access_policy", "authed"}},
		{"another name", "PUT", "/api/routes/org%2Fqwen3", `{"name": "qwen3", "description": "two <models>", "targets": [{"model": "small", "weight": 1}, {"model": "large", "weight": 3},
			{"provider": "out", "overridden_model_name": "chat", "fallback_status_codes": ["429", "5xx"]}]}`, 200,
			`"org/qwen3"`, `"qwen3"`, []any{"name", "qwen3"}},
		{"mixed weights", "PUT", "/api/routes/org%2Fqwen3/targets/1", `{"model": "large"}`, 200,
			`, "weight": 3`, ``, []any{"problems", 0, "field", "targets"}},
		{"one target more", "POST", "/api/routes/plain/targets", `{"model": "large"}`, 201,
			`"model": "small" } ] }`, `"model": "small" }, { "model": "large" } ] }`, []any{"targets", 1, "name", "large"}},
		{"one target less", "DELETE", "/api/routes/org%2Fqwen3/targets/0", ``, 200,
			`{ "model": "small", "weight": 1 }, `, ``, []any{"targets", 0, "share", "0"}},
		{"a new route", "POST", "/api/routes", `{"name": "new", "targets": [{"model": "large"}]}`, 201,
			"\"small\" } ] }\n", "\"small\" } ] },\n    { \"name\": \"new\", \"targets\": [ { \"model\": \"large\" } ] }\n", []any{"route_by", "round_robin"}},
		{"no route", "DELETE", "/api/routes/org%2Fqwen3", ``, 204,
			aFile[strings.Index(aFile, "    {\n      \"name\":")+4 : strings.Index(aFile, `{ "name": "plain"`)], ``, nil},
		{"a model", "PUT", "/api/models/large", `{"name": "large", "instances": [{"name": "large-1", "url": "http://10.0.0.2:8000", "max_inflight": 4}]}`, 200,
			`"http://10.0.0.2:8000" }`, `"http://10.0.0.2:8000", "max_inflight": 4 }`, []any{"instances", 0, "limit", "4"}},
		{"a new model", "POST", "/api/models", `{"name": "huge", "instances": []}`, 201,
			large + "\n", large + ",\n    { \"name\": \"huge\", \"instances\": [] }\n", []any{"name", "huge"}},
		{"a provider keeps its token", "PUT", "/api/providers/out", `{"name": "out", "type": "anthropic", "endpoint": "https://out.example/v1"}`, 200,
			`"openai"`, `"anthropic"`, []any{"api_token", "set", "true"}},
		{"a provider's new token", "PUT", "/api/providers/out", `{"name": "out", "type": "openai", "endpoint": "https://out.example/v1", "api_token": "sk-new"}`, 200,
			`sk-literal-secret`, `sk-new`, []any{"api_token", "variable", "<nil>"}},
		{"a provider without its token", "PUT", "/api/providers/out", `{"name": "out", "type": "openai", "endpoint": "https://out.example/v1", "api_token": null}`, 200,
			`, "api_token": "sk-literal-secret"`, ``, []any{"api_token", "set", "false"}},
		{"a provider with its token elsewhere", "PUT", "/api/providers/jev", `{"name": "jev", "type": "typesafe", "endpoint": "https://other.example", "api_token": "${JEV}", "models": ["jev-1"]}`, 200,
			`https://jev.example`, `https://other.example`, []any{"api_token", "variable", "JEV"}},
		{"a new provider", "POST", "/api/providers", `{"name": "p", "type": "openai", "endpoint": "http://p", "api_token": "sk-p"}`, 201,
			"[\"jev-1\"] }\n", "[\"jev-1\"] },\n    { \"name\": \"p\", \"type\": \"openai\", \"endpoint\": \"http://p\", \"api_token\": \"sk-p\" }\n", []any{"config", "api_token", "<nil>"}},
		{"a key", "PUT", "/api/keys/laptop", `{"name": "laptop", "user": "bob", "allowed_routes": null}`, 200,
			"\"alice\", \"sha256\": \"2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea\", \"allowed_routes\": [\"plain\"]",
			"\"bob\", \"sha256\": \"2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea\"", []any{"user", "bob"}},
		{"no key", "DELETE", "/api/keys/laptop", ``, 204,
			aFile[strings.Index(aFile, `[ { "name": "laptop"`) : len(aFile)-3], `[]`, nil},
		{"defaults", "PUT", "/api/defaults", `{"debug_headers": true}`, 200,
			"} ]\n}", "} ],\n  \"defaults\": { \"debug_headers\": true }\n}", []any{"config", "debug_headers", "true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := operate(t, aFile)
			got := o.write(test.method, test.path, test.body)
			if got.status != test.status {
				t.Fatalf("status %d, %s", got.status, got.body)
			}
			if want := strings.Replace(aFile, test.was, test.is, 1); o.text() != want {
				t.Errorf("the file is\n%s\nand not\n%s", o.text(), want)
			}
			if o.table.Load().Generation != 2 {
				t.Error("it does not serve")
			}
			if tag := o.ask("GET", "/api/routes", "").header.Get("ETag"); tag != got.header.Get("ETag") || tag == "" {
				t.Errorf("ETag %s, and then %s", got.header.Get("ETag"), tag)
			}
			if n := len(test.answer); n > 0 && got.get(test.answer[:n-1]...) != test.answer[n-1] {
				t.Errorf("%v is %s in %s", test.answer[:n-1], got.get(test.answer[:n-1]...), got.body)
			}
			if info, err := os.Stat(o.file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

// What is refused leaves the file as it was, byte for byte, and says where the mistake is.
func TestWritesRefused(t *testing.T) {
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		code, field              string
	}{
		{"a target that is none", "PUT", "/api/routes/plain", `{"name": "plain", "targets": [{"model": "none"}]}`, 422, "refused", "targets[0].model"},
		{"a weight that is none", "PUT", "/api/routes/plain/targets/0", `{"model": "small", "weight": "many"}`, 422, "refused", "weight"},
		{"an unknown member", "POST", "/api/routes", `{"name": "x", "tragets": []}`, 422, "refused", "targets"},
		{"a name that is taken", "POST", "/api/models", `{"name": "small", "instances": []}`, 422, "refused", "name"},
		{"a model in use", "DELETE", "/api/models/small", ``, 422, "refused", ""},
		{"a route that a key is for", "DELETE", "/api/routes/plain", ``, 422, "refused", ""},
		{"a policy that is none", "PUT", "/api/routes/plain", `{"name": "plain", "targets": [{"model": "small"}], "policies": {"luck": {}}}`, 422, "refused", "policies.luck"},
		{"a variable that is not set", "POST", "/api/providers", `{"name": "p", "type": "openai", "endpoint": "http://p", "api_token": "${NOT_SET}"}`, 422, "refused", "api_token"},
		{"a token sent elsewhere", "PUT", "/api/providers/out", `{"name": "out", "type": "openai", "endpoint": "https://evil.example/v1"}`, 422, "refused", "api_token"},
		{"a token sent in the clear", "PUT", "/api/providers/out", `{"name": "out", "type": "openai", "endpoint": "http://out.example/v1"}`, 422, "refused", "api_token"},
		{"a digest", "POST", "/api/keys", `{"user": "bob", "sha256": "00"}`, 422, "refused", "sha256"},
		{"a key of nobody", "POST", "/api/keys", `{"name": "x"}`, 422, "refused", "user"},
		{"no such route", "PUT", "/api/routes/none", `{}`, 404, "", ""},
		{"no such target", "PUT", "/api/routes/plain/targets/1", `{}`, 404, "", ""},
		{"no such position", "DELETE", "/api/routes/plain/targets/00", ``, 404, "", ""},
		{"not JSON", "PUT", "/api/routes/plain", `{"name": }`, 400, "invalid_body", "name"},
		{"a member twice", "PUT", "/api/routes/plain", `{"name": "a", "name": "b"}`, 400, "invalid_body", "name"},
		{"no object", "PUT", "/api/routes/plain", `[]`, 400, "invalid_body", ""},
		{"nothing", "POST", "/api/routes", ``, 400, "invalid_body", ""},
		{"too much", "POST", "/api/routes", `{"name": "` + strings.Repeat("x", 1<<20) + `"}`, 413, "invalid_body", ""},
		{"a way that there is not", "POST", "/api/routes?dry_run=maybe", `{}`, 400, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := operate(t, aFile)
			got := o.write(test.method, test.path, test.body)
			if got.status != test.status || strings.ReplaceAll(got.get("error", "code"), "<nil>", "") != test.code {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			found := test.field == ""
			var f struct {
				Error struct{ Problems []struct{ Field string } }
			}
			_ = json.Unmarshal([]byte(got.body), &f)
			for _, p := range f.Error.Problems {
				found = found || p.Field == test.field
			}
			if !found || got.get("error", "message") == "<nil>" {
				t.Errorf("nothing of %s in %s", test.field, got.body)
			}
			if o.text() != aFile || o.table.Load().Generation != 1 {
				t.Errorf("the file has become\n%s", o.text())
			}
		})
	}
}
