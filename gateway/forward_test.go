package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// squeeze compresses.
func squeeze(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.String()
}

// A body keeps the coding it came in, and the label of it; what the client accepts is between it and the upstream.
func TestC074BodyAndLabelAgree(t *testing.T) {
	json := squeeze(`{"object": "chat.completion"}`)
	for name, c := range map[string]struct{ answer, coding, want string }{
		"gzip JSON":         {whole("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", json), "gzip", json},
		"gzip JSON, chunks": {chunked("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", json[:9], json[9:]), "gzip", json},
		"br JSON":           {whole("Content-Type: application/json\r\nContent-Encoding: br\r\nVary: Accept-Encoding\r\n", "\x0b\x02\x80{}\x03"), "br", "\x0b\x02\x80{}\x03"},
		"zstd JSON":         {whole("Content-Encoding: zstd\r\n", "\x28\xb5\x2f\xfd\x04\x00"), "zstd", "\x28\xb5\x2f\xfd\x04\x00"},
		"two codings":       {whole("Content-Encoding: gzip, br\r\n", "\x00\x01"), "gzip, br", "\x00\x01"},
		"gzip 404": {strings.Replace(whole("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", json), "200 OK", "404 Not Found", 1),
			"gzip", json},
		"labelled, not compressed": {whole("Content-Encoding: gzip\r\n", "{}"), "gzip", "{}"},
		"gzip stream":              {chunked(sse+"Content-Encoding: gzip\r\n", json[:5], json[5:]), "gzip", json},
	} {
		t.Run(name, func(t *testing.T) {
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			for _, accept := range []string{"", "gzip, br;q=0.5", "identity", "*;q=0"} {
				request := post(chat, chatBody, closing)
				if accept != "" {
					request = post(chat, chatBody, closing, "Accept-Encoding: "+accept)
				}
				_, r := send(t, g, request)
				q := up.next()
				if got := q.request.Header.Get("Accept-Encoding"); got != accept {
					t.Errorf("the upstream is told that %q is accepted, not %q", got, accept)
				}
				q.say(c.answer)
				all, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				a := takeApart(t, string(all))
				if got := a.payload(t); got != c.want || !slices.Equal(a.header["Content-Encoding"], []string{c.coding}) {
					t.Errorf("%s: %q labelled %q", a.status, got, a.header["Content-Encoding"])
				}
				q.end()
			}
		})
	}
}

