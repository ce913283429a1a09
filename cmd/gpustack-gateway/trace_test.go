package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// With a collector in the environment a request is traced as a part of its client's trace, and its upstream is told so.
func TestServeTraces(t *testing.T) {
	var mu sync.Mutex
	var sent bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		sent.WriteString(r.URL.Path)
		sent.Write(body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	e := engine(t, sim.Behaviour{})
	var out output
	at, stop := running(t, &out, serveArgs(writeFile(t, public(e.URL())))...)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	req, err := http.NewRequest("POST", "http://"+at.data+"/v1/chat/completions", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", parent)
	req.Header.Set("Tracestate", "vendor=1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	got := e.WaitRequests(1)[0]
	if p := got.Get("Traceparent"); !strings.HasPrefix(p, parent[:36]) || p == parent || got.Get("Tracestate") != "vendor=1" || len(got.Values("Traceparent")) != 1 {
		t.Errorf("the engine was told %q, %q", got.Values("Traceparent"), got.Get("Tracestate"))
	}
	stop() // which sends what is left
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"/v1/traces", "chat m", "attempt m-1", "gpustack-gateway"} {
		if !strings.Contains(sent.String(), want) {
			t.Errorf("the collector was not told %q", want)
		}
	}
}

// A collector that does not answer is told in the log, as everything else is, and costs no request.
func TestServeTracesInVain(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	e := engine(t, sim.Behaviour{})
	var out output
	at, _ := running(t, &out, serveArgs(writeFile(t, public(e.URL())))...)
	if status, body := ask(t, http.DefaultClient, "POST", "http://"+at.data+"/v1/chat/completions", hello); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	gatewaytest.Eventually(t, "the log tells of it", func() bool {
		return strings.Contains(out.String(), "connection refused") && strings.Contains(out.String(), "spans could not be sent")
	})
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a line that is no JSON: %s", line)
		}
	}
}

// An endpoint that is none would have spans sent to another one, so the gateway does not start with it.
func TestServeRefusesAnEndpointThatIsNone(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318")
	status, _, stderr := command(t, "", serveArgs(writeFile(t, `{"routes": []}`))...)
	if status != exitFailed || !strings.Contains(stderr, `OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" is not a URL`) {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// Without a collector the client's trace context passes as it is, and there is none if there was none.
func TestServePassesTraceContextOn(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, public(e.URL()))
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	g.Post("/v1/chat/completions", hello, "Traceparent", parent, "Tracestate", "vendor=1,other=2")
	g.Post("/v1/chat/completions", hello)
	got := e.WaitRequests(2)
	if p, s := got[0].Get("Traceparent"), got[0].Get("Tracestate"); p != parent || s != "vendor=1,other=2" {
		t.Errorf("the engine was told %q, %q", p, s)
	}
	if p, s := got[1].Values("Traceparent"), got[1].Values("Tracestate"); len(p)+len(s) != 0 {
		t.Errorf("the engine was told %q, %q", p, s)
	}
}
