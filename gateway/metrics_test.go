package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// scrape returns what Prometheus would read.
func scrape(g *gatewaytest.Gateway) string {
	w := httptest.NewRecorder()
	g.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// series is how many series a scrape has, and its size in bytes.
func series(g *gatewaytest.Gateway) (n, size int) {
	text := scrape(g)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "gpustack_") || strings.HasPrefix(line, "gen_ai_") {
			n++
		}
	}
	return n, len(text)
}

// Test that what clients make up makes no series: names of models, paths, methods, headers, keys, sessions.
func TestC119_SeriesAreBounded(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	c, r := send(t, g, "")
	ask := func(i int, method, path, body string, headers ...string) {
		request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\n", method, path, len(body))
		for _, h := range headers {
			request += h + "\r\n"
		}
		if _, err := io.WriteString(c, request+"\r\n"+body); err != nil {
			t.Fatal(err)
		}
		skipAnswer(t, r, i)
	}
	hostile := func(from, until int) {
		for i := from; i < until; i++ {
			ask(i, "POST", chat, fmt.Sprintf(`{"model": "scanner-%d"}`, i), fmt.Sprintf("X-Api-Key: key-%d", i))
			ask(i, "POST", fmt.Sprintf("/v1/path-%d", i), "")
			ask(i, "PUT", chat, "", fmt.Sprintf("X-Header-%d: %d", i, i))
			if i%10 == 0 {
				ask(i, "POST", chat, chatBody, fmt.Sprintf("Session-Id: session-%d", i), fmt.Sprintf("User-Agent: agent-%d", i))
			}
		}
	}
	hostile(0, 50)
	before, _ := series(g)
	hostile(50, 3400)
	after, size := series(g)
	if after != before {
		t.Errorf("%d series became %d", before, after)
	}
	if size > 64<<10 {
		t.Errorf("a scrape is %d bytes", size)
	}
}

// skipAnswer reads one answer of a known length.
func skipAnswer(t *testing.T, r *bufio.Reader, i int) {
	t.Helper()
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		fmt.Sscanf(line, "Content-Length: %d", &length)
		if line == "\r\n" {
			break
		}
	}
	if _, err := r.Discard(length); err != nil {
		t.Fatal(err)
	}
}
