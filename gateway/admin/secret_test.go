package admin_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// planted are secrets that the file of the test, its environment and its token hold, and no answer may.
var planted = []string{"sk-literal-secret", "jev-3f9c2b7a1d5e8804", adminToken,
	"2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea"}

// silent fails the test if an answer has a secret in it.
func silent(t *testing.T, what string, r reply) {
	t.Helper()
	said := r.body
	for name, values := range r.header {
		said += name + strings.Join(values, "")
	}
	for _, secret := range append([]string{"sk-other-secret"}, planted...) {
		if strings.Contains(said, secret) || strings.Contains(said, secret[4:14]) {
			t.Errorf("%s tells %s: %s", what, secret, r.body)
		}
	}
}

// Whatever is asked of the API, however the file is, no secret comes out.
func TestSecretsStayIn(t *testing.T) {
	auth := []string{"Authorization", "Bearer " + adminToken}
	o := operate(t, aFile, withToken(t))
	ask := func(method, path, body string, headers ...string) {
		t.Helper()
		got := o.ask(method, path, body, append(headers, auth...)...)
		silent(t, method+" "+path, got)
	}
	everything := func() {
		t.Helper()
		for path, operations := range described().paths {
			if operations["get"] == nil || strings.Contains(path, "metrics") {
				continue
			}
			for _, name := range []string{"out", "jev", "laptop", "small", "plain", "org%2Fqwen3", "none"} {
				if path == "/api/providers/{name}/models" {
					continue // it has a test of its own
				}
				ask("GET", strings.ReplaceAll(path, "{name}", name), "")
				if !strings.Contains(path, "{") {
					break
				}
			}
		}
	}
	everything()

	// What is written is not answered with, be it taken or refused.
	provider := func(token string) string {
		text, _ := json.Marshal(map[string]any{"name": "out", "type": "openai", "endpoint": "https://out.example/v1", "api_token": token})
		return string(text)
	}
	for _, token := range []string{"sk-other-secret", "sk-other-secret with a space", "${sk-other-secret}", "sk-other-secret\n", "sk-other-secret${", "sk-other-secret\u00fc"} {
		for _, query := range []string{"?dry_run=true", ""} {
			ask("PUT", "/api/providers/out"+query, provider(token), "If-Match", "*")
			ask("POST", "/api/providers"+query, strings.Replace(provider(token), `"out"`, `"new"`, 1), "If-Match", "*")
		}
	}
	for _, body := range []string{
		`{"name": "out", "api_token": sk-other-secret}`, `{"name": "out", "api_token": "sk-other-secret`, `{"name": "out", "api_token": 'sk-other-secret'}`,
		`{"name": "out", "api_token": "\sk-other-secret"}`, `{"name": "out", "api_token": "\u00sk-other-secret"}`,
		`{"name": "out", "api_token": ["sk-other-secret"]}`, `{"name": "out", "api_token": {"sk-other-secret": 1}}`,
		`{"name": "out", "api_tokn": "sk-other-secret"}`, `{"name": "out", "api_token": "a", "api_token": "sk-other-secret"}`,
		`{"name": "out", "type": "openai", "endpoint": "https://sk-other-secret@out.example"}`,
		`{"name": "out", "type": "openai", "endpoint": "https://out.example?key=sk-other-secret"}`,
		`sk-other-secret`, `"sk-other-secret"`,
	} {
		ask("PUT", "/api/providers/out", body, "If-Match", "*")
		ask("POST", "/api/providers", body, "If-Match", "*")
	}
	ask("POST", "/api/keys", `{"user": "bob", "sha256": "sk-other-secret"}`, "If-Match", "*")
	ask("PUT", "/api/keys/laptop", `{"name": "laptop", "user": "bob", "sha256": "sk-other-secret"}`, "If-Match", "*")
	everything()

	// Nor does the reason why a file was refused hold one.
	for was, is := range map[string]string{
		`"sk-literal-secret"`: `sk-literal-secret`, `"sk-literal-secret" }`: `"sk-literal-secret }`, `"sk-literal-secret`: `"\sk-literal-secret`,
		`"api_token": "sk-`: `"api_tokn": "sk-`, `"sk-literal-secret"` + " ": `["sk-literal-secret"] `, `"sk-`: `'sk-`, `"sha256": "2a`: `"sha256": 2a`,
		`"sha256": "2a97`: `"sha256": "`, `"https://out.example/v1", "api_token": "`: `"https://`, `${JEV}`: `${JEV}sk-literal-secret`,
	} {
		text := o.text()
		o.put(strings.Replace(aFile, was, is, 1))
		ask("DELETE", "/api/routes/none", "", "If-Match", "*")
		ask("GET", "/api/status", "")
		o.put(text)
		ask("DELETE", "/api/routes/none", "", "If-Match", "*")
	}
}
