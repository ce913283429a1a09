package sim

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// eventsIn counts the events that came through.
func eventsIn(s string) int { return strings.Count(s, "data: ") }

func TestFaultsThatEndTheConnection(t *testing.T) {
	e := start(t, Options{})
	for _, c := range []struct {
		fault  Fault
		reset  bool
		head   bool
		events int // -1: any
	}{
		{Fault{ResetBeforeHead, 0}, true, false, 0},
		{Fault{CloseBeforeHead, 0}, false, false, 0},
		{Fault{ResetAfterHead, 0}, true, true, 0},
		{Fault{ResetAfterEvents, 0}, true, true, 0},
		{Fault{ResetAfterEvents, 3}, true, true, 3},
		{Fault{CloseAfterEvents, 3}, false, true, 3},
		{Fault{CloseAfterEvents, 1000}, false, true, 10},
		{Fault{ResetAfterBytes, 0}, true, false, 0},
		{Fault{ResetAfterBytes, 5}, true, false, 0},
		{Fault{CloseAfterBytes, 5}, false, false, 0},
		{Fault{CloseAfterBytes, 500}, false, true, -1},
		{Fault{ShortBody, 5}, false, true, 0},
	} {
		e.Set(Behaviour{Fault: c.fault})
		_, r := wire(t, e, rawPost(helloStream))
		got, err := rest(r)
		if isReset(err) != c.reset || err != nil && !c.reset {
			t.Errorf("%+v: ended with %v", c.fault, err)
		}
		if strings.Contains(got, "\r\n\r\n") != c.head || c.events >= 0 && eventsIn(got) != c.events || strings.HasSuffix(got, "0\r\n\r\n") {
			t.Errorf("%+v: got %q", c.fault, got)
		}
		switch c.fault.Kind {
		case ResetAfterBytes, CloseAfterBytes:
			if len(got) != c.fault.After {
				t.Errorf("%+v: %d bytes", c.fault, len(got))
			}
		case ShortBody:
			if _, body, _ := strings.Cut(got, "\r\n\r\n"); body != "data:" {
				t.Errorf("%+v: got %q", c.fault, got)
			}
		}
	}
	if e.Aborted() != 0 {
		t.Errorf("%d clients left", e.Aborted())
	}
	for _, q := range e.Requests() {
		if q.Answered || q.ClientGone {
			t.Errorf("answered %t, gone %t", q.Answered, q.ClientGone)
		}
	}
}

func TestEveryByteCanBeTheLast(t *testing.T) {
	e := start(t, Options{})
	_, r := wire(t, e, rawPost(hello, "Connection: close\r\n"))
	whole, err := rest(r)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 7 {
		e.Set(Behaviour{Fault: Fault{CloseAfterBytes, n}, SplitWrites: 3})
		_, r := wire(t, e, rawPost(hello, "Connection: close\r\n"))
		if got, err := rest(r); len(got) != n || err != nil {
			t.Fatalf("%d: got %d bytes, %v", n, len(got), err)
		}
	}
}

func TestSilenceEndsWithTheClient(t *testing.T) {
	e := start(t, Options{})
	n := 0
	for _, stream := range []string{hello, helloStream} {
		for _, f := range []Fault{{Silent, 0}, {HeadThenSilence, 0}, {SilentAfterEvents, 2}} {
			if stream == hello && f.Kind == SilentAfterEvents {
				f.After = 1
			}
			n++
			e.Set(Behaviour{Fault: f})
			c, _ := wire(t, e, rawPost(stream))
			if got := e.WaitRequests(n); len(got) != n {
				t.Fatalf("%d requests", len(got))
			}
			if e.Inflight() != 1 || e.Aborted() != n-1 {
				t.Errorf("%+v: in flight %d, aborted %d", f, e.Inflight(), e.Aborted())
			}
			c.Close()
			eventually(t, "the silence ends", func() bool { return e.Inflight() == 0 && e.Open() == 0 })
			if q := e.Requests()[n-1]; !q.ClientGone || q.Answered || e.Aborted() != n {
				t.Errorf("%+v: gone %t, answered %t, aborted %d", f, q.ClientGone, q.Answered, e.Aborted())
			}
		}
	}
}