// A compressed stream can be read as it comes.
func TestC074CompressedStreamIsIncremental(t *testing.T) {
	var sent bytes.Buffer
	z := gzip.NewWriter(&sent)
	up := byHand(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	_, r := send(t, g, post(chat, streamBody, "Accept-Encoding: gzip"))
	q := up.next()
	q.say(okHead + sse + "Content-Encoding: gzip\r\n" + inChunks + "\r\n")
	resp := answer(t, r)
	var plain *gzip.Reader
	for i := range 3 {
		event := events(fmt.Sprint(i))
		_, _ = io.WriteString(z, event)
		_ = z.Flush()
		q.say(chunk(sent.String()))
		sent.Reset()
		if plain == nil {
			var err error
			if plain, err = gzip.NewReader(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, plain, event)
	}
	_ = z.Close()
	q.say(chunk(sent.String()) + lastChunk)
	ended(t, plain)
	q.end()
}

// The simulated engine compresses for those who accept it: nothing in between changes its mind.
func TestC074SimulatedEngine(t *testing.T) {
	e := engine(t, sim.Behaviour{Encoding: sim.GzipIfAccepted})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for _, body := range []string{chatBody, streamBody} {
		if a := g.Post(chat, body); a.Header.Get("Content-Encoding") != "" || !strings.Contains(a.Body, "choices") {
			t.Errorf("not asked for: %v %.50q", a.Header, a.Body)
		}
		a := g.Post(chat, body, "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(strings.NewReader(a.Body))
		if err != nil || a.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("asked for: %v %v", err, a.Header)
		}
		if plain, err := io.ReadAll(z); err != nil || !strings.Contains(string(plain), "choices") {
			t.Errorf("%v %.50q", err, plain)
		}
	}
}

// lines are a request's head as it arrived, sorted, with the names as they were written.
func lines(r *sim.Request) []string {
	var out []string
	for _, f := range r.Header {
		out = append(out, f.Name+": "+f.Value)
	}
	slices.Sort(out)
	return out
}

// What is for one hop stays there, and everything else crosses, on the way up.
func TestC075HeadersUp(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	base := []string{"Content-Type: application/json", "X-Request-Id: id-1", "Host: " + e.Addr(), fmt.Sprintf("Content-Length: %d", len(chatBody)+len("served")-1)}
	for name, c := range map[string]struct{ sent, cross []string }{
		"none": {nil, nil},
		"named by Connection": {
			[]string{"Connection: keep-alive, X-Hop", "X-Hop: 1", "x-hop: 2", "X-Hopper: 3"}, []string{"X-Hopper: 3"}},
		"named by one of two": {
			[]string{"Connection: X-One", "Connection: x-two , ,keep-alive", "X-One: 1", "X-Two: 2", "X-Three: 3"}, []string{"X-Three: 3"}},
		"named beside close": {
			[]string{"Connection: close, X-Hop", "X-Hop: 1", "X-Other: 2"}, []string{"X-Other: 2"}},
		"named behind close": {
			[]string{"Connection: close", "Connection: X-Hop", "X-Hop: 1", "X-Other: 2"}, []string{"X-Other: 2"}},
		"named before close": {
			[]string{"Connection: X-Hop", "Connection: close", "X-Hop: 1", "X-Other: 2"}, []string{"X-Other: 2"}},
		"of the connection": {
			[]string{"Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: trailers", "Upgrade: websocket", "Connection: upgrade",
				"HTTP2-Settings: abc", "Proxy-Authorization: Basic eA==", "Trailer: X-T"}, nil},
		"credentials and cookies": {
			[]string{"Authorization: Bearer k", "Cookie: a=b; c=d", "Cookie: e=f"}, nil},
		"everything else": {
			[]string{"Accept: text/event-stream", "User-Agent: a/1 (b; c)", "OpenAI-Beta: x", "anthropic-version: 2023-06-01", "X-Twice: 1", "X-Twice: 2",
				"X-Empty:", "X-Bytes: caf\xc3\xa9 \xe9", "Accept-Language: en;q=0.5, de", "X-Stainless-Retry-Count: 0", "Forwarded: for=1.2.3.4",
				"X-Forwarded-For: 1.2.3.4", "traceparent: 00-1-2-01", "Content-Language: en", "session-id: s-1", "Via: 1.1 x", "Range: bytes=0-1",
				"Origin: http://o", "Referer: http://r", "Date: now", "Priority: u=1", "Server: s", "Content-Encoding: identity"},
			[]string{"Accept: text/event-stream", "User-Agent: a/1 (b; c)", "Openai-Beta: x", "Anthropic-Version: 2023-06-01", "X-Twice: 1", "X-Twice: 2",
				"X-Empty: ", "X-Bytes: caf\xc3\xa9 \xe9", "Accept-Language: en;q=0.5, de", "X-Stainless-Retry-Count: 0", "Forwarded: for=1.2.3.4",
				"X-Forwarded-For: 1.2.3.4", "Traceparent: 00-1-2-01", "Content-Language: en", "Session-Id: s-1", "Via: 1.1 x", "Range: bytes=0-1",
				"Origin: http://o", "Referer: http://r", "Date: now", "Priority: u=1", "Server: s", "Content-Encoding: identity"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := e.Received()
			_, r := send(t, g, post(chat, chatBody, append(c.sent, "X-Request-Id: id-1")...))
			if resp := answer(t, r); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			q := e.WaitRequests(n + 1)[n]
			want := append(slices.Clone(base), c.cross...)
			slices.Sort(want)
			if got := lines(&q); !slices.Equal(got, want) {
				t.Errorf("the upstream got\n%q, want\n%q", got, want)
			}
		})
	}
}

// The same on the way down.
func TestC075HeadersDown(t *testing.T) {
	const mine = "X-Request-Id: id-1"
	for name, c := range map[string]struct{ sent, cross []string }{
		"none":                {nil, nil},
		"named by Connection": {[]string{"Connection: x-debug, keep-alive", "X-Debug: 1", "X-Debugger: 2"}, []string{"X-Debugger: 2"}},
		"named by one of two": {[]string{"Connection: x-one", "Connection: X-Two", "X-One: 1", "X-Two: 2", "X-Three: 3"}, []string{"X-Three: 3"}},
		"named beside close":  {[]string{"Connection: close, X-Hop", "X-Hop: 1", "X-Other: 2"}, []string{"X-Other: 2"}},
		"named behind close":  {[]string{"Connection: close", "Connection: X-Hop", "X-Hop: 1", "X-Other: 2"}, []string{"X-Other: 2"}},
		"named before close":  {[]string{"Connection: X-Hop", "Connection: close", "X-Hop: 1", "X-Other: 2"}, []string{"X-Other: 2"}},
		"of the connection":   {[]string{"Keep-Alive: timeout=5", "Proxy-Connection: close", "Upgrade: h2c", "Proxy-Authenticate: Basic", "Trailer: X-T"}, nil},
		"cookies, and what only the gateway says": {
			[]string{"Set-Cookie: a=b", "Set-Cookie: c=d; Path=/", "Set-Cookie2: e", "X-Gpustack-Target: spoofed"}, nil},
		"everything else": {
			[]string{"Content-Type: application/json; charset=utf-8", "Server: uvicorn", "X-Twice: 1", "x-twice: 2", "X-Empty:", "X-Bytes: \xc3\xa9\xe9",
				"Vary: Origin", "Vary: Accept", "ETag: \"x\"", "Cache-Control: no-cache", "Location: /x", "WWW-Authenticate: Bearer", "Via: 1.1 y",
				"openai-processing-ms: 5", "Access-Control-Allow-Origin: *", "Age: 3", "Content-Language: en", "Alt-Svc: h3"},
			[]string{"Content-Type: application/json; charset=utf-8", "Server: uvicorn", "X-Twice: 1", "X-Twice: 2", "X-Empty: ", "X-Bytes: \xc3\xa9\xe9",
				"Vary: Origin", "Vary: Accept", "Etag: \"x\"", "Cache-Control: no-cache", "Location: /x", "Www-Authenticate: Bearer", "Via: 1.1 y",
				"Openai-Processing-Ms: 5", "Access-Control-Allow-Origin: *", "Age: 3", "Content-Language: en", "Alt-Svc: h3"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, framing := range []string{"length", "chunks"} {
				head := ""
				for _, h := range c.sent {
					head += h + "\r\n"
				}
				from := whole(head, "{}")
				if framing == "chunks" {
					from = chunked(head, "{}")
				}
				g := gatewaytest.Start(t, open("", "", answering(t, from)))
				_, r := send(t, g, post(chat, streamBody, mine))
				var got []string
				for line := ""; line != "\r\n"; {
					var err error
					if line, err = r.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
					switch s := strings.TrimSuffix(line, "\r\n"); {
					case s == "", strings.HasPrefix(s, "HTTP/1.1 200"), strings.HasPrefix(s, "Date: "):
					case s == "Content-Length: 2", s == "Transfer-Encoding: chunked":
					default:
						got = append(got, s)
					}
				}
				want := append([]string{mine}, c.cross...)
				slices.Sort(want)
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%s: the client got\n%q, want\n%q", framing, got, want)
				}
			}
		})
	}
}

// What tells a client when to come back, and under what number to complain, reaches it on every status.
func TestC076LimitsAndIDs(t *testing.T) {
	fields := []string{"Retry-After: 7", "Retry-After-Ms: 7000", "X-Ratelimit-Limit-Requests: 60", "X-Ratelimit-Remaining-Tokens: 0",
		"X-Ratelimit-Reset-Requests: 1s", "Anthropic-Ratelimit-Requests-Reset: 2026-01-01T00:00:00Z", "X-Should-Retry: false",
		"Openai-Organization: o", "X-Request-Id: req_up", "Request-Id: req_up"}
	head := strings.Join(fields, "\r\n") + "\r\nSet-Cookie: a=b\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
	for _, status := range []string{"200 OK", "400 Bad Request", "404 Not Found", "408 Request Timeout", "409 Conflict", "422 Unprocessable", "429 Too Many Requests",
		"500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "529 Overloaded"} {
		for path, body := range map[string]string{chat: chatBody, "/v1/messages": streams["/v1/messages"]} {
			t.Run(status+path, func(t *testing.T) {
				g := gatewaytest.Start(t, open("", "", answering(t, strings.Replace(whole(head+"Content-Type: application/json\r\n", `{"e": 1}`), "200 OK", status, 1))))
				a := wire(t, g, post(path, body, closing))
				if a.status != "HTTP/1.1 "+status || a.payload(t) != `{"e": 1}` {
					t.Errorf("%s %q", a.status, a.body)
				}
				for _, f := range fields {
					name, value, _ := strings.Cut(f, ": ")
					if !slices.Equal(a.header[name], []string{value}) {
						t.Errorf("%s: %q, want %s", name, a.header[name], value)
					}
				}
				if a.header["Set-Cookie"] != nil || a.header["X-Hop"] != nil {
					t.Errorf("what must not cross did: %s", a.head)
				}
			})
		}
	}
}

// padding is header lines of about n bytes in all, none longer than 4 KB or, if it is one, of any length.
func padding(n int, one bool) []string {
	if one {
		return []string{"X-Pad: " + strings.Repeat("p", n)}
	}
	var out []string
	for i := 0; i*1000 < n; i++ {
		out = append(out, fmt.Sprintf("X-Pad-%d: %s", i, strings.Repeat("p", 1000)))
	}
	return out
}

func TestC078LargeHeads(t *testing.T) {
	for _, one := range []bool{false, true} {
		t.Run(fmt.Sprintf("one line: %v", one), func(t *testing.T) {
			e := engine(t, sim.Behaviour{})
			var fields []sim.Field
			for _, h := range padding(20_000, one) {
				name, value, _ := strings.Cut(h, ": ")
				fields = append(fields, sim.Field{Name: name, Value: value})
			}
			e.Set(sim.Behaviour{ExtraHeader: fields})
			g := gatewaytest.Start(t, open("", "", e.URL()))
			_, r := send(t, g, post(chat, chatBody, padding(12_000, one)...))
			resp := answer(t, r)
			if resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			q := e.WaitRequests(1)[0]
			for _, h := range padding(12_000, one) {
				name, value, _ := strings.Cut(h, ": ")
				if q.Get(name) != value {
					t.Errorf("%s is lost on the way up", name)
				}
			}
			for _, f := range fields {
				if resp.Header.Get(f.Name) != f.Value {
					t.Errorf("%s is lost on the way down", f.Name)
				}
			}
		})
	}
}

func TestC078HeadsBeyondTheLimit(t *testing.T) {
	for path, body := range map[string]string{chat: chatBody, "/v1/messages": streams["/v1/messages"]} {
		for _, one := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, one line: %v", path, one), func(t *testing.T) {
				up := answering(t, whole(strings.Join(padding(200_000, one), "\r\n")+"\r\n", "{}"))
				g := gatewaytest.Start(t, open("", "", up))
				a := wire(t, g, post(path, body, closing))
				failedAs(t, a, path, "HTTP/1.1 502 Bad Gateway")

				// The client sends all of it before it looks for an answer, as many do.
				a = wire(t, g, post(path, body, padding(200_000, one)...))
				failedAs(t, a, path, "HTTP/1.1 431 Request Header Fields Too Large")
				if a.header.Get("Connection") != "close" {
					t.Errorf("the connection would go on: %s", a.head)
				}
			})
		}
	}
}

