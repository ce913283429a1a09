package openai

import (
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	tests := []struct {
		method, path string
		name, item   string
		dialect      Dialect
		body         BodyForm
	}{
		{"POST", "/chat/completions", "chat", "", OpenAI, JSON},
		{"POST", "/completions", "completions", "", OpenAI, JSON},
		{"POST", "/responses", "responses", "", OpenAI, JSON},
		{"POST", "/messages", "messages", "", Anthropic, JSON},
		{"POST", "/messages/count_tokens", "count_tokens", "", Anthropic, JSON},
		{"POST", "/embeddings", "embeddings", "", OpenAI, JSON},
		{"POST", "/rerank", "rerank", "", OpenAI, JSON},
		{"POST", "/score", "score", "", OpenAI, JSON},
		{"POST", "/moderations", "moderations", "", OpenAI, JSON},
		{"POST", "/systemone", "systemone", "", OpenAI, JSON},
		{"POST", "/images/generations", "images", "", OpenAI, JSON},
		{"POST", "/audio/speech", "speech", "", OpenAI, JSON},
		{"POST", "/audio/transcriptions", "transcriptions", "", OpenAI, Form},
		{"POST", "/audio/translations", "translations", "", OpenAI, Form},
		{"POST", "/images/edits", "image_edits", "", OpenAI, Form},
		{"POST", "/images/variations", "image_variations", "", OpenAI, Form},
		{"GET", "/models", "models", "", OpenAI, NoBody},
		{"HEAD", "/models", "models", "", OpenAI, NoBody},
		{"GET", "/models/", "models", "", OpenAI, NoBody},
		{"GET", "/models/qwen3", "model", "qwen3", OpenAI, NoBody},
		{"HEAD", "/models/org/qwen3:lora", "model", "org/qwen3:lora", OpenAI, NoBody},
		{"GET", "/models/models/", "model", "models", OpenAI, NoBody},
		{"GET", "/models/v1/models", "model", "v1/models", OpenAI, NoBody},
		{"GET", "/", "root", "", OpenAI, NoBody},
		{"HEAD", "/", "root", "", OpenAI, NoBody},
	}
	for _, test := range tests {
		for _, base := range []string{"", "/v1", "/v1-openai"} {
			path := base + test.path
			for _, path := range []string{path, strings.TrimSuffix(path, "/") + "/"} {
				e, item, err := Resolve([]byte(test.method), []byte(path))
				if err != nil {
					t.Errorf("%s %s: %v", test.method, path, err)
					continue
				}
				if e.Name != test.name || string(item) != test.item || e.Dialect != test.dialect || e.Body != test.body {
					t.Errorf("%s %s: %+v, item %q", test.method, path, e, item)
				}
				if want := strings.TrimSuffix(test.path, "/"); test.item == "" && test.name != "root" && e.Path != want {
					t.Errorf("%s %s: path %q", test.method, path, e.Path)
				}
			}
		}
	}
}

func TestResolve_UnknownPath(t *testing.T) {
	for _, path := range []string{"/chat", "/chat/completions/x", "/v1/v1/models", "/v2/models", "/v1-openaix/models", "/v1x",
		"/V1/models", "/v1/Models", "/v1/chat/completions//", "/model", "/modelsx", "/v1-openai-x", "/admin", "/v1/messages/x",
		"/\x00", "/v1/\xff"} {
		_, _, err := Resolve([]byte("POST"), []byte(path))
		if err == nil || err.Status != 404 || err.Code != "not_found" || err.Type != "invalid_request_error" || err.Allow != "" {
			t.Errorf("%q: %+v", path, err)
		}
	}
}

func TestResolve_WrongMethod(t *testing.T) {
	tests := []struct{ path, allow string }{
		{"/v1/chat/completions", "POST"},
		{"/audio/transcriptions", "POST"},
		{"/v1/models", "GET, HEAD"},
		{"/v1/models/a/b", "GET, HEAD"},
		{"/", "GET, HEAD"},
	}
	for _, test := range tests {
		for _, method := range []string{"OPTIONS", "post", "get", "Post", "PUT", "DELETE", "", "POSTX", "GET", "HEAD", "POST"} {
			_, _, err := Resolve([]byte(method), []byte(test.path))
			if fine := method != "" && strings.Contains(", "+test.allow+",", ", "+method+","); fine {
				if err != nil {
					t.Errorf("%s %s: %v", method, test.path, err)
				}
				continue
			}
			if err == nil || err.Status != 405 || err.Allow != test.allow {
				t.Errorf("%s %s: %+v", method, test.path, err)
			}
		}
	}
}

// What the HTTP server makes of the spellings in C126: decoded, dot segments and double slashes taken out.
func TestC126_NormalisedPaths(t *testing.T) {
	for path, status := range map[string]int{"/admin/y": 404, "/v1/models": 0, "/models": 0, "/etc/passwd": 404, "/v1/../models": 404,
		"/v1/%6dodels": 404, "/v1//models": 404} {
		_, _, err := Resolve([]byte("GET"), []byte(path))
		if got := statusOf(err); got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
	}
}

func statusOf(err *Error) int {
	if err == nil {
		return 0
	}
	return err.Status
}

func TestResolve_LongAndBinaryPathsAreCut(t *testing.T) {
	for _, path := range []string{"/" + strings.Repeat("x", 1<<20), "/" + strings.Repeat("ü", 1<<16), "/" + strings.Repeat("\xff", 1<<16),
		"/" + strings.Repeat("\x00", 500)} {
		_, _, err := Resolve([]byte(strings.Repeat("M", 1<<16)), []byte(path))
		if err == nil || len(err.Message) > 600 || !strings.Contains(err.Message, "...") {
			t.Errorf("%.10q: %d bytes of message", path, len(err.Message))
		}
	}
	_, _, err := Resolve([]byte("A\nB"), []byte("/models"))
	if strings.ContainsAny(err.Message, "\n") {
		t.Errorf("%q", err.Message)
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("GET", "/v1/models/x")
	f.Add("POST", "/v1-openai/chat/completions/")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, method, path string) {
		e, item, err := Resolve([]byte(method), []byte(path))
		if (e == nil) == (err == nil) {
			t.Fatalf("%v, %v", e, err)
		}
		if err != nil && (err.Status != 404 && err.Status != 405 || (err.Status == 405) != (err.Allow != "")) {
			t.Fatalf("%+v", err)
		}
		if err == nil && !strings.HasSuffix(strings.TrimSuffix(path, "/"), string(item)) {
			t.Fatalf("item %q", item)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	method, path := []byte("POST"), []byte("/v1/chat/completions")
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = Resolve(method, path)
	}
}

func TestEndpointAtEnd(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "/": "", "/v1": "", "/api/v1": "", "/v1/chat/completions": "/chat/completions", "/x/completions": "/completions",
		"/chat": "", "/my-completions": "", "/v1/messages": "/messages", "/v1/messages/count_tokens": "/messages/count_tokens", "/models": "/models",
		"/v1/chat/completions/more": "",
	} {
		if got := EndpointAtEnd(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
