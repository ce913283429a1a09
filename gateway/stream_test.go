package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

const closing = "Connection: close"

// A body goes down in one framing, and the framing it came up in is never part of it.
func TestC001OneFraming(t *testing.T) {
	const json = `{"object": "chat.completion", "note": "5\r\nhello\r\n0\r\n\r\n"}`
	stream := events(`{"a": 1}`, "0\r", "[DONE]")
	for name, c := range map[string]struct{ answer, want string }{
		"chunked JSON":           {chunked("Content-Type: application/json\r\n", json[:7], json[7:]), json},
		"chunked event stream":   {chunked(sse, stream[:5], stream[5:]), stream},
		"JSON of known length":   {whole("Content-Type: application/json\r\n", json), json},
		"stream of known length": {whole(sse, stream), stream},
		"extensions, trailers": {okHead + sse + inChunks + "Trailer: X-T\r\n\r\n" +
			"3;a=b\r\nabc\r\n2 ; c=\"d\"\r\nde\r\n0;e\r\nX-T: 1\r\nX-U: 2\r\n\r\n", "abcde"},
		"length and chunks":     {okHead + sse + "Content-Length: 3\r\n" + inChunks + "\r\n" + chunk("abcde") + lastChunk, "abcde"},
		"empty chunked JSON":    {chunked("Content-Type: application/json\r\n"), ""},
		"empty event stream":    {chunked(sse), ""},
		"empty of known length": {whole("", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := gatewaytest.Start(t, open("", "", answering(t, c.answer)))
			for _, body := range []string{chatBody, streamBody} {
				a := wire(t, g, post(chat, body, closing))
				if got := a.payload(t); got != c.want || a.status != "HTTP/1.1 200 OK" {
					t.Errorf("%s: %s: got %q, want %q", body, a.status, got, c.want)
				}
				if a.header["X-T"] != nil || a.header["X-U"] != nil {
					t.Errorf("a trailer crossed: %s", a.head)
				}
			}
		})
	}
}

// What ends with its connection is an answer like any other, and the client's connection outlives it.
func TestC001CloseDelimited(t *testing.T) {
	for name, ctype := range map[string]string{"JSON": "Content-Type: application/json\r\n", "event stream": sse} {
		t.Run(name, func(t *testing.T) {
			g := gatewaytest.Start(t, open("", "", upstream(t, func(_ int, c *net.TCPConn) {
				read(bufio.NewReader(c))
				io.WriteString(c, okHead+ctype+"\r\nsome bytes")
			})))
			_, r := send(t, g, post(chat, streamBody)+post(chat, chatBody, closing))
			for range 2 {
				resp := answer(t, r)
				expect(t, resp.Body, "some bytes")
				ended(t, resp.Body)
			}
		})
	}
}

// recorded is what a real answer's body looks like.
func recorded(t *testing.T, path, body string) string {
	t.Helper()
	e := engine(t, sim.Behaviour{Text: "Hi there", Reasoning: 1, Cached: 1})
	resp, err := http.Post(e.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	return string(b)
}

// streams are requests for a stream, by the path that serves them.
var streams = map[string]string{
	"/v1/chat/completions": `{"model": "m", "stream": true, "stream_options": {"include_usage": true},
		"messages": [{"role": "user", "content": "Hi"}]}`,
	"/v1/completions": `{"model": "m", "stream": true, "prompt": "Hi"}`,
	"/v1/responses":   `{"model": "m", "stream": true, "input": "Hi"}`,
	"/v1/messages":    `{"model": "m", "stream": true, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}`,
}

// eventwise is a body in chunks, one an event; passed says how much of the body is in so many bytes of it.
func eventwise(body string) (in string, passed []int) {
	var b strings.Builder
	n := 0
	frame := func(p string, payload bool) {
		for i := range len(p) {
			passed = append(passed, n)
			b.WriteByte(p[i])
			if payload {
				n++
			}
		}
	}
	for _, event := range strings.SplitAfter(body, "\n\n") {
		if event == "" {
			continue
		}
		frame(strconv.FormatInt(int64(len(event)), 16)+"\r\n", false)
		frame(event, true)
		frame("\r\n", false)
	}
	frame(lastChunk, false)
	return b.String(), append(passed, n)
}

// Streams are cut in two at every offset of the wire: what has come goes down before the rest is sent.
func TestC002AnySplit(t *testing.T) {
	for path, body := range streams {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			stream := recorded(t, path, body)
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			conn, r := send(t, g, "")
			in, passed := eventwise(stream)
			step := 1 + len(in)/1000 // of the longest streams not every offset is tried
			for cut := 0; cut <= len(in); cut += step {
				if _, err := io.WriteString(conn, post(path, body)); err != nil {
					t.Fatal(err)
				}
				q := up.next()
				q.say(streamHead + in[:cut])
				resp := answer(t, r)
				expect(t, resp.Body, stream[:passed[cut]])
				q.say(in[cut:])
				expect(t, resp.Body, stream[passed[cut]:])
				ended(t, resp.Body)
				q.end()
			}
		})
	}
}