// TestLeavingIsNoticed: a client that leaves while the engine pauses is noticed in the pause, not after it.
func TestLeavingIsNoticed(t *testing.T) {
	for name, b := range map[string]Behaviour{
		"before the head":       {HeadDelay: time.Hour},
		"before the first word": {FirstToken: time.Hour},
		"between two words":     {BetweenTokens: time.Hour},
	} {
		for body, leave := range map[string]func(*net.TCPConn){
			hello:       func(c *net.TCPConn) { c.Close() },
			helloStream: func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		} {
			t.Run(name, func(t *testing.T) {
				e := start(t, Options{Behaviour: b})
				c, _ := wire(t, e, rawPost(body))
				e.WaitRequests(1)
				leave(c.(*net.TCPConn))
				eventually(t, "the client is missed", func() bool { return e.Aborted() == 1 && e.Inflight() == 0 })
			})
		}
	}
}

func TestRefuseAndReturn(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Fault: Fault{Kind: Refuse}}})
	c := client(t)
	for range 3 {
		if a := post(t, c, e.URL()+"/v1/chat/completions", hello); a.err == nil || !strings.Contains(a.err.Error(), "refused") {
			t.Fatalf("not refused: %+v", a)
		}
		e.Set(Behaviour{})
		if a := post(t, c, e.URL()+"/v1/chat/completions", hello); a.status != 200 {
			t.Fatalf("after its return: %+v", a)
		}
		e.Set(Behaviour{Fault: Fault{Kind: Refuse}})
		eventually(t, "idle connections are closed", func() bool { return e.Open() == 0 })
	}
}

func TestRefuseLetsRunningAnswersEnd(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Text: "a b", BetweenTokens: 50 * time.Millisecond}})
	_, r := wire(t, e, rawPost(helloStream, "Connection: close\r\n"))
	e.WaitRequests(1)
	e.Set(Behaviour{Fault: Fault{Kind: Refuse}})
	if got, err := rest(r); err != nil || !strings.HasSuffix(got, "0\r\n\r\n") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReusedConnections(t *testing.T) {
	for kind, reset := range map[FaultKind]bool{ResetReused: true, CloseReused: false} {
		e := start(t, Options{Behaviour: Behaviour{Fault: Fault{Kind: kind}}})
		c, r := wire(t, e, rawPost(hello))
		if status, _, err := head(r); status != 200 || err != nil {
			t.Fatal(status, err)
		}
		io.WriteString(c, rawPost(hello))
		if got, err := rest(r); strings.Contains(got, "HTTP/") || isReset(err) != reset {
			t.Errorf("%s: got %q, %v", kind, got, err)
		}
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{CloseIdleAfter: time.Millisecond}})
	_, r := wire(t, e, rawPost(hello))
	if got, err := rest(r); err != nil || !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("%q, %v", got, err)
	}
	e.Set(Behaviour{CloseAfterRequests: 2})
	_, r = wire(t, e, rawPost(hello)+rawPost(hello)+rawPost(hello))
	if got, _ := rest(r); strings.Count(got, "HTTP/1.1 200") != 2 || strings.Contains(got, "Connection: close") {
		t.Errorf("%q", got)
	}
}

func TestResetInTheRequest(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Fault: Fault{ResetRequest, 100_000}}})
	body := `{"model":"m","x":"` + strings.Repeat("x", 300_000) + `"}`
	for range 3 {
		if a := post(t, client(t), e.URL()+"/v1/chat/completions", body); a.err == nil {
			t.Fatalf("answered %d", a.status)
		}
	}
	for _, q := range e.Requests() {
		if len(q.Body) != 100_000 || q.ClientGone {
			t.Errorf("read %d bytes, client gone %t", len(q.Body), q.ClientGone)
		}
	}
}

