package admin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/gateway/admin"
)

func TestAdmin(t *testing.T) {
	for _, test := range []struct {
		name         string
		method, path string
		ready        bool
		status       int
		body         string
		allow        string
	}{
		{name: "alive", method: "GET", path: "/healthz", ready: true, status: 200, body: `{"status":"ok"}`},
		{name: "alive while it drains", method: "GET", path: "/healthz", ready: false, status: 200, body: `{"status":"ok"}`},
		{name: "ready", method: "GET", path: "/readyz", ready: true, status: 200, body: `{"status":"ready"}`},
		{name: "not ready while it drains", method: "GET", path: "/readyz", ready: false, status: 503, body: `{"status":"not ready"}`},
		{name: "asked without a body", method: "HEAD", path: "/readyz", ready: false, status: 503},
		{name: "unknown path", method: "GET", path: "/nothing", ready: true, status: 404, body: `{"error":{"message":"there is nothing at this path"}}`},
		{name: "wrong method", method: "POST", path: "/healthz", ready: true, status: 405, allow: "GET, HEAD",
			body: `{"error":{"message":"this path does not take the method POST"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(admin.New(admin.Config{Ready: func() bool { return test.ready }}))
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != test.status {
				t.Errorf("status %d, want %d", answer.StatusCode, test.status)
			}
			if got := strings.TrimSpace(string(body)); got != test.body {
				t.Errorf("body %s, want %s", got, test.body)
			}
			if got := answer.Header.Get("Allow"); got != test.allow {
				t.Errorf("Allow %q, want %q", got, test.allow)
			}
			if got := answer.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
		})
	}
}
