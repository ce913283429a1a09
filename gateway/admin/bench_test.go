package admin_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/gateway/admin"
)

// bigFile has a thousand routes to as many models of four instances: some 600 KB.
func bigFile() string {
	var b bytes.Buffer
	b.WriteString("{\n  \"models\": [\n")
	for i := range 1000 {
		comma := ","
		if i == 999 {
			comma = ""
		}
		fmt.Fprintf(&b, "    {\n      \"name\": \"model-%d\",\n      \"instances\": [\n", i)
		for n := range 4 {
			fmt.Fprintf(&b, "        { \"name\": \"model-%d-%d\", \"url\": \"http://10.%d.%d.%d:8000\", \"max_inflight\": 64 }%s\n", i, n, n, i/256, i%256, map[bool]string{true: ","}[n < 3])
		}
		fmt.Fprintf(&b, "      ]\n    }%s\n", comma)
	}
	b.WriteString("  ],\n  \"routes\": [\n")
	for i := range 1000 {
		comma := ","
		if i == 999 {
			comma = ""
		}
		fmt.Fprintf(&b, "    {\n      \"name\": \"route-%d\",\n      \"targets\": [ { \"model\": \"model-%d\" }, { \"model\": \"model-%d\" } ],\n      \"policies\": { \"session_affinity\": {}, \"least_inflight\": {} }\n    }%s\n", i, i, (i+1)%1000, comma)
	}
	b.WriteString("  ]\n}\n")
	return b.String()
}

// handle answers a request without a network between.
func handle(b *testing.B, h http.Handler, method, path, body string, status int) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("If-Match", "*")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != status {
		b.Fatalf("%s %s: %d %.300s", method, path, w.Code, w.Body)
	}
	return w
}

// BenchmarkLook is what a console costs that looks at a thousand routes.
func BenchmarkLook(b *testing.B) {
	for _, path := range []string{"/api/routes", "/api/routes/route-500", "/api/status", "/api/live"} {
		b.Run(path, func(b *testing.B) {
			h := bigAdmin(b)
			w := handle(b, h, "GET", path, "", 200)
			b.SetBytes(int64(w.Body.Len()))
			b.ReportAllocs()
			for b.Loop() {
				handle(b, h, "GET", path, "", 200)
			}
		})
	}
}

// BenchmarkWrite is one edit of a file of a thousand routes, checked, written to the disk and served.
func BenchmarkWrite(b *testing.B) {
	h := bigAdmin(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		handle(b, h, "PUT", "/api/routes/route-500/targets/0", fmt.Sprintf(`{"model": "model-%d"}`, i%400), 200)
	}
}

func bigAdmin(b *testing.B) http.Handler {
	b.Helper()
	var h http.Handler
	operate(b, bigFile(), func(c *admin.Config) { h = admin.New(*c) })
	return h
}