// A head may be cut anywhere as well.
func TestC002AnySplitOfTheHead(t *testing.T) {
	up := byHand(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	conn, r := send(t, g, "")
	all := "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + chunked(sse+"X-A: b\r\n", "data: 1\n\n")
	for cut := range len(all) {
		if _, err := io.WriteString(conn, post(chat, streamBody)); err != nil {
			t.Fatal(err)
		}
		q := up.next()
		q.say(all[:cut])
		runtime.Gosched() // the more often the gateway reads in between, the better
		q.say(all[cut:])
		resp := answer(t, r)
		expect(t, resp.Body, "data: 1\n\n")
		ended(t, resp.Body)
		if resp.Header.Get("X-A") != "b" || resp.Header.Get("Link") != "" {
			t.Fatalf("cut at %d: %v", cut, resp.Header)
		}
		q.end()
	}
}

// Bytes that come one by one, two events in one write, events and the end in one: the stream stays what it was.
func TestC002WritesOfAnySize(t *testing.T) {
	for path, body := range streams {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			stream := recorded(t, path, body)
			e := engine(t, sim.Behaviour{})
			g := gatewaytest.Start(t, open("", "", e.URL()))
			for _, split := range []int{0, 1, 2, 3, 7, 64, 1000} {
				for _, framing := range []sim.Framing{sim.Chunked, sim.ContentLength, sim.CloseDelimited} {
					e.Set(sim.Behaviour{Status: 200, Body: stream, Header: []sim.Field{{Name: "Content-Type", Value: "text/event-stream"}},
						SplitWrites: split, Framing: framing})
					if a := g.Post(path, body); a.Body != stream || a.Err != nil {
						t.Errorf("writes of %d, framing %d: %v, got %q, want %q", split, framing, a.Err, a.Body, stream)
					}
				}
			}
		})
	}
}

// The end of a stream need not be the end of an event.
func TestC003UnfinishedEvents(t *testing.T) {
	first, last := `data: {"choices": [{"delta": {"content": "Hel`, "data: {\"usage\": {\"total_tokens\": 3}}"
	rest := "lo\"}}]}\n\n" + last
	for name, c := range map[string]struct {
		head string
		end  func(q *call)
	}{
		"chunks":                {streamHead, func(q *call) { q.say(chunk(rest) + lastChunk) }},
		"known length":          {okHead + sse + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(first+rest)), func(q *call) { q.say(rest) }},
		"end of the connection": {okHead + sse + "\r\n", func(q *call) { q.say(rest); q.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			_, r := send(t, g, post(chat, streamBody))
			q := up.next()
			if name == "chunks" {
				q.say(c.head + chunk(first))
			} else {
				q.say(c.head + first)
			}
			resp := answer(t, r)
			expect(t, resp.Body, first)
			c.end(q)
			expect(t, resp.Body, rest)
			ended(t, resp.Body)
			q.end()
		})
	}
}

// No line of a stream is too long, whatever it is framed in.
func TestC005LongLines(t *testing.T) {
	for _, size := range []int{65_536, 65_537, 4 << 20} {
		stream := events("{}", strings.Repeat("0123456789abcdef", size/16)+strings.Repeat("x", size%16), "[DONE]")
		for framing, head := range map[string]string{"chunks": inChunks, "length": fmt.Sprintf("Content-Length: %d\r\n", len(stream)), "end": ""} {
			t.Run(fmt.Sprintf("%d in %s", size, framing), func(t *testing.T) {
				up := byHand(t)
				g := gatewaytest.Start(t, open("", "", up.url))
				_, r := send(t, g, post(chat, streamBody))
				q := up.next()
				q.say(okHead + sse + head + "\r\n")
				go func() { // more than the sockets hold
					defer q.end()
					if framing == "chunks" {
						io.WriteString(q, chunk(stream)+lastChunk)
						return
					}
					io.WriteString(q, stream)
					if framing == "end" {
						q.Close()
					}
				}()
				resp := answer(t, r)
				got, err := io.ReadAll(resp.Body)
				if string(got) != stream || err != nil {
					t.Fatalf("%d bytes of %d, %v", len(got), len(stream), err)
				}
			})
		}
	}
}

