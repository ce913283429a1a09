package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

const (
	responses = "/v1/responses"
	messages  = "/v1/messages"
)

// Test that what a response goes on from decides where it goes, learned from a whole answer and from a stream.
func TestC095_ResponseChains(t *testing.T) {
	var engines []*sim.Engine
	var urls []string
	for range 4 {
		e := engine(t, sim.Behaviour{})
		engines, urls = append(engines, e), append(urls, e.URL())
	}
	g := gatewaytest.Start(t, open("", "", urls...))
	asked := func() (counts []int) {
		for _, e := range engines {
			counts = append(counts, e.Received())
		}
		return counts
	}
	for _, stream := range []string{"false", "true"} {
		before := asked()
		a := g.Post(responses, `{"model": "m", "stream": `+stream+`, "store": true, "input": "one"}`)
		id := responseID(t, a.Body)
		for turn := range 8 {
			a = g.Post(responses, fmt.Sprintf(`{"model": "m", "stream": %s, "store": true, "input": "turn %d", "previous_response_id": %q}`, stream, turn, id))
			if a.Status != 200 {
				t.Fatalf("stream %s, turn %d: %d %s", stream, turn, a.Status, a.Body)
			}
			id = responseID(t, a.Body)
		}
		first := -1
		for i, n := range asked() {
			switch n - before[i] {
			case 0:
			case 9:
				first = i
			default:
				t.Errorf("stream %s: engine %d got %d of the 9 requests of one chain", stream, i, n-before[i])
			}
		}
		// Reading and deleting the response go there, too.
		for _, ask := range []struct{ method, path string }{{"GET", ""}, {"GET", "/input_items?limit=2"}, {"DELETE", ""}} {
			n := engines[first].Received()
			a := g.Do(ask.method, responses+"/"+id+ask.path, "")
			if engines[first].Received() != n+1 {
				t.Errorf("%s %s went elsewhere: %d %s", ask.method, ask.path, a.Status, a.Body)
			}
		}
	}
}

func responseID(t *testing.T, body string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `"id":"resp`)
	if !ok {
		t.Fatalf("no response id in %s", body)
	}
	id, _, _ := strings.Cut(rest, `"`)
	return "resp" + id
}

// Test that a chain whose instance is gone goes on to whoever is there, whose answer reaches the client.
func TestC095_InstanceGone(t *testing.T) {
	a, b := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", a.URL()))
	id := responseID(t, g.Post(responses, `{"model": "m", "store": true, "input": "one"}`).Body)
	g.Reload(open("", "", b.URL()))
	got := g.Post(responses, fmt.Sprintf(`{"model": "m", "input": "two", "previous_response_id": %q}`, id))
	if got.Status != 404 || b.Received() != 1 {
		t.Errorf("%d %s, after %d requests", got.Status, got.Body, b.Received())
	}
}

// Test that a response is as hidden as the route that made it.
func TestResponsesAreHidden(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, fmt.Sprintf(`{"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q}]}], "routes": [
		{"name": "alices", "access_policy": "allowed_users", "allowed_users": ["alice"], "targets": [{"model": "m"}]},
		{"name": "bobs", "access_policy": "allowed_users", "allowed_users": ["bob"], "targets": [{"model": "m"}]}],
		"api_keys": [{"name": "a", "user": "alice", "sha256": "%x"}, {"name": "b", "user": "bob", "sha256": "%x"}]}`,
		e.URL(), sum("alice-key"), sum("bob-key")))
	id := responseID(t, g.Post(responses, `{"model": "alices", "store": true, "input": "one"}`, "Authorization", "Bearer alice-key").Body)
	n := e.Received()
	for name, test := range map[string]struct {
		answer gatewaytest.Answer
		status int
		code   string
	}{
		"reading it":              {g.Do("GET", responses+"/"+id, "", "Authorization", "Bearer bob-key"), 404, "response_not_found"},
		"deleting it":             {g.Do("DELETE", responses+"/"+id, "", "Authorization", "Bearer bob-key"), 404, "response_not_found"},
		"without a key":           {g.Do("GET", responses+"/"+id, ""), 401, "invalid_api_key"},
		"one that does not exist": {g.Do("GET", responses+"/resp_none", "", "Authorization", "Bearer bob-key"), 404, "response_not_found"},
		"a strange path":          {g.Do("GET", responses+"/"+id+"/%3Fx=1", "", "Authorization", "Bearer alice-key"), 404, "response_not_found"},
		"going on from it": {g.Post(responses, fmt.Sprintf(`{"model": "bobs", "input": "two", "previous_response_id": %q}`, id), "Authorization", "Bearer bob-key"),
			400, "previous_response_not_found"},
	} {
		if test.answer.Status != test.status || test.answer.Error("code") != test.code {
			t.Errorf("%s: %d %s", name, test.answer.Status, test.answer.Body)
		}
	}
	if e.Received() != n {
		t.Error("the engine was asked")
	}
	if a := g.Do("GET", responses+"/"+id, "", "Authorization", "Bearer alice-key"); a.Status != 200 {
		t.Errorf("its own caller: %d %s", a.Status, a.Body)
	}
	if a := g.Do("PUT", responses+"/"+id, "", "Authorization", "Bearer alice-key"); a.Status != 405 || a.Header.Get("Allow") != "GET, HEAD, POST, DELETE" {
		t.Errorf("PUT: %d %v", a.Status, a.Header)
	}
}

