package admin_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway/admin"
)

const adminToken = "0123456789abcdef-token"

func tokenFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func withToken(t *testing.T) func(*admin.Config) {
	t.Helper()
	token, err := admin.OpenToken(tokenFile(t, adminToken+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *admin.Config) { c.Token = token }
}

// Who may ask for what, without a token: nobody but loopback's own pages and programs.
func TestGuardOnLoopback(t *testing.T) {
	o := operate(t, aFile)
	const write = `{"name": "new", "targets": [{"model": "small"}]}`
	for _, test := range []struct {
		name, method, path string
		headers            []string
		status             int
	}{
		{"a program", "GET", "/api/routes", nil, 200},
		{"the console", "GET", "/api/routes", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}, 200},
		{"a bookmark", "GET", "/api/routes", []string{"Sec-Fetch-Site", "none"}, 200},
		{"another site's page", "GET", "/api/routes", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another port's page", "GET", "/api/live", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"another site's script", "GET", "/metrics", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "script"}, 403},
		{"a link to the console", "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"localhost", "GET", "/api/routes", []string{"Host", "localhost:9090"}, 200},
		{"localhost without a port", "GET", "/api/routes", []string{"Host", "LOCALHOST."}, 200},
		{"below localhost", "GET", "/api/routes", []string{"Host", "gateway.localhost:9090"}, 200},
		{"another loopback address", "GET", "/api/routes", []string{"Host", "127.9.9.9"}, 200},
		{"IPv6", "GET", "/api/routes", []string{"Host", "[::1]:9090"}, 200},
		{"a name that leads to loopback", "GET", "/api/routes", []string{"Host", "evil.example:9090"}, 403},
		{"a name that looks like it", "GET", "/api/routes", []string{"Host", "localhost.evil.example"}, 403},
		{"an address that looks like it", "GET", "/api/routes", []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"another address", "GET", "/", []string{"Host", "192.0.2.1:9090"}, 403},
		{"a health check by any name", "GET", "/healthz", []string{"Host", "10.1.2.3:9090"}, 200},
		{"a health check of another site", "GET", "/readyz", []string{"Host", "x", "Sec-Fetch-Site", "cross-site"}, 200},

		{"a program's write", "POST", "/api/routes?dry_run=true", nil, 200},
		{"the console's write", "POST", "/api/routes?dry_run=true", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"another site's write", "POST", "/api/routes?dry_run=true", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a write of another origin", "POST", "/api/routes?dry_run=true", []string{"Origin", "https://evil.example"}, 403},
		{"a write of no origin", "POST", "/api/routes?dry_run=true", []string{"Origin", "null"}, 403},
		{"a form", "POST", "/api/routes?dry_run=true", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a form that looks like JSON", "POST", "/api/routes?dry_run=true", []string{"Content-Type", "text/plain"}, 415},
		{"JSON with a character set", "POST", "/api/routes?dry_run=true", []string{"Content-Type", "application/json; charset=utf-8"}, 200},
		{"two media types", "POST", "/api/routes?dry_run=true", []string{"Content-Type", "text/plain, application/json"}, 415},
		{"a drain", "POST", "/api/models/small/instances/small-1/drain", []string{"Content-Type", ""}, 415},
		{"a drain of another origin", "POST", "/api/models/small/instances/small-1/drain", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"a removal of another origin", "DELETE", "/api/routes/plain", []string{"If-Match", "*", "Origin", "http://evil.example"}, 403},
		{"a question", "POST", "/api/explain", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a preflight", "OPTIONS", "/api/routes", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, 405},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := o.ask(test.method, test.path, write, test.headers...)
			if got.status != test.status {
				t.Errorf("status %d: %.200s", got.status, got.body)
			}
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("the answer has %s", name)
				}
			}
			if got.header.Get("X-Frame-Options") != "DENY" || got.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%v", got.header)
			}
		})
	}
	if o.text() != aFile || o.engine("http://10.0.0.1:8000").Health(time.Now()).Status.String() != "up" {
		t.Error("something was changed")
	}
}

