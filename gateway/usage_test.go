package gateway_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"bufio"

	"github.com/klauspost/compress/gzip"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// Test that the tokens of one request are never those of another.
func TestUsageIsForgotten(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	g.Post(chat, chatBody)
	g.Post(chat, `{"model": "unknown"}`)
	g.Do("GET", "/v1/models", "")
	e.Set(sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetBeforeHead}})
	g.Post(chat, chatBody)
	lines := g.WaitRequests(4)
	if lines[0]["output_tokens"] == nil {
		t.Errorf("%v", lines[0])
	}
	for _, l := range lines[1:] {
		if l["output_tokens"] != nil || l["input_tokens"] != nil {
			t.Errorf("tokens of an earlier request: %v", l)
		}
	}
}

const usageEvent = `data: {"id":"x","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}` + "\n\n"

// Test that usage which the gateway asks for is counted and hidden, and that a client that asks sees it exactly once,
// wherever the stream is cut into pieces.
func TestC117_UsageIsAskedForAndHidden(t *testing.T) {
	e := engine(t, sim.Behaviour{Text: "one two"})
	g := gatewaytest.Start(t, open("", `"usage": "inject"`, e.URL()))
	plain := gatewaytest.Start(t, open("", "", e.URL()))
	for _, split := range []int{0, 1, 7, 64} {
		e.Set(sim.Behaviour{Text: "one two", SplitWrites: split})
		want := plain.Post(chat, streamBody)
		got := g.Post(chat, streamBody)
		if strip(got.Body) != strip(want.Body) || strings.Contains(got.Body, `"usage":{`) || got.Err != nil {
			t.Errorf("split %d: got\n%s\nwant\n%s", split, got.Body, want.Body)
		}
		asking := g.Post(chat, `{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "Say hello."}]}`)
		if strings.Count(asking.Body, `"usage":{`) != 1 {
			t.Errorf("split %d: a client that asks got %s", split, asking.Body)
		}
		refusing := g.Post(chat, `{"model": "m", "stream": true, "stream_options": {"include_usage": false}, "messages": [{"role": "user", "content": "Say hello."}]}`)
		if strings.Contains(refusing.Body, `"usage":{`) {
			t.Errorf("split %d: a client that refuses got %s", split, refusing.Body)
		}
		whole := g.Post(chat, chatBody)
		if whole.Status != 200 || !strings.Contains(whole.Body, `"usage":{`) {
			t.Errorf("whole: %d %s", whole.Status, whole.Body)
		}
	}
	for _, l := range g.WaitRequests(16) {
		if l["output_tokens"] != 2.0 {
			t.Errorf("%v", l)
		}
	}
	// Only what has to be asked changes in the body.
	for _, r := range e.Requests() {
		if r.Get("Content-Length") != fmt.Sprint(len(r.Body)) {
			t.Errorf("length %s of %d bytes", r.Get("Content-Length"), len(r.Body))
		}
	}
}

// strip takes out what differs from one answer of the engine to the next.
func strip(stream string) string {
	var out []string
	for line := range strings.Lines(stream) {
		if _, rest, ok := strings.Cut(line, `"choices"`); ok {
			line = strings.ReplaceAll(strings.ReplaceAll(rest, `,"usage":null`, ""), " ", "")
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

// Test that nothing of a filtered stream is lost: an end without an empty line, an event that is too long to be looked
// at, a stream that breaks off inside an event.
func TestC003_FilteredStreamLosesNothing(t *testing.T) {
	long := `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 200<<10) + `"}}],"usage":null}` + "\n\n"
	for name, test := range map[string]struct{ stream, want string }{
		"no empty line at the end": {"data: {\"choices\":[{}]}\n\n" + usageEvent + "data: [DONE]", "data: {\"choices\":[{}]}\n\ndata: [DONE]"},
		"a long event":             {long + usageEvent + "data: [DONE]\n\n", long + "data: [DONE]\n\n"},
		"only usage":               {usageEvent, ""},
		"usage beside a choice":    {strings.Replace(usageEvent, "[]", `[{"index":0}]`, 1), strings.Replace(usageEvent, "[]", `[{"index":0}]`, 1)},
	} {
		url := answering(t, chunked("Content-Type: text/event-stream\r\n", test.stream))
		g := gatewaytest.Start(t, open("", `"usage": "inject"`, url))
		if a := g.Post(chat, streamBody); a.Body != test.want || a.Err != nil {
			t.Errorf("%s: got %d bytes %.200q, want %d bytes, %v", name, len(a.Body), a.Body, len(test.want), a.Err)
		}
	}
	url := upstream(t, func(_ int, c *net.TCPConn) {
		if read(bufio.NewReader(c)) != nil {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", 22, "data: 1\n\ndata: {\"half\"")
		}
	})
	g := gatewaytest.Start(t, open("", `"usage": "inject"`, url))
	if a := g.Post(chat, streamBody); a.Body != "data: 1\n\ndata: {\"half\"" || a.Err == nil {
		t.Errorf("a stream that breaks off: %q, %v", a.Body, a.Err)
	}
}

// Test that the usage of compressed answers is read, and that they pass as they are.
func TestC074_UsageOfCompressedAnswers(t *testing.T) {
	e := engine(t, sim.Behaviour{Text: "one two", Encoding: sim.Gzip})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for i, body := range []string{chatBody, `{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "x"}]}`} {
		a := g.Post(chat, body, "Accept-Encoding", "gzip")
		if a.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%d %v", a.Status, a.Header)
		}
		if _, err := gzip.NewReader(strings.NewReader(a.Body)); err != nil {
			t.Error(err)
		}
		if l := g.WaitRequests(i + 1)[i]; l["output_tokens"] != 2.0 {
			t.Errorf("%v", l)
		}
	}
}