// Test that a stream which begins with an error goes elsewhere where the route looks for that, and passes where not.
func TestC026_ErrorAsTheFirstEvent(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	created := "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n"
	failure := "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"overloaded\"}\n\n"
	bad := answering(t, chunked("Content-Type: text/event-stream\r\n", created, failure))
	good := engine(t, sim.Behaviour{})
	body := `{"model": "m", "stream": true, "input": "hello"}`
	route := func(peek bool, more string) string {
		return fmt.Sprintf(`{"models": [{"name": "bad", "instances": [{"name": "bad-1", "url": %q}]}, {"name": "good", "instances": [{"name": "good-1", "url": %q}]}],
			"routes": [{"name": "m", "access_policy": "public", "retry": {"peek_first_event": %v}, "targets": [{"model": "bad"}%s]}]}`, bad, good.URL(), peek, more)
	}
	fallback := `, {"model": "good", "fallback_status_codes": ["5xx"]}`

	g := gatewaytest.Start(t, route(false, fallback))
	if a := g.Post(responses, body); a.Body != created+failure || a.Err != nil {
		t.Errorf("without a peek: %q %v", a.Body, a.Err)
	}
	if l := g.WaitRequests(1)[0]; l["outcome"] != "upstream_error" || l["status"] != 200.0 {
		t.Errorf("access log: %v", l)
	}

	g.Reload(route(true, fallback))
	a := g.Post(responses, body)
	if a.Status != 200 || strings.Contains(a.Body, "overloaded") || strings.Count(a.Body, "event: response.created\n") != 1 || !strings.Contains(a.Body, "response.completed") {
		t.Errorf("with a peek and a fallback: %d %q", a.Status, a.Body)
	}
	if l := g.WaitRequests(2)[1]; l["outcome"] != "ok" || l["attempts"] != 2.0 || l["fallback"] != true {
		t.Errorf("access log: %v", l)
	}

	g.Reload(route(true, ""))
	if a := g.Post(responses, body); a.Status != 200 || a.Body != created+failure {
		t.Errorf("with a peek and nobody else: %d %q", a.Status, a.Body)
	}
	if l := g.WaitRequests(3)[2]; l["outcome"] != "upstream_error" {
		t.Errorf("access log: %v", l)
	}

	// A first event that says something is passed on, with all that came before it, and once.
	pieces := []string{": hello\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"}
	passes := make(chan struct{})
	slow := upstream(t, func(_ int, c *net.TCPConn) {
		if read(bufio.NewReader(c)) == nil {
			return
		}
		io.WriteString(c, head)
		for _, p := range pieces {
			fmt.Fprintf(c, "%x\r\n%s\r\n", len(p), p)
		}
		<-passes
		io.WriteString(c, "0\r\n\r\n")
	})
	g.Reload(open("", `"retry": {"peek_first_event": true}`, slow))
	c, r := send(t, g, post(chat, streamBody))
	defer c.Close()
	want := strings.Join(pieces, "")
	var got strings.Builder
	for !strings.Contains(got.String(), "content\":\"x\"") {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
		got.WriteString(line)
	}
	close(passes)
	for !strings.HasSuffix(got.String(), "0\r\n\r\n") {
		b, err := r.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
		got.WriteByte(b)
	}
	if !strings.Contains(got.String(), want[:20]) || strings.Count(got.String(), "role") != 1 {
		t.Errorf("%q", got.String())
	}
}

