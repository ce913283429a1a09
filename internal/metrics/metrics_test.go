package metrics

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scrape returns what Prometheus would read.
func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestRequest(t *testing.T) {
	m := New("test")
	m.Request(&Request{Route: "r", Target: "t", Instance: "i", User: "alice", Status: 200, Outcome: 0, OutcomeName: "ok", Stream: true,
		FirstByte: 90 * time.Millisecond, Total: time.Second, Policy: true, DecidedBy: "least_inflight", Fallback: true,
		Tokens: Tokens{Input: 10, Output: 8, Cached: 4}})
	m.Request(&Request{Status: 401, Outcome: 4, OutcomeName: "rejected"})
	m.Attempt("r", "t", "i", Answered)
	m.Ejected("t", "i")
	m.Decision("jev", "timeout", 3*time.Second)
	m.Reload(7, Refused, time.Unix(1, 0))
	text := scrape(m)
	for _, want := range []string{
		`gpustack_gateway_requests_total{outcome="ok",route="r",status_class="2xx",target="t",target_instance="i"} 1`,
		`gpustack_gateway_requests_total{outcome="rejected",route="",status_class="4xx",target="",target_instance=""} 1`,
		`gen_ai_server_time_to_first_token_seconds_count{route="r",target="t"} 1`,
		`gen_ai_server_time_per_output_token_seconds_sum{route="r",target="t"} 0.13`,
		`gpustack_gateway_tokens_total{route="r",target="t",type="cached",user="alice"} 4`,
		`gpustack_gateway_attempts_total{result="answered",route="r",target="t",target_instance="i"} 1`,
		`gpustack_gateway_policy_decisions_total{plugin="least_inflight",route="r"} 1`,
		`gpustack_gateway_fallbacks_total{route="r",target="t"} 1`,
		`gpustack_gateway_decision_requests_total{provider="jev",result="timeout"} 1`,
		`gpustack_gateway_config_last_reload_successful 0`,
		`gpustack_gateway_config_generation 7`,
		`gpustack_gateway_build_info{version="test"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
	here := Place{Route: "r", Target: "t", Instance: "i"}
	m.Retain(Known{Places: map[Place]bool{here: true}, Users: map[string]bool{"alice": true}, Providers: map[string]bool{"jev": true}})
	if got := scrape(m); strings.Count(got, `"r"`) != strings.Count(text, `"r"`) || !strings.Contains(got, "alice") || !strings.Contains(got, "jev") {
		t.Error("series of what is still there are gone")
	}
	m.Retain(Known{Places: map[Place]bool{{Route: "r", Target: "t", Instance: "j"}: true}})
	if got := scrape(m); strings.Contains(got, `target_instance="i"`) || strings.Contains(got, "alice") || strings.Contains(got, "jev") || !strings.Contains(got, `gen_ai_server_request_duration_seconds_count{route="r",target="t"}`) {
		t.Error("an instance, a user and a provider are gone, and nothing else")
	}
	m.Request(&Request{Route: "r", Target: "t", Instance: "j", Status: 200, OutcomeName: "ok"})
	m.Retain(Known{})
	if text := scrape(m); strings.Contains(text, `route="r"`) {
		t.Error("the series of a route that is gone are still there")
	}
	if text := scrape(m); !strings.Contains(text, `route="",status_class="4xx"`) {
		t.Error("what belongs to no route must stay")
	}
}

// Test that statuses make a bounded number of series, whatever an upstream answers.
func TestStatusClassesAreBounded(t *testing.T) {
	m := New("test")
	for status := range 2000 {
		m.Request(&Request{Route: "r", Target: "t", Instance: "i", Status: status, Outcome: 1, OutcomeName: "upstream_error"})
	}
	if n := strings.Count(scrape(m), "gpustack_gateway_requests_total{"); n != 6 {
		t.Errorf("%d series", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	m := New("test")
	r := &Request{Route: "r", Target: "t", Instance: "i", Status: 200, OutcomeName: "ok", Total: time.Second, Policy: true, DecidedBy: "x"}
	for b.Loop() {
		m.Request(r)
		m.Attempt("r", "t", "i", Answered)
	}
}

func BenchmarkScrape(b *testing.B) {
	m := New("test")
	for i := range 100 {
		m.Request(&Request{Route: strconv.Itoa(i), Target: "t", Instance: "i", Status: 200, OutcomeName: "ok"})
	}
	for b.Loop() {
		scrape(m)
	}
}