// Each piece reaches the client before the next one is sent, and the head before the first, whatever the framing, the
// spelling of the media type, and the version of HTTP that the client speaks.
func TestC006EachPieceAtOnce(t *testing.T) {
	stream := events("1", "2", "3")
	for framing, head := range map[string]string{"chunks": inChunks, "length": fmt.Sprintf("Content-Length: %d\r\n", len(stream)), "end": ""} {
		for _, ctype := range []string{"text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream"} {
			for _, client := range []string{"HTTP/1.1", "HTTP/1.0", "HTTP/1.1 over TLS", "HTTP/1.0 over TLS"} {
				t.Run(framing+" "+ctype+" "+client, func(t *testing.T) {
					up := byHand(t)
					version, secure := strings.CutSuffix(client, " over TLS")
					g := gatewaytest.Start(t, open("", "", up.url), overTLS(secure)...)
					_, r := send(t, g, strings.Replace(post(chat, streamBody), "HTTP/1.1", version, 1))
					q := up.next()
					q.say(okHead + "Content-Type: " + ctype + "\r\n" + head + "\r\n")
					resp := answer(t, r)
					for _, event := range strings.SplitAfter(stream, "\n\n") {
						if event == "" {
							continue
						}
						if framing == "chunks" {
							q.say(chunk(event))
						} else {
							q.say(event)
						}
						expect(t, resp.Body, event)
					}
					switch framing {
					case "chunks":
						q.say(lastChunk)
					case "end":
						q.Close()
					}
					ended(t, resp.Body)
					q.end()
				})
			}
		}
	}
}

// Other bodies go down piece by piece too where they are too long to be held back, or of a length that is not known to
// a client that asked for a stream.
func TestC006OtherBodies(t *testing.T) {
	const piece = "0123456789"
	for name, c := range map[string]struct{ body, head string }{
		"a stream of lines": {streamBody, "Content-Type: application/x-ndjson\r\n" + inChunks},
		"a long file":       {chatBody, "Content-Type: audio/mpeg\r\nContent-Length: 2000000\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			_, r := send(t, g, post(chat, c.body))
			q := up.next()
			q.say(okHead + c.head + "\r\n")
			resp := answer(t, r)
			for range 3 {
				if strings.Contains(c.head, "chunked") {
					q.say(chunk(piece))
				} else {
					q.say(piece)
				}
				expect(t, resp.Body, piece)
			}
			q.Close()
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Error("an answer that broke off ended well")
			}
			q.end()
		})
	}
}

// An answer of unknown length to a client that wants no stream is held back to be told whole, but only for so long.
func TestC006HeldBackForAWhile(t *testing.T) {
	up := byHand(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	_, r := send(t, g, post(chat, chatBody))
	q := up.next()
	q.say(okHead + "Content-Type: application/json\r\n" + inChunks + "\r\n" + chunk("{"))
	resp := answer(t, r) // which nothing that the upstream does has brought about
	expect(t, resp.Body, "{")
	for range 3 {
		q.say(chunk("  "))
		expect(t, resp.Body, "  ")
	}
	q.say(chunk("}") + lastChunk)
	expect(t, resp.Body, "}")
	ended(t, resp.Body)
	q.end()
}

// The head of an answer is not held back until its body begins.
func TestC007HeadAtOnce(t *testing.T) {
	for framing, head := range map[string]string{"chunks": inChunks, "length": "Content-Length: 9\r\n", "end": ""} {
		t.Run(framing, func(t *testing.T) {
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			_, r := send(t, g, post(chat, streamBody))
			q := up.next()
			q.say(okHead + sse + "X-Early: yes\r\n" + head + "\r\n")
			if resp := answer(t, r); resp.StatusCode != 200 || resp.Header.Get("X-Early") != "yes" { // nothing more has been sent
				t.Errorf("%d %v", resp.StatusCode, resp.Header)
			}
			q.Close()
			q.end()
		})
	}
}

// A stream that breaks off is one that breaks off for the client, and holds nothing that the upstream did not send.
func TestC008BrokenStreams(t *testing.T) {
	stream := events("1", "2", "3")
	in, _ := eventwise(stream)
	in = strings.TrimSuffix(in, lastChunk)
	for name, c := range map[string]struct {
		head, body string
		cut        func(q *call)
	}{
		"closed before the last chunk": {streamHead, in, func(q *call) { q.Close() }},
		"closed inside a chunk":        {streamHead, in + "40\r\n", func(q *call) { q.Close() }},
		"closed inside the last chunk": {streamHead, in + "0\r\n", func(q *call) { q.Close() }},
		"reset before the last chunk":  {streamHead, in, (*call).reset},
		"shorter than announced":       {okHead + sse + "Content-Length: 1000\r\n\r\n", stream, func(q *call) { q.Close() }},
		"reset, shorter":               {okHead + sse + "Content-Length: 1000\r\n\r\n", stream, (*call).reset},
		"reset where the end counts":   {okHead + sse + "\r\n", stream, (*call).reset},
		"broken framing":               {streamHead, in, func(q *call) { q.say("zz\r\n") }},
		"broken framing, one write":    {streamHead, in + "zz\r\n", func(*call) {}},
	} {
		t.Run(name, func(t *testing.T) {
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			_, r := send(t, g, post(chat, streamBody))
			q := up.next()
			q.say(c.head + c.body)
			resp := answer(t, r)
			expect(t, resp.Body, stream)
			c.cut(q)
			if rest, err := io.ReadAll(resp.Body); err == nil || len(rest) > 0 {
				t.Errorf("then %q, %v", rest, err)
			}
			if rest, _ := io.ReadAll(r); len(rest) > 0 {
				t.Errorf("behind it %q", rest)
			}
			q.end()
			l := g.WaitRequests(1)[0]
			if l["outcome"] != "upstream_aborted" || l["attempts"] != 1.0 || l["status"] != 200.0 {
				t.Errorf("access log: %v", l)
			}
		})
	}
}

// Of a stream to a client of HTTP/1.0 the end is the connection's: one that breaks off ends in a reset.
func TestC008BrokenStreamHTTP10(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS: %v", secure), func(t *testing.T) {
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url), overTLS(secure)...)
			_, r := send(t, g, strings.Replace(post(chat, streamBody), "HTTP/1.1", "HTTP/1.0", 1))
			q := up.next()
			q.say(streamHead + chunk(events("1")))
			resp := answer(t, r)
			expect(t, resp.Body, events("1"))
			q.Close()
			if rest, err := io.ReadAll(resp.Body); err == nil || len(rest) > 0 {
				t.Errorf("then %q, %v", rest, err)
			}
			q.end()
			if l := g.WaitRequests(1)[0]; l["outcome"] != "upstream_aborted" {
				t.Errorf("access log: %v", l)
			}
		})
	}
}