// Test that a silent stream gets heartbeats, in the shape of its API, and never inside an event.
func TestHeartbeats(t *testing.T) {
	for _, test := range []struct{ path, body, beat string }{
		{chat, streamBody, ": still running\n\n"},
		{responses, `{"model": "m", "stream": true, "input": "x"}`, ": still running\n\n"},
		{messages, `{"model": "m", "stream": true, "messages": []}`, "event: ping\ndata: {\"type\": \"ping\"}\n\n"},
	} {
		inside, after := make(chan struct{}), make(chan struct{})
		url := upstream(t, func(n int, c *net.TCPConn) {
			r := bufio.NewReader(c)
			if read(r) == nil {
				return
			}
			piece := func(p string) { fmt.Fprintf(c, "%x\r\n%s\r\n", len(p), p) }
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
			if n > 0 {
				read(r) // silent until the client has gone
				return
			}
			<-inside // silent after the head: a heartbeat may come
			piece("data: {\"half\":")
			<-after // silent inside an event: none may come
			piece("true}\n\n")
			io.WriteString(c, "0\r\n\r\n")
		})
		g := gatewaytest.Start(t, open("", `"heartbeat": "20ms"`, url))
		_, r := send(t, g, post(test.path, test.body))
		var got strings.Builder
		until := func(text string) {
			t.Helper()
			for !strings.HasSuffix(got.String(), text) {
				b, err := r.ReadByte()
				if err != nil {
					t.Fatalf("%s: %v after %q", test.path, err, got.String())
				}
				got.WriteByte(b)
			}
		}
		until(strings.ReplaceAll(test.beat, "\r", ""))
		close(inside)
		until("data: {\"half\":")
		got.Reset()
		// Meanwhile another stream, silent between two events, gets several.
		_, other := send(t, g, post(test.path, test.body))
		for beats := 0; beats < 5; {
			line, err := other.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, strings.SplitAfter(test.beat, "\n")[0]) {
				beats++
			}
		}
		close(after)
		until("true}\n\n")
		if strings.Contains(got.String(), test.beat) {
			t.Errorf("%s: a heartbeat inside an event: %q", test.path, got.String())
		}
		until("0\r\n\r\n")
	}
}

// Test that what an answer says of tokens is in the log, however it came.
func TestC118_UsageIsRead(t *testing.T) {
	e := engine(t, sim.Behaviour{Text: "one two three four", Cached: 1})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for _, ask := range []struct{ path, body string }{
		{chat, chatBody},
		{chat, `{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "Say hello."}]}`},
		{responses, `{"model": "m", "input": "Say hello."}`},
		{responses, `{"model": "m", "stream": true, "input": "Say hello."}`},
		{messages, `{"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Say hello."}]}`},
		{messages, `{"model": "m", "max_tokens": 50, "stream": true, "messages": [{"role": "user", "content": "Say hello."}]}`},
	} {
		before := len(g.Requests())
		if a := g.Post(ask.path, ask.body); a.Status != 200 {
			t.Fatalf("%s: %d %s", ask.body, a.Status, a.Body)
		}
		l := g.WaitRequests(before + 1)[before]
		if l["output_tokens"] != 4.0 || l["input_tokens"] == nil || l["cached_tokens"] != 1.0 {
			t.Errorf("%s %s: %v", ask.path, ask.body, l)
		}
	}
	for path, body := range map[string]string{
		"/v1/completions":          `{"model": "m", "prompt": "Say hello."}`,
		"/v1/embeddings":           `{"model": "m", "input": "Say hello."}`,
		"/v1/rerank":               `{"model": "m", "query": "hello", "documents": ["Say hello.", "Say nothing."]}`,
		"/v1/score":                `{"model": "m", "text_1": "hello", "text_2": ["Say hello."]}`,
		"/v1/images/generations":   `{"model": "m", "prompt": "hello"}`,
		"/v1/audio/transcriptions": "",
	} {
		before := len(g.Requests())
		headers := []string{}
		if body == "" {
			body, headers = form(field("model", "m"), file("file", "hello")), []string{"Content-Type", xyz}
		}
		if a := g.Post(path, body, headers...); a.Status != 200 {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		if l := g.WaitRequests(before + 1)[before]; l["input_tokens"] == nil || l["input_tokens"] == 0.0 {
			t.Errorf("%s: %v", path, l)
		}
	}
	// A stream whose client did not ask for usage says nothing of it.
	before := len(g.Requests())
	g.Post(chat, streamBody)
	if l := g.WaitRequests(before + 1)[before]; l["output_tokens"] != nil {
		t.Errorf("%v", l)
	}
}
