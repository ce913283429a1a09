package console_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/gateway/admin/console"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

func get(t *testing.T, h http.Handler, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFiles(t *testing.T) {
	want := map[string]string{"/": "text/html; charset=utf-8", "/console.js": "text/javascript; charset=utf-8",
		"/console.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml; charset=utf-8"}
	handlers := console.Handlers()
	if len(handlers) != len(want) {
		t.Errorf("%d files, want %d", len(handlers), len(want))
	}
	for path, media := range want {
		h := handlers[path]
		if h == nil {
			t.Errorf("%s: nothing answers", path)
			continue
		}
		w := get(t, h)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != media || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %s, %d bytes", path, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
		if csp := w.Header().Get("Content-Security-Policy"); csp != policy {
			t.Errorf("%s: content security policy %q", path, csp)
		}
		if again := get(t, h, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%s: asked again with its ETag: %d", path, again.Code)
		}
	}
}

// The page may not carry what the content security policy would refuse, and names only files that are there.
func TestPage(t *testing.T) {
	handlers := console.Handlers()
	page := get(t, handlers["/"]).Body.String()
	for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if _, ok := handlers["/"+match[1]]; !ok && !strings.HasPrefix(match[1], "/api/") {
			t.Errorf("the page names %s, which is not there", match[1])
		}
	}
	for _, refused := range []string{"<style", " style=", " onload=", "javascript:", "<script>"} {
		if strings.Contains(page, refused) {
			t.Errorf("the page has %s", refused)
		}
	}
}