// failedAs checks an error of the gateway's own: status, media type, the shape of the API, the request's id.
func failedAs(t *testing.T, a raw, path, status string) {
	t.Helper()
	shape := `{"error":{`
	if strings.Contains(path, "/messages") {
		shape = `{"type":"error",`
	}
	if a.status != status || !slices.Equal(a.header["Content-Type"], []string{"application/json"}) || !strings.HasPrefix(a.payload(t), shape) ||
		len(a.header["X-Request-Id"]) != 1 {
		t.Errorf("want %s with %s, got %s\n%s", status, shape, a.head, a.body)
	}
}

// Whatever was answered, unless it broke off, the client's connection serves the next request.
func TestConnectionIsUsedAgain(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	canned := func(status int, framing sim.Framing) sim.Behaviour {
		return sim.Behaviour{Status: status, Framing: framing}
	}
	c, r := send(t, g, "")
	for _, k := range []struct {
		name, request string
		b             sim.Behaviour
		status        int
	}{
		{"whole", post(chat, chatBody), sim.Behaviour{}, 200},
		{"stream", post(chat, streamBody), sim.Behaviour{}, 200},
		{"whole in chunks", post(chat, chatBody), sim.Behaviour{Framing: sim.Chunked}, 200},
		{"stream of known length", post(chat, streamBody), sim.Behaviour{Framing: sim.ContentLength}, 200},
		{"ends with the upstream's connection", post(chat, streamBody), sim.Behaviour{Framing: sim.CloseDelimited}, 200},
		{"the upstream closes", post(chat, chatBody), sim.Behaviour{ExtraHeader: []sim.Field{{Name: "Connection", Value: "close"}}}, 200},
		{"error of the upstream", post(chat, chatBody), canned(400, sim.Usual), 400},
		{"failure of the upstream", post(chat, chatBody), canned(500, sim.Chunked), 500},
		{"no body", post(chat, chatBody), canned(204, sim.Usual), 204},
		{"empty body", post(chat, chatBody), canned(201, sim.Usual), 201},
		{"no answer", post(chat, chatBody), sim.Behaviour{Fault: sim.Fault{Kind: sim.CloseBeforeHead}}, 502},
		{"no JSON", post(chat, "nonsense"), sim.Behaviour{}, 400},
		{"no such model", post(chat, `{"model": "x"}`), sim.Behaviour{}, 401},
		{"no such path", post("/v1/nothing", "{}"), sim.Behaviour{}, 404},
		{"wrong method", "PUT /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\n{}", sim.Behaviour{}, 405},
		{"models", "GET /v1/models HTTP/1.1\r\nHost: g\r\n\r\n", sim.Behaviour{}, 200},
		{"root", "GET / HTTP/1.1\r\nHost: g\r\n\r\n", sim.Behaviour{}, 200},
		{"request in chunks", "POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\n" + inChunks + "\r\n" + chunk(chatBody[:9]) + chunk(chatBody[9:]) + lastChunk,
			sim.Behaviour{}, 200},
		{"expected request", strings.Replace(post(chat, chatBody), "\r\n", "\r\nExpect: 100-continue\r\n", 1), sim.Behaviour{}, 100},
	} {
		e.Set(k.b)
		if _, err := io.WriteString(c, k.request); err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		resp := answer(t, r)
		if resp.StatusCode != k.status {
			t.Errorf("%s: %s", k.name, resp.Status)
		}
		if k.status == 100 {
			resp = answer(t, r)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Close {
			t.Fatalf("%s: %v, close: %v", k.name, err, resp.Close)
		}
	}
}

// Requests may be sent without waiting for answers, which come in order.
func TestPipelinedRequests(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	e.Hook(func(q *sim.Request) sim.Behaviour { return sim.Behaviour{Text: q.Get("X-N")} })
	g := gatewaytest.Start(t, open("", "", e.URL()))
	var all strings.Builder
	const n = 20
	for i := range n {
		body := chatBody
		if i%2 == 1 {
			body = streamBody
		}
		all.WriteString(post(chat, body, fmt.Sprintf("X-N: word%d", i)))
	}
	_, r := send(t, g, all.String())
	for i := range n {
		b, err := io.ReadAll(answer(t, r).Body)
		if err != nil || !strings.Contains(string(b), fmt.Sprintf("word%d\"", i)) {
			t.Fatalf("answer %d: %v %s", i, err, b)
		}
	}
}

// HTTP/1.0 knows no chunks, and ends its connections unless told otherwise.
func TestHTTP10(t *testing.T) {
	stream := events("1", "2")
	up := byHand(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	old := func(request string) string { return strings.Replace(request, "HTTP/1.1", "HTTP/1.0", 1) }
	ask := func(request, answer string) raw {
		t.Helper()
		_, r := send(t, g, request)
		q := up.next()
		q.say(answer)
		q.end()
		all, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		a := takeApart(t, string(all))
		if len(a.header["Transfer-Encoding"]) > 0 {
			t.Errorf("chunks for HTTP/1.0: %s", a.head)
		}
		return a
	}
	if a := ask(old(post(chat, chatBody)), whole("", "{}")); a.payload(t) != "{}" {
		t.Errorf("%s %s", a.head, a.body)
	}
	if a := ask(old(post(chat, chatBody)), chunked("", "{", "}")); a.payload(t) != "{}" { // its length is known by then
		t.Errorf("%s %s", a.head, a.body)
	}
	for _, keep := range []string{"Connection: close", "Connection: keep-alive"} {
		a := ask(old(post(chat, streamBody, keep)), chunked(sse+"X-A: b\r\n", stream[:9], stream[9:]))
		if a.body != stream || a.header["Content-Length"] != nil || !slices.Equal(a.header["Connection"], []string{"close"}) || a.header.Get("X-A") != "b" {
			t.Errorf("%s %q", a.head, a.body)
		}
	}

	c, r := send(t, g, old(post(chat, chatBody, "Connection: keep-alive")))
	for i := range 2 {
		q := up.next()
		q.say(whole("", "{}"))
		q.end()
		resp := answer(t, r)
		expect(t, resp.Body, "{}")
		if i == 0 {
			if resp.Header.Get("Connection") != "keep-alive" {
				t.Errorf("Connection: %q", resp.Header.Get("Connection"))
			}
			io.WriteString(c, old(post(chat, chatBody)))
		}
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	for _, l := range g.WaitRequests(6) {
		if l["outcome"] != "ok" {
			t.Errorf("access log: %v", l)
		}
	}
}

// HEAD is GET without its body, and nothing for what takes a body.
func TestHead(t *testing.T) {
	g := gatewaytest.Start(t, open("", "", "http://127.0.0.1:1"))
	c, r := send(t, g, "")
	for path, status := range map[string]int{"/": 200, "/v1/models": 200, chat: 405, "/v1/nothing": 404} {
		if _, err := fmt.Fprintf(c, "HEAD %s HTTP/1.1\r\nHost: g\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodHead})
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || resp.ContentLength <= 0 {
			t.Errorf("%s: %s, Content-Length %d", path, resp.Status, resp.ContentLength)
		}
		if n := r.Buffered(); n > 0 {
			t.Errorf("%s: a body of %d bytes", path, n)
		}
	}
}

// Any status is passed on with its text and without a guess at what it means.
func TestAnyStatus(t *testing.T) {
	for status, body := range map[string]string{
		"201 Created": "{}", "202 Accepted": "", "204 No Content": "", "299 Of Ours": "x", "301 Moved Permanently": "m", "304 Not Modified": "", "307 Temporary Redirect": "",
		"418 I'm a teapot": "tea", "451 Unavailable For Legal Reasons": "no", "599 Far Out": "far",
	} {
		t.Run(status, func(t *testing.T) {
			from := strings.Replace(whole("Location: /elsewhere\r\n", body), "200 OK", status, 1)
			if status == "204 No Content" || status == "304 Not Modified" {
				from = "HTTP/1.1 " + status + "\r\nLocation: /elsewhere\r\n\r\n"
			}
			up := upstream(t, func(_ int, c *net.TCPConn) {
				for r := bufio.NewReader(c); read(r) != nil; {
					io.WriteString(c, from)
				}
			})
			g := gatewaytest.Start(t, open("", "", up))
			for _, request := range []string{chatBody, streamBody} {
				a := wire(t, g, post(chat, request, closing))
				if strings.TrimSpace(strings.TrimPrefix(a.status, "HTTP/1.1 ")) != status || a.header.Get("Location") != "/elsewhere" || a.body != body {
					t.Errorf("%s\n%q", a.head, a.body)
				}
			}
		})
	}
}