func TestAnswerBeforeTheBody(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Status: 413, Fault: Fault{Kind: AnswerEarly}}})
	c, r := wire(t, e, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{")
	if status, last, err := head(r); err != nil || status != 413 || !last {
		t.Fatalf("%d %t %v", status, last, err)
	}
	c.Close()
}

func TestFramings(t *testing.T) {
	e := start(t, Options{})
	c := client(t)
	for _, f := range []Framing{Usual, Chunked, ContentLength, CloseDelimited} {
		for body, stream := range map[string]bool{hello: false, helloStream: true} {
			for _, enc := range []Encoding{Identity, GzipIfAccepted, Gzip} {
				e.Set(Behaviour{Framing: f, Encoding: enc, SplitWrites: 11, ExtraHeader: []Field{{"X-Extra", "yes"}}})
				a := post(t, c, e.URL()+"/v1/chat/completions", body)
				zipped := a.header.Get("Content-Encoding") == "gzip"
				if zipped != (enc == Gzip) || a.err != nil || a.header.Get("X-Extra") != "yes" {
					t.Fatalf("%d %d: %+v", f, enc, a)
				}
				if zipped {
					a.body = unzip(t, a.body)
				}
				if stream {
					if names, _ := events(t, a.body); names[len(names)-1] != "[DONE]" {
						t.Errorf("%d %d: %v", f, enc, names)
					}
				} else {
					decode(t, a.body)
				}
				if hasLength := a.header.Get("Content-Length") != ""; hasLength != (f == ContentLength || f == Usual && !stream) {
					t.Errorf("%d, stream %t: %v", f, stream, a.header)
				}
			}
		}
	}
}

func unzip(t *testing.T, s string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestZippedEventsComeOneByOne(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Encoding: Gzip, Framing: CloseDelimited, Fault: Fault{SilentAfterEvents, 2}}})
	_, r := wire(t, e, rawPost(helloStream))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for buf := make([]byte, 1000); strings.Count(got, "\n\n") < 2; {
		n, err := z.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
	}
}

func TestErrorEvents(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{ErrorEvent: 2}})
	a := post(t, client(t), e.URL()+"/v1/chat/completions", helloStream)
	names, data := events(t, a.body)
	if len(names) != 3 || at(data[1], "error.type") != "server_error" || names[2] != "[DONE]" {
		t.Errorf("%s", a.body)
	}
}

func TestCannedAnswers(t *testing.T) {
	e := start(t, Options{})
	c := client(t)
	e.Set(Behaviour{Status: 429, Header: []Field{{"Retry-After", "1"}}, ExtraHeader: []Field{{"Connection", "close"}}})
	a := post(t, c, e.URL()+"/v1/chat/completions", "whatever")
	if a.status != 429 || a.header.Get("Retry-After") != "1" || at(decode(t, a.body), "error.type") != "rate_limit_error" {
		t.Errorf("%+v", a)
	}
	e.Set(Behaviour{Status: 200, Body: "garbage", Header: []Field{{"content-type", "text/plain"}}})
	if a := post(t, c, e.URL()+"/x", ""); a.body != "garbage" || a.header.Get("Content-Type") != "text/plain" {
		t.Errorf("%+v", a)
	}
	e.Set(Behaviour{Status: 204})
	if a := post(t, c, e.URL()+"/x", ""); a.status != 204 || a.body != "" || a.header.Get("Content-Length") != "" {
		t.Errorf("%+v", a)
	}
	e.Set(Behaviour{
		Status: 200, Body: "data: 1\n\ndata: 2\n\ndata: unfinished", Header: []Field{{"Content-Type", "text/event-stream"}},
		Fault: Fault{CloseAfterEvents, 2},
	})
	if a := post(t, c, e.URL()+"/x", ""); a.body != "data: 1\n\ndata: 2\n\n" || a.err == nil {
		t.Errorf("%+v", a)
	}
}

func TestInterimHead(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Interim: 103}})
	_, r := wire(t, e, rawPost(hello, "Connection: close\r\n"))
	if got, _ := rest(r); !strings.HasPrefix(got, "HTTP/1.1 103 Interim\r\n\r\nHTTP/1.1 200 OK\r\n") {
		t.Errorf("%q", got)
	}
}
