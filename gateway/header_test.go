package gateway

import (
	"bufio"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

func requestHeader(t testing.TB, lines ...string) *fasthttp.RequestHeader {
	t.Helper()
	var h fasthttp.RequestHeader
	head := "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	if len(lines) == 0 {
		head = "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n\r\n"
	}
	if err := h.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		t.Fatal(err)
	}
	return &h
}

func TestC068_Credential(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
		fails bool
	}{
		{nil, "", false},
		{[]string{"Authorization: Bearer k1"}, "k1", false},
		{[]string{"authorization: bearer k1"}, "k1", false},
		{[]string{"Authorization: BEARER  k1 "}, "k1", false},
		{[]string{"Authorization: Bearer"}, "", false},
		{[]string{"Authorization: Bearer "}, "", false},
		{[]string{"x-api-key: k1"}, "k1", false},
		{[]string{"X-API-KEY:  k1 "}, "k1", false},
		{[]string{"Authorization: Bearer k1", "x-api-key: k1"}, "k1", false},
		{[]string{"Authorization: Bearer k1", "x-api-key: k2"}, "", true},
		{[]string{"Authorization: Bearer k1", "x-api-key: K1"}, "", true},
		{[]string{"Authorization: Bearer k1", "Authorization: Bearer k1"}, "", true},
		{[]string{"x-api-key: k1", "x-api-key: k1"}, "", true},
		{[]string{"Authorization: Basic dXNlcjpwYXNz"}, "", true},
		{[]string{"Authorization: k1"}, "", true},
		{[]string{"Authorization: Bearer k1 k2"}, "k1 k2", false},
	} {
		got, err := credential(requestHeader(t, c.lines...))
		if string(got) != c.want || (err != nil) != c.fails {
			t.Errorf("%q: got %q, error %v", c.lines, got, err)
		}
		if err != nil && err.Status != fasthttp.StatusUnauthorized {
			t.Errorf("%q: status %d", c.lines, err.Status)
		}
	}
}

func TestC075_RequestHeadersThatCross(t *testing.T) {
	h := requestHeader(t,
		"Connection: keep-alive, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "TE: trailers", "Upgrade: h2c", "Proxy-Connection: keep-alive",
		"Authorization: Bearer s3cret", "X-Api-Key: s3cret", "Api-Key: s3cret", "Proxy-Authorization: Basic s3cret", "Cookie: a=s3cret",
		"X-Request-Id: abc", "Content-Length: 5", "Content-Type: application/json", "User-Agent: test/1",
		"Anthropic-Version: 2023-06-01", "Anthropic-Beta: a", "Anthropic-Beta: b", "Accept-Encoding: gzip, br", "Traceparent: 00-1-2-01", "X-Custom: ünï")
	got := string(appendRequestHeaders(nil, h, changes{}))
	for _, want := range []string{
		"Content-Type: application/json\r\n", "User-Agent: test/1\r\n", "Anthropic-Version: 2023-06-01\r\n",
		"Anthropic-Beta: a\r\nAnthropic-Beta: b\r\n", "Accept-Encoding: gzip, br\r\n", "Traceparent: 00-1-2-01\r\n", "X-Custom: ünï\r\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not cross", want)
		}
	}
	if n := strings.Count(got, "\r\n"); n != 8 {
		t.Errorf("%d headers cross, want 8:\n%s", n, got)
	}
	if strings.Contains(got, "s3cret") {
		t.Errorf("a credential crosses:\n%s", got)
	}
}

func TestC075_ResponseHeadersThatCross(t *testing.T) {
	var src, dst fasthttp.ResponseHeader
	head := "HTTP/1.1 429 Slow Down\r\nConnection: x-debug\r\nX-Debug: 1\r\nKeep-Alive: timeout=5\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n" +
		"Transfer-Encoding: chunked\r\nRetry-After: 7\r\nX-Ratelimit-Remaining: 0\r\nAnthropic-Ratelimit-Requests-Reset: x\r\nRequest-Id: r1\r\n" +
		"Content-Type: application/json\r\nContent-Encoding: gzip\r\nServer: engine\r\nDate: Mon, 30 Nov 2026 00:00:00 GMT\r\nVia: a\r\nVia: b\r\n\r\n"
	if err := src.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		t.Fatal(err)
	}
	dst.SetNoDefaultContentType(true)
	copyResponseHeaders(&dst, &src)
	got := map[string]string{}
	for k, v := range dst.All() {
		got[string(k)] += string(v) + ";"
	}
	want := map[string]string{"Retry-After": "7;", "X-Ratelimit-Remaining": "0;", "Anthropic-Ratelimit-Requests-Reset": "x;", "Request-Id": "r1;",
		"Content-Type": "application/json;", "Content-Encoding": "gzip;", "Server": "engine;", "Via": "a;b;"}
	delete(got, "Content-Length")
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: got %q, want %q", k, got[k], v)
		}
		delete(got, k)
	}
	if len(got) > 0 {
		t.Errorf("more crosses: %v", got)
	}
}

func TestSaneID(t *testing.T) {
	for id, want := range map[string]bool{
		"": false, "abc-123": true, "req_1.2:3/4": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
		"a b": false, "a\"b": false, "a\x00": false, "ü": false, "<script>": false,
	} {
		if got := saneID([]byte(id)); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

func BenchmarkRequestHeaders(b *testing.B) {
	h := requestHeader(b, "Authorization: Bearer k", "Content-Type: application/json", "User-Agent: OpenAI/JS 6.49.0", "Accept: application/json",
		"X-Stainless-Lang: js", "X-Stainless-Os: Linux", "X-Stainless-Arch: x64", "X-Stainless-Runtime: node", "Accept-Encoding: gzip, deflate", "Content-Length: 2000")
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendRequestHeaders(buf[:0], h, changes{})
	}
}

// What GPUStack's parts say among themselves no client may say.
func TestInternalHeadersStayHere(t *testing.T) {
	h := new(fasthttp.RequestHeader)
	for _, name := range []string{"X-GPUStack-Auth-Token", "x-gpustack-access-key", "X-GPUStack-Key-Ref", "X-GPUStack-Model-Instance", "x-mse-consumer",
		"x-higress-fallback-from"} {
		h.Add(name, "forged")
	}
	h.Add("X-Gpustack-Model", "stays")
	if got := string(appendRequestHeaders(nil, h, changes{})); got != "X-Gpustack-Model: stays\r\n" {
		t.Errorf("%q crosses", got)
	}
}
