package sim

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRecordKeepsTheWire(t *testing.T) {
	e := start(t, Options{})
	_, r := wire(t, e, "POST /v1/chat/completions?a=%20b HTTP/1.1\r\nhost: x\r\nX-One:  two \r\nx-ONE: three\r\nConnection: close\r\n"+
		"Content-Length: 79\r\n\r\n"+helloStream+strings.Repeat(" ", 79-len(helloStream)))
	if _, err := rest(r); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the answer is through", func() bool { return e.Inflight() == 0 })
	q := e.Requests()[0]
	want := []Field{{"host", "x"}, {"X-One", "two"}, {"x-ONE", "three"}, {"Connection", "close"}, {"Content-Length", "79"}}
	if !reflect.DeepEqual(q.Header, want) || q.Method != http.MethodPost || q.Target != "/v1/chat/completions?a=%20b" || q.Path() != "/v1/chat/completions" {
		t.Errorf("%+v", q)
	}
	if string(q.Body[:len(helloStream)]) != helloStream || q.Model != "m" || !q.Stream || q.Conn != 1 || q.At.IsZero() {
		t.Errorf("%+v", q)
	}
	if !q.Answered || q.ClientGone || q.Status != 200 || !reflect.DeepEqual(q.Values("x-one"), []string{"two", "three"}) {
		t.Errorf("%+v", q)
	}
}

func TestConnectionsAreKept(t *testing.T) {
	e := start(t, Options{})
	c := client(t)
	for range 3 {
		post(t, c, e.URL()+"/v1/chat/completions", hello)
	}
	post(t, c, e.URL()+"/v1/chat/completions", hello, "Connection", "close")
	post(t, c, e.URL()+"/v1/chat/completions", helloStream)
	conns := []int{}
	for _, q := range e.WaitRequests(5) {
		conns = append(conns, q.Conn)
	}
	if !reflect.DeepEqual(conns, []int{1, 1, 1, 1, 2}) {
		t.Errorf("connections %v", conns)
	}
	eventually(t, "one is open", func() bool { return e.Open() == 1 })
}

func TestHookDecidesPerRequest(t *testing.T) {
	e := start(t, Options{})
	e.Hook(func(q *Request) Behaviour {
		if q.Model == "busy" {
			return Behaviour{Status: 503}
		}
		return e.Behaviour()
	})
	c := client(t)
	if a := post(t, c, e.URL()+"/v1/chat/completions", strings.Replace(hello, `"m"`, `"busy"`, 1)); a.status != 503 {
		t.Errorf("%+v", a)
	}
	if a := post(t, c, e.URL()+"/v1/chat/completions", hello); a.status != 200 {
		t.Errorf("%+v", a)
	}
	e.Hook(nil)
	if a := post(t, c, e.URL()+"/v1/chat/completions", strings.Replace(hello, `"m"`, `"busy"`, 1)); a.status != 200 {
		t.Errorf("%+v", a)
	}
}

func TestClientThatLeavesInItsBody(t *testing.T) {
	e := start(t, Options{})
	c, _ := wire(t, e, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	c.Close()
	eventually(t, "it is missed", func() bool { return e.Aborted() == 1 })
	if q := e.Requests()[0]; string(q.Body) != "{" || !q.ClientGone {
		t.Errorf("%+v", q)
	}
}

func TestRequestFramings(t *testing.T) {
	e := start(t, Options{})
	c, r := wire(t, e, "\r\nPOST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"4\r\n"+hello[:4]+fmt.Sprintf("\r\n%x;x=y\r\n", len(hello)-4)+hello[4:]+"\r\n0\r\nX-Trailer: x\r\n\r\n"+
		"POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\n"+
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hello)))
	if status, _, err := head(r); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	if line, _ := r.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q", line)
	}
	r.ReadString('\n')
	io.WriteString(c, hello)
	if status, _, err := head(r); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	for _, q := range e.Requests() {
		if string(q.Body) != hello {
			t.Errorf("body %q", q.Body)
		}
	}
}

func TestAmbiguousFramingIsRefused(t *testing.T) {
	e := start(t, Options{})
	for name, fields := range map[string]string{
		"both":              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"two lengths":       "Content-Length: 5\r\nContent-Length: 5\r\n",
		"list of lengths":   "Content-Length: 5, 5\r\n",
		"sign":              "Content-Length: +5\r\n",
		"two codings":       "Transfer-Encoding: gzip, chunked\r\n",
		"blank before it":   "Content-Length : 5\r\n",
		"no name":           ": 5\r\n",
		"folded":            "X: a\r\n b\r\n",
		"no colon":          "X\r\n",
		"length as a float": "Content-Length: 5.0\r\n",
	} {
		_, r := wire(t, e, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"+fields+"\r\nhello")
		if status, last, err := head(r); err != nil || status != 400 || !last {
			t.Errorf("%s: %d %t %v", name, status, last, err)
		}
	}
	for _, line := range []string{"POST", "POST /", "POST / HTTP/2", " / HTTP/1.1"} {
		_, r := wire(t, e, line+"\r\n\r\n")
		if status, _, err := head(r); err != nil || status != 400 {
			t.Errorf("%q: %d %v", line, status, err)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	e := start(t, Options{})
	e.Set(Behaviour{Fault: Fault{Kind: Silent}})
	_, r := wire(t, e, rawPost(hello))
	e.WaitRequests(1)
	waited := make(chan struct{})
	go func() { e.WaitRequests(2); close(waited) }()
	e.Close()
	<-waited
	rest(r)
	if e.Open() != 0 || e.Inflight() != 0 || e.Aborted() != 0 {
		t.Errorf("open %d, in flight %d, aborted %d", e.Open(), e.Inflight(), e.Aborted())
	}
	e.Close()
}

func TestResetEndsWhatRuns(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{BetweenTokens: time.Hour}})
	_, r := wire(t, e, rawPost(helloStream))
	e.WaitRequests(1)
	e.Reset()
	if _, err := rest(r); !isReset(err) {
		t.Errorf("ended with %v", err)
	}
	if a := do(t, client(t), "GET", e.URL()+"/health", ""); a.status != 200 {
		t.Errorf("%+v", a)
	}
}

func TestNoRecord(t *testing.T) {
	e := start(t, Options{NoRecord: true})
	c := client(t)
	for range 3 {
		post(t, c, e.URL()+"/v1/chat/completions", hello)
	}
	if e.Received() != 3 || len(e.Requests()) != 0 {
		t.Errorf("received %d, kept %d", e.Received(), len(e.Requests()))
	}
}