// With a token everything asks for it, by whatever name the gateway is known.
func TestGuardWithToken(t *testing.T) {
	o := operate(t, aFile, withToken(t))
	for _, test := range []struct {
		name, method, path string
		headers            []string
		status             int
	}{
		{"no token", "GET", "/api/routes", nil, 401},
		{"metrics without", "GET", "/metrics", nil, 401},
		{"an unknown path without", "GET", "/nothing", nil, 401},
		{"a write without", "POST", "/api/routes?dry_run=true", nil, 401},
		{"the token", "GET", "/api/routes", []string{"Authorization", "Bearer " + adminToken}, 200},
		{"the token, written otherwise", "GET", "/api/routes", []string{"Authorization", "bearer  " + adminToken + " "}, 200},
		{"another token", "GET", "/api/routes", []string{"Authorization", "Bearer " + adminToken + "x"}, 401},
		{"half of it", "GET", "/api/routes", []string{"Authorization", "Bearer " + adminToken[:10]}, 401},
		{"nothing", "GET", "/api/routes", []string{"Authorization", "Bearer "}, 401},
		{"as a password", "GET", "/api/routes", []string{"Authorization", "Basic OjAxMjM0NTY3ODlhYmNkZWYtdG9rZW4="}, 401},
		{"by any name", "GET", "/api/routes", []string{"Authorization", "Bearer " + adminToken, "Host", "gateway.example"}, 200},
		{"a write", "POST", "/api/routes?dry_run=true", []string{"Authorization", "Bearer " + adminToken}, 200},
		{"a write of another origin", "POST", "/api/routes?dry_run=true", []string{"Authorization", "Bearer " + adminToken, "Origin", "https://evil.example"}, 403},
		{"alive", "GET", "/healthz", nil, 200},
		{"ready", "GET", "/readyz", nil, 200},
		{"the console", "GET", "/", nil, 200},
	} {
		got := o.ask(test.method, test.path, `{"name": "new", "targets": [{"model": "small"}]}`, test.headers...)
		if got.status != test.status {
			t.Errorf("%s: status %d: %.200s", test.name, got.status, got.body)
		}
		if challenge := got.header.Get("WWW-Authenticate"); (challenge != "") != (test.status == 401) {
			t.Errorf("%s: %q", test.name, challenge)
		}
	}
}

func TestTokenFile(t *testing.T) {
	for _, text := range []string{"", "short", "a token with spaces in it", "0123456789abcdef\n0123456789abcdef"} {
		if _, err := admin.OpenToken(tokenFile(t, text)); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := admin.OpenToken(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	// A token that is read again is another one; one that can't be read stays.
	path := tokenFile(t, adminToken)
	token, err := admin.OpenToken(path)
	if err != nil {
		t.Fatal(err)
	}
	o := operate(t, aFile, func(c *admin.Config) { c.Token = token })
	status := func(token string) int {
		return o.ask("GET", "/api/status", "", "Authorization", "Bearer "+token).status
	}
	for _, step := range []struct {
		text      string
		refused   bool
		old, next int
	}{{"another-0123456789", false, 401, 200}, {"short", true, 401, 200}, {adminToken, false, 200, 401}} {
		if err := os.WriteFile(path, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := token.Reload(); (err != nil) != step.refused {
			t.Errorf("%q: %v", step.text, err)
		}
		if old, next := status(adminToken), status("another-0123456789"); old != step.old || next != step.next {
			t.Errorf("%q: %d and %d", step.text, old, next)
		}
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:1": true, "127.8.8.8:1": true, "[::1]:1": true, "0.0.0.0:1": false,
		"[::]:1": false, "10.0.0.1:1": false, "[fe80::1]:1": false} {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if admin.Loopback(a) != want {
			t.Error(address)
		}
	}
	if admin.Loopback(&net.UnixAddr{Name: "x"}) {
		t.Error("a socket that is no TCP socket")
	}
}