// The simulated engine's own ways to break a stream, on every API.
func TestC008EveryAPI(t *testing.T) {
	for _, fault := range []sim.FaultKind{sim.ResetAfterEvents, sim.CloseAfterEvents} {
		e := engine(t, sim.Behaviour{Text: "one two three four", Fault: sim.Fault{Kind: fault, After: 3}})
		g := gatewaytest.Start(t, open("", "", e.URL()))
		n := 0
		for path, body := range streams {
			a := g.Post(path, body)
			if a.Status != 200 || a.Err == nil || strings.Count(a.Body, "\n\n") > 3 || strings.Contains(a.Body, "gateway") {
				t.Errorf("%s after %s: %d %v %q", path, fault, a.Status, a.Err, a.Body)
			}
			n++
			if l := g.WaitRequests(n)[n-1]; l["outcome"] != "upstream_aborted" {
				t.Errorf("access log: %v", l)
			}
		}
		if got := e.Received(); got != len(streams) {
			t.Errorf("%d requests for %d", got, len(streams))
		}
	}
}

// counted counts the writes on the connections that it accepts.
type counted struct {
	net.Listener
	writes atomic.Int64
}

type countedConn struct {
	*net.TCPConn
	writes *atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{c.(*net.TCPConn), &l.writes}, nil
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(p)
}

// What one read of the upstream brings goes down in one write, whatever its size; the head and the end of the chunks take
// one more each at the most.
func TestOneWriteForEachRead(t *testing.T) {
	for framing, head := range map[string]string{"chunks": inChunks, "length": "Content-Length: 3000000\r\n", "end": ""} {
		for _, ctype := range []string{"text/event-stream", "audio/mpeg"} {
			for _, size := range []int{1, 100, 1000, 4000, 4083, 4090, 4095, 4096, 4097, 8000, 20_000, 32_000} {
				t.Run(fmt.Sprintf("%s in %s, pieces of %d", ctype, framing, size), func(t *testing.T) {
					up := byHand(t)
					ln := new(counted)
					g := gatewaytest.Start(t, open("", "", up.url), gatewaytest.Through(func(l net.Listener) net.Listener { ln.Listener = l; return ln }))
					_, r := send(t, g, post(chat, streamBody))
					q := up.next()
					q.say(okHead + "Content-Type: " + ctype + "\r\n" + head + "\r\n")
					resp := answer(t, r)
					const n = 20
					piece := strings.Repeat("x", size)
					for range n {
						if framing == "chunks" {
							q.say(chunk(piece))
						} else {
							q.say(piece)
						}
						expect(t, resp.Body, piece) // so that the gateway has nothing to read but one piece
					}
					before := ln.writes.Load()
					q.Close()
					_, _ = io.ReadAll(resp.Body)
					q.end()
					// One for the head, and one more read: of a piece that does not fit into the first buffer a part is read
					// before there is a larger one.
					if extra := before - n; extra > 2 {
						t.Errorf("%d writes for %d reads", before, n)
					}
				})
			}
		}
	}
}
