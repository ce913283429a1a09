package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"

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

// Test that usage which the gateway asks for is hidden from clients that take compressed answers as well: the engine is asked
// for a plain one, for only there the event can be taken out.
func TestC117_UsageIsHiddenFromClientsThatDecompress(t *testing.T) {
	e := engine(t, sim.Behaviour{Text: "one two", Encoding: sim.GzipIfAccepted})
	g := gatewaytest.Start(t, open("", `"usage": "inject"`, e.URL()))
	a := g.Post(chat, streamBody, "Accept-Encoding", "gzip, br")
	if a.Header.Get("Content-Encoding") != "" || strings.Contains(a.Body, `"usage":{`) || !strings.Contains(a.Body, "[DONE]") {
		t.Errorf("%v %q", a.Header, a.Body)
	}
	// Who asks, or wants no stream, gets what it would get without.
	for _, body := range []string{chatBody, `{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": []}`} {
		if a := g.Post(chat, body, "Accept-Encoding", "gzip, br"); a.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%v", a.Header)
		}
	}
	var encodings []string
	for _, r := range e.WaitRequests(3) {
		encodings = append(encodings, strings.Join(r.Values("Accept-Encoding"), "; "))
	}
	if got := fmt.Sprint(encodings); got != "[identity gzip, br gzip, br]" {
		t.Errorf("the engine was told %s", got)
	}
	if l := g.WaitRequests(3)[0]; l["output_tokens"] != 2.0 {
		t.Errorf("%v", l)
	}
}

// stored is a text in the form of brotli, without being any shorter (RFC 7932, section 9.2): fasthttp's compressor would
// start goroutines that never end.
func stored(s string) string {
	head := (len(s)-1)<<4 | 1<<20
	return string([]byte{byte(head), byte(head >> 8), byte(head >> 16)}) + s + "\x03"
}

func deflated(s string) string {
	var b strings.Builder
	z := zlib.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.String()
}

// Test that the usage of compressed answers is read, and that they pass as they are.
func TestC074_UsageOfCompressedAnswers(t *testing.T) {
	const json = `{"id":"x","object":"chat.completion","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
	for coding, compress := range map[string]func(string) string{
		"gzip": squeeze, "x-gzip": squeeze, "GZip": squeeze, "deflate": deflated, "br": stored,
		"zstd": func(s string) string { return zstandard(t, s) },
	} {
		for media, body := range map[string]string{"application/json": json, "text/event-stream": "data: {\"choices\":[{}]}\n\n" + usageEvent + "data: [DONE]\n\n"} {
			sent := compress(body)
			head := fmt.Sprintf("Content-Type: %s\r\nContent-Encoding: %s\r\n", media, coding)
			g := gatewaytest.Start(t, open("", "", answering(t, chunked(head, sent[:10], sent[10:]))))
			if a := g.Post(chat, chatBody, "Accept-Encoding", coding); a.Body != sent || a.Header.Get("Content-Encoding") != coding {
				t.Errorf("%s, %s: %v %q", coding, media, a.Header, a.Body)
			}
			if l := g.WaitRequests(1)[0]; l["input_tokens"] != 3.0 || l["output_tokens"] != 2.0 {
				t.Errorf("%s, %s: %v", coding, media, l)
			}
		}
	}
}

// Test that the usage of a JSON answer is read that is too long to be held, or comes too slowly: wherever it stands, however
// it is cut into pieces, and without changing a byte.
func TestC118_UsageOfLongAnswers(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":8,"total_tokens":8}`
	vectors := strings.Repeat(`{"object":"embedding","embedding":[0.125,-0.25],"usage":{"prompt_tokens":9}},`, 20_000)
	data := `"data":[` + vectors[:len(vectors)-1] + `]`
	cut := func(body string, size int) (pieces []string) {
		for ; len(body) > size; body = body[size:] {
			pieces = append(pieces, body[:size])
		}
		return append(pieces, body)
	}
	for name, test := range map[string]struct {
		body   string
		tokens any
	}{
		"at its end":       {`{"object":"list",` + data + `,` + usage + `}`, 8.0},
		"almost":           {`{` + data + `,` + usage + `,"model":"m"}` + "\n", 8.0},
		"at its beginning": {`{"id":"rerank-1",` + usage + `,` + data + `}`, 8.0},
		"nowhere":          {`{` + data + `}`, nil},
	} {
		json := "Content-Type: application/json\r\n"
		for how, answer := range map[string]string{
			"of known length": whole(json, test.body), "in chunks": chunked(json, test.body), "in small chunks": chunked(json, cut(test.body, 1000)...),
			"in large chunks": chunked(json, cut(test.body, 300_000)...),
		} {
			g := gatewaytest.Start(t, open("", "", answering(t, answer)))
			if a := g.Post("/v1/embeddings", `{"model": "m", "input": "x"}`); a.Body != test.body || a.Err != nil {
				t.Errorf("%s, %s: %d bytes of %d, %v", name, how, len(a.Body), len(test.body), a.Err)
			}
			if l := g.WaitRequests(1)[0]; l["input_tokens"] != test.tokens {
				t.Errorf("%s, %s: %v", name, how, l)
			}
		}
	}
	// One that breaks off says nothing.
	broken := upstream(t, func(_ int, c *net.TCPConn) {
		if read(bufio.NewReader(c)) != nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n"+`{"usage":{"prompt_tokens":8`)
		}
	})
	g := gatewaytest.Start(t, open("", "", broken))
	g.Post("/v1/embeddings", `{"model": "m", "input": "x"}`)
	if l := g.WaitRequests(1)[0]; l["input_tokens"] != nil || l["outcome"] != "upstream_aborted" {
		t.Errorf("%v", l)
	}
}

