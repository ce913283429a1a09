package tracing

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := with(sdk.WithSpanProcessor(recorder), "test")
	start := time.Unix(100, 0)
	r := tracer.Request("chat m", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=b", start)
	a := r.Attempt("m-1", start.Add(time.Second))
	parent, state := a.Context()
	if state != "a=b" || !strings.HasPrefix(parent, "00-0af7651916cd43dd8448eb211c80319c-") || strings.Contains(parent, "b7ad6b7169203331") {
		t.Errorf("traceparent %s, tracestate %s", parent, state)
	}
	a.Text("error.type", "timeout")
	a.End(start.Add(2*time.Second), "timeout")
	r.Number("http.response.status_code", 504)
	r.End(start.Add(3*time.Second), "")
	spans := recorder.Ended()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	attempt, request := spans[0], spans[1]
	if attempt.Parent().SpanID() != request.SpanContext().SpanID() || request.Parent().SpanID().String() != "b7ad6b7169203331" {
		t.Error("the spans do not hang together")
	}
	if attempt.Status().Code != codes.Error || request.Status().Code != codes.Unset {
		t.Error("the wrong span failed")
	}
	if request.EndTime().Sub(request.StartTime()) != 3*time.Second {
		t.Errorf("the request took %v", request.EndTime().Sub(request.StartTime()))
	}
	if err := tracer.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestWanted(t *testing.T) {
	for _, test := range []struct {
		env    map[string]string
		wanted bool
		fault  string
	}{
		{nil, false, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, false, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector/v1/traces"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "True"}, false, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4318"}, false, `OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" is not a URL`},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, false, `"collector:4318" is not a URL`},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "grpc://x"}, false, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
	} {
		wanted, err := Wanted(func(name string) (string, bool) { v, ok := test.env[name]; return v, ok })
		if wanted != test.wanted || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%v: %v, %v", test.env, wanted, err)
		}
	}
}

func TestWithoutATracer(t *testing.T) {
	var none *Tracer
	s := none.Request("x", "", "", time.Now())
	a := s.Attempt("y", time.Now())
	a.Text("a", "b")
	a.Number("c", 1)
	a.End(time.Now(), "x")
	s.End(time.Now(), "")
	if parent, state := a.Context(); s.On() || a.On() || parent != "" || state != "" {
		t.Error("there is a span")
	}
	if n := testing.AllocsPerRun(100, func() {
		s := none.Request("x", "", "", time.Time{})
		s.Attempt("y", time.Time{}).End(time.Time{}, "")
		s.End(time.Time{}, "")
	}); n != 0 {
		t.Errorf("%v allocations for nothing", n)
	}
}
