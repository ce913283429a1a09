// Package tracing sends spans to an OpenTelemetry collector: one a request, and below it one an attempt. It knows what the
// gateway tells of itself and the form that collectors want; without a collector nothing of it is used.
package tracing

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const service = "gpustack-gateway"

// Tracer makes spans. It is safe for any number of goroutines.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Wanted reports whether the environment names a collector, by the variables of the OpenTelemetry specification. The
// exporter would send to another one than an endpoint that it can't read, so that is an error.
func Wanted(lookupEnv func(string) (string, bool)) (bool, error) {
	value := func(name string) string {
		v, _ := lookupEnv(name)
		return v
	}
	if strings.EqualFold(value("OTEL_SDK_DISABLED"), "true") || value("OTEL_TRACES_EXPORTER") == "none" {
		return false, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		endpoint := value(name)
		if endpoint == "" {
			continue
		}
		if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return false, fmt.Errorf("%s: %.100q is not a URL such as http://127.0.0.1:4318", name, endpoint)
		}
		return true, nil
	}
	return false, nil
}

// New returns a tracer that sends to the collector which the OTEL_EXPORTER_OTLP_ environment variables describe, as the
// OpenTelemetry specification of the OTLP exporter lists them, over HTTP. What goes wrong later is told to failed, which
// serves the whole process. Close must be called.
func New(ctx context.Context, version string, failed func(error)) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(failed))
	return with(sdk.WithBatcher(exporter), version), nil
}

// with returns a tracer that hands its spans to a processor.
func with(processor sdk.TracerProviderOption, version string) *Tracer {
	about := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version))
	if fromEnvironment, err := resource.New(context.Background(), resource.WithFromEnv()); err == nil {
		if merged, err := resource.Merge(about, fromEnvironment); err == nil {
			about = merged
		}
	}
	provider := sdk.NewTracerProvider(processor, sdk.WithResource(about))
	return &Tracer{provider: provider, tracer: provider.Tracer(service)}
}

// Close sends what has not been sent yet, as long as ctx lasts.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Span is a request, or an attempt of one. The zero value is none: everything may be asked of it, and nothing happens.
type Span struct {
	tracer *Tracer
	ctx    context.Context //nolint:containedctx // it is how the library knows a parent
	span   trace.Span
}

// Request begins the span of a request. traceparent and tracestate are what its client sent, if it did (W3C Trace
// Context): then the request is a part of that trace, and sampled if that is.
func (t *Tracer) Request(name, traceparent, tracestate string, at time.Time) Span {
	if t == nil {
		return Span{}
	}
	carrier := propagation.MapCarrier{"traceparent": traceparent, "tracestate": tracestate}
	ctx := propagation.TraceContext{}.Extract(context.Background(), carrier)
	ctx, span := t.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithSpanKind(trace.SpanKindServer))
	return Span{t, ctx, span}
}

// Attempt begins the span of an attempt.
func (s Span) Attempt(name string, at time.Time) Span {
	if s.span == nil {
		return Span{}
	}
	ctx, span := s.tracer.tracer.Start(s.ctx, name, trace.WithTimestamp(at), trace.WithSpanKind(trace.SpanKindClient))
	return Span{s.tracer, ctx, span}
}

// On reports whether there is a span.
func (s Span) On() bool { return s.span != nil }

// Context returns the headers by which an upstream makes its own spans a part of this one.
func (s Span) Context() (traceparent, tracestate string) {
	if s.span == nil {
		return "", ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(s.ctx, carrier)
	return carrier["traceparent"], carrier["tracestate"]
}

// Name renames the span, once more is known.
func (s Span) Name(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// Text notes something about the span. An empty value is not noted.
func (s Span) Text(key, value string) {
	if s.span != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number notes a number about the span. 0 is not noted.
func (s Span) Number(key string, value int64) {
	if s.span != nil && value != 0 {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// End ends the span; problem is empty if all went well.
func (s Span) End(at time.Time, problem string) {
	if s.span == nil {
		return
	}
	if problem != "" {
		s.span.SetStatus(codes.Error, problem)
	}
	s.span.End(trace.WithTimestamp(at))
}