// tokens returns the series of the tokens that were counted.
func tokens(g *gatewaytest.Gateway) string {
	var b strings.Builder
	for line := range strings.Lines(scrape(g)) {
		if rest, ok := strings.CutPrefix(line, "gpustack_gateway_tokens_total"); ok {
			b.WriteString(rest)
		}
	}
	return b.String()
}

// Test that a request whose client leaves is recorded once, with the tokens that had been told by then.
func TestUsageOfACancelledRequest(t *testing.T) {
	up := byHand(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	c, r := send(t, g, post(messages, `{"model": "m", "stream": true, "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}`))
	q := up.next()
	event := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n"
	q.say(streamHead + chunk(event))
	expect(t, answer(t, r).Body, event)
	c.Close()
	q.abandoned()
	g.Idle()
	lines := g.WaitRequests(1)
	if l := lines[0]; len(lines) != 1 || l["outcome"] != "client_closed" || l["input_tokens"] != 25.0 || l["cached_tokens"] != 7.0 || l["output_tokens"] != 1.0 {
		t.Errorf("%v", lines)
	}
	const want = `{route="m",target="m",type="cached",user=""} 7` + "\n" + `{route="m",target="m",type="input",user=""} 25` + "\n" + `{route="m",target="m",type="output",user=""} 1` + "\n"
	if got := tokens(g); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if n := strings.Count(scrape(g), "gpustack_gateway_requests_total{"); n != 1 {
		t.Errorf("it was counted as %d", n)
	}
}

// Test that the tokens of a response are counted once: when it is made, or, if it is made in the background, when its usage
// is first read.
func TestUsageOfAResponseIsCountedOnce(t *testing.T) {
	up := byHand(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	ask := func(method, path, body, usage string) (tokens any) {
		t.Helper()
		n := len(g.Requests())
		_, r := send(t, g, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body))
		q := up.next()
		q.say(whole("Content-Type: application/json\r\n", `{"id":"resp_1","object":"response","usage":`+usage+`}`))
		if _, err := io.ReadAll(answer(t, r).Body); err != nil {
			t.Fatal(err)
		}
		q.end()
		return g.WaitRequests(n + 1)[n]["output_tokens"]
	}
	const used = `{"input_tokens":3,"output_tokens":4}`
	for i, step := range []struct {
		method, path, usage string
		tokens              any
	}{
		{"POST", responses, used, 4.0},
		{"GET", responses + "/resp_1", used, nil},
		{"POST", responses, "null", nil}, // another one, in the background
		{"GET", responses + "/resp_1", "null", nil},
		{"GET", responses + "/resp_1", used, 4.0},
		{"GET", responses + "/resp_1", used, nil},
	} {
		body := ""
		if step.method == "POST" {
			body = `{"model": "m", "input": "x"}`
		}
		if got := ask(step.method, step.path, body, step.usage); got != step.tokens {
			t.Errorf("step %d: %v tokens, want %v", i, got, step.tokens)
		}
	}
	if got := tokens(g); !strings.Contains(got, `type="output",user=""} 8`+"\n") {
		t.Error(got)
	}
}
