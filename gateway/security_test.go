package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// One form of the path decides what is served, who may have it, and what is asked of the upstream.
func TestC126OneFormOfThePath(t *testing.T) {
	up := record(t)
	g := gatewaytest.Start(t, strings.Replace(keyed(up.url), fmt.Sprintf("%q", up.url), fmt.Sprintf("%q", up.url+"/base/v1"), 1))
	const body = `{"model":"mine"}`
	for target, want := range map[string]int{
		"/v1/chat/completions": 200, "//v1/chat/completions": 200, "/v1//chat//completions": 200, "/%76%31/chat/completions": 200,
		"/v1/chat%2fcompletions": 200, "/v1/x/../chat/completions": 200, "/./v1/./chat/completions": 200, "/v1/%2e%2e/v1/chat/completions": 200,
		"/../v1/chat/completions": 200, "/v1/chat/completions/": 200, "/v1/chat/completions?x=/../y": 200, "/v1/chat/completions#x": 200,
		"http://gateway/v1/chat/completions": 200, "http://evil.example/v1/chat/completions": 200, "https://evil.example:444/v1/chat/completions": 200,
		"/V1/chat/completions": 404, "/v1/Chat/completions": 404, "/v1/chat/completions/..": 404, "/v1/chat/completions/x": 404, "/v1/../admin//x%2f..%2fy": 404,
		"/v1/../admin": 404, "/v1/chat/completions%00": 404, "/v1/chat/completions%20": 404, "/v1/chat/completions;x": 404, "/v1/chat\\completions": 404,
		"/v1/chat/completions%2f..%2f..%2f..%2fadmin": 404, "/v1/chat/completions%252f": 404, "/v1/v1/chat/completions": 404, "/v2/chat/completions": 404,
		"/base/v1/chat/completions": 404, "/v1/health": 404, "/metrics": 404, "http://evil.example/admin": 404,
	} {
		for _, k := range []string{aliceKey, unknownKey} {
			a := ask(t, g, request("POST", target, "application/json", body, "Authorization: Bearer "+k))
			if a.Status != want && (k == aliceKey || want != 200 || a.Status != 401) {
				t.Errorf("%s with %s: %d %s %v", target, k, a.Status, a.Body, a.Err)
			}
			heads, _ := up.lines()
			if served := len(heads) == 1; served != (want == 200 && k == aliceKey) {
				t.Errorf("%s with %s: the upstream got %q", target, k, heads)
			}
			for _, h := range heads {
				path, _, _ := strings.Cut(strings.TrimPrefix(h, "POST "), "?")
				if path, _, _ = strings.Cut(path, " "); path != "/base/v1/chat/completions" || strings.Contains(h, "evil") {
					t.Errorf("%s: the upstream got %q", target, h)
				}
			}
		}
	}
	// Forms of a target that are for proxies, or for no path at all.
	for _, raw := range []string{
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: gateway\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: gateway\r\n\r\n",
		"GET http://evil.example/ HTTP/1.1\r\nHost: gateway\r\n\r\n", "POST evil HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n",
		"POST /%zz HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n", "GET @evil.example/ HTTP/1.1\r\nHost: gateway\r\n\r\n",
		"GET /v1/models/..%2f..%2fetc HTTP/1.1\r\nHost: gateway\r\n\r\n", "GET /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
	} {
		a := ask(t, g, raw)
		if a.Err != nil || a.Status >= 500 || a.Status < 200 || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %d %v %s %v", raw, a.Status, a.Header, a.Body, a.Err)
		}
		if heads, _ := up.lines(); len(heads) > 0 {
			t.Errorf("%q: the upstream got %q", raw, heads)
		}
	}
}

// The host that a client names in whatever way is nobody's business upstream.
func TestC126TheHostIsTheUpstreams(t *testing.T) {
	up := record(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	authority := strings.TrimPrefix(up.url, "http://")
	for _, raw := range []string{
		"POST http://evil.example/v1/chat/completions HTTP/1.1\r\nHost: other.example\r\nContent-Length: 13\r\n\r\n{\"model\":\"m\"}",
		"POST /v1/chat/completions HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nContent-Length: 13\r\n\r\n{\"model\":\"m\"}",
	} {
		if a := ask(t, g, raw); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if _, hosts := up.lines(); len(hosts) != 1 || hosts[0] != authority {
			t.Errorf("Host: %q", hosts)
		}
	}
}

// lines are the request lines and hosts that came since the last call.
func (r *recorder) lines() (lines, hosts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.came {
		for line := range strings.SplitSeq(b.String(), "\r\n") {
			if strings.HasSuffix(line, " HTTP/1.1") {
				lines = append(lines, line)
			}
			if host, ok := strings.CutPrefix(line, "Host: "); ok {
				hosts = append(hosts, host)
			}
		}
		b.Reset()
	}
	return lines, hosts
}

// expects is a request that waits before it sends its body.
func expects(path string, length int, headers ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n%s\r\n",
		path, length, strings.Join(append(headers, ""), "\r\n"))
}

// private are the routes of keyed without the one that is open to everybody.
func private(url string) string {
	return strings.Replace(keyed(url), `"access_policy": "public"`, `"access_policy": "authed"`, 1)
}

func TestC127NoContinueForWhatIsRefused(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, private(e.URL()))
	auth := "Authorization: Bearer " + aliceKey
	for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
		for _, c := range []struct {
			name, raw string
			status    int
		}{
			{"1 GB", expects(path, 1<<30, auth), 413},
			{"100 GB", expects(path, 100<<30, auth), 413},
			{"no key", expects(path, 100), 401},
			{"bad key", expects(path, 100, "x-api-key: "+unknownKey), 401},
			{"expired key", expects(path, 100, "x-api-key: "+expiredKey), 401},
			{"two keys", expects(path, 100, auth, "x-api-key: "+unknownKey), 401},
			{"no key and 1 GB", expects(path, 1<<30), 413},
			{"no such path", expects(path+"/nothing", 100, auth), 404},
			{"wrong method", strings.Replace(expects(path, 100, auth), "POST", "PUT", 1), 405},
		} {
			conn, r := send(t, g, c.raw)
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			a := answerTo(t, r, "POST")
			if a.Status == 100 || a.Err != nil {
				t.Errorf("%s, %s: %d %v", path, c.name, a.Status, a.Err)
				continue
			}
			if a.Status != c.status {
				t.Errorf("%s, %s: %d %s", path, c.name, a.Status, a.Body)
			}
			readError(t, path, a)
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("%s, %s: the connection goes on: %q %v", path, c.name, rest, err)
			}
			conn.Close()
		}
	}
	if n := e.Received(); n != 0 {
		t.Errorf("the engine was asked %d times", n)
	}
	// A request that will be served is told to go on, is served, and leaves the connection in order.
	conn, r := send(t, g, "")
	_ = conn.SetDeadline(time.Now().Add(patience))
	body := strings.Replace(chatBody, `"m"`, `"mine"`, 1)
	for range 2 {
		if _, err := io.WriteString(conn, expects(chat, len(body), auth)); err != nil {
			t.Fatal(err)
		}
		if a := answerTo(t, r, "POST"); a.Status != 100 {
			t.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
		}
		if _, err := io.WriteString(conn, body); err != nil {
			t.Fatal(err)
		}
		if a := answerTo(t, r, "POST"); a.Status != 200 {
			t.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
		}
	}
	if got := e.Requests()[0]; got.Get("Expect") != "" {
		t.Errorf("Expect: %q crosses", got.Get("Expect"))
	}
	// One that sends its body without waiting is served too, and one of HTTP/1.0 is not told.
	if a := ask(t, g, expects(chat, len(body), auth)+body); a.Status != 100 {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
	}
	if a := ask(t, g, strings.Replace(expects(chat, len(body), auth), "HTTP/1.1", "HTTP/1.0", 1)+body); a.Status != 200 {
		t.Errorf("HTTP/1.0: %d %s %v", a.Status, a.Body, a.Err)
	}
}

// A body that turns out too large after 100, or never comes, is told in the dialect as well.
func TestC127AfterContinue(t *testing.T) {
	g := gatewaytest.Start(t, open(`"defaults": {"max_body_bytes": 1000}`, "", engine(t, sim.Behaviour{}).URL()),
		gatewaytest.Limits(gateway.Limits{Request: 300 * time.Millisecond, MinRate: 1 << 20}))
	for _, path := range []string{chat, "/v1/messages"} {
		for more, want := range map[string]int{"5dc\r\n" + strings.Repeat("x", 1500) + "\r\n0\r\n\r\n": 413, "5\r\n{": 408, "zz\r\n": 400} {
			c, r := send(t, g, "POST "+path+" HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
			_ = c.SetDeadline(time.Now().Add(patience))
			if a := answerTo(t, r, "POST"); a.Status != 100 {
				t.Fatalf("%s: %d %s %v", path, a.Status, a.Body, a.Err)
			}
			if _, err := io.WriteString(c, more); err != nil {
				t.Fatal(err)
			}
			a := answerTo(t, r, "POST")
			if a.Status != want {
				t.Errorf("%s: %d %s %v, want %d", path, a.Status, a.Body, a.Err, want)
			}
			readError(t, path, a)
			c.Close()
		}
	}
}

// Whatever goes wrong, no key and no provider's token shows in a log line or in what a client is told.
func TestSecretsStayOutOfLogsAndErrors(t *testing.T) {
	const token = "sk-provider-0a4411"
	silent := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetBeforeHead}})
	g := gatewaytest.Start(t, fmt.Sprintf(`{
		"providers": [
			{"name": "down", "type": "openai", "endpoint": "%s/v1", "api_token": %[2]q},
			{"name": "cut", "type": "anthropic", "endpoint": "%[3]s/v1", "api_token": %[2]q}],
		"routes": [
			{"name": "down", "targets": [{"provider": "down", "overridden_model_name": "o"}]},
			{"name": "cut", "targets": [{"provider": "cut", "overridden_model_name": "o"}]}],
		"api_keys": [%[4]s]}`, refusing(t), token, silent.URL(), key("alice-laptop", "alice", aliceKey, "")),
		gatewaytest.Limits(gateway.Limits{Request: 300 * time.Millisecond, MinRate: 1 << 20, Head: 2048}))
	auth := []string{"Authorization: Bearer " + aliceKey, "Cookie: s=" + aliceKey, "X-Request-Id: " + aliceKey + " x"}
	var told strings.Builder
	sent := 0
	for _, raw := range []string{
		post(chat, `{"model":"down"}`, auth...), post(chat, `{"model":"cut"}`, auth...), post(chat, `{"model":"nothing"}`, auth...), post(chat, `{`, auth...),
		post("/v1/messages", `{"model":"down"}`, auth...), post(chat+"?api_key="+aliceKey, `{"model":"down"}`, auth...), post("/v1/nothing", `{}`, auth...),
		post(chat, `{"model":"down"}`, "Authorization: Bearer "+aliceKey, "x-api-key: "+unknownKey), post(chat, `{"model":"down"}`, "Authorization: Basic "+unknownKey),
		"POST " + chat + " HTTP/1.1\r\nHost: g\r\n" + auth[0] + "\r\nnothing\r\n\r\n", "POST " + chat + " HTTP/1.1\r\n" + auth[0] + "\r\n\r\n",
		"POST " + chat + " HTTP/1.1\r\nHost: g\r\n" + auth[0] + "\r\nX: " + strings.Repeat("x", 3000) + "\r\n\r\n",
		"POST " + chat + " HTTP/1.1\r\nHost: g\r\n" + auth[0] + "\r\n", "POST " + chat + " HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n" + auth[0] + "\r\n\r\n{",
		expects(chat, 1<<30, auth...),
	} {
		a := ask(t, g, raw)
		if a.Status < 400 {
			t.Errorf("%.60q: %d %s %v", raw, a.Status, a.Body, a.Err)
		}
		fmt.Fprintln(&told, a.Header, a.Body)
		sent++
	}
	g.WaitRequests(sent)
	noSecrets(t, told.String(), token, aliceKey, unknownKey)
	noSecrets(t, g.Log(), token, aliceKey, unknownKey)
	noSecrets(t, fmt.Sprintf("%+v %#v %v", g.Table.Load(), *g.Table.Load(), g.Table.Load().Routes()), token, aliceKey)
}

// Connections beyond the limit are told so, and one that ends makes room.
func TestTooManyConnections(t *testing.T) {
	g := gatewaytest.Start(t, open("", "", engine(t, sim.Behaviour{}).URL()), gatewaytest.Limits(gateway.Limits{Clients: 3}))
	var conns []net.Conn
	for range 3 {
		c, r := send(t, g, post(chat, chatBody))
		if a := answerTo(t, r, "POST"); a.Status != 200 {
			t.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
		}
		conns = append(conns, c)
	}
	for range 5 {
		// The connection is closed unread, so what was sent on it may come back as a reset; the answer came before it.
		c := g.Dial()
		_ = c.SetReadDeadline(time.Now().Add(patience))
		all, _ := io.ReadAll(c)
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(all))), nil)
		if err != nil {
			t.Fatalf("%q %v", all, err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || !strings.HasPrefix(string(body), `{"error":{"message":`) || !resp.Close {
			t.Errorf("%q", all)
		}
		c.Close()
	}
	if n := g.Clients(); n != 3 {
		t.Errorf("%d connections", n)
	}
	conns[0].Close()
	g.Eventually("there is room again", func() bool { return g.Clients() == 2 })
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
	}
}

// Requests sent without waiting are answered one by one, in order, each for itself.
func TestPipelining(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, keyed(e.URL()))
	var all strings.Builder
	want := []int{}
	for i := range 20 {
		id := fmt.Sprintf("X-Request-Id: id-%d", i)
		switch i % 4 {
		case 0:
			all.WriteString(post(chat, `{"model": "mine", "messages": [{"role": "user", "content": "a"}]}`, "x-api-key: "+aliceKey, id))
			want = append(want, 200)
		case 1:
			all.WriteString(post(chat, `{"model": "mine", "messages": []}`, id)) // no key: the last one's does not count
			want = append(want, 401)
		case 2:
			all.WriteString(post(chat, `{"model": "any", "stream": true, "messages": [{"role": "user", "content": "a"}]}`, "Authorization: Bearer "+bobKey, id))
			want = append(want, 200)
		case 3:
			all.WriteString(post(chat, `{"model": "mine", "messages": []}`, "Authorization: Bearer "+bobKey, id))
			want = append(want, 404)
		}
	}
	c, r := send(t, g, all.String())
	_ = c.SetReadDeadline(time.Now().Add(patience))
	for i, status := range want {
		a := answerTo(t, r, "POST")
		if a.Status != status || a.Err != nil || a.Header.Get("X-Request-Id") != fmt.Sprintf("id-%d", i) {
			t.Fatalf("answer %d: %d %v %s %v", i, a.Status, a.Header, a.Body, a.Err)
		}
	}
	if n := e.Received(); n != 10 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// The body of a request that will be refused for its key is not waited for, and no memory is taken for it.
func TestC127AStrangersBodyIsNotRead(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	const large = 50 << 20
	announced := func(headers ...string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: g\r\nContent-Length: %d\r\n%s\r\n{", chat, large, strings.Join(append(headers, ""), "\r\n"))
	}
	g := gatewaytest.Start(t, private(e.URL()))
	chunks := "POST " + chat + " HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		name, raw string
		status    int
		told      string
	}{
		{"no key", announced(), 401, "No API key"},
		{"bad key", announced("x-api-key: " + unknownKey), 401, "not valid"},
		{"expired key", announced("x-api-key: " + expiredKey), 401, "not valid"},
		{"two keys", announced("x-api-key: "+aliceKey, "Authorization: Bearer "+bobKey), 401, "different keys"},
		{"one large chunk", chunks + fmt.Sprintf("%x\r\n{", large), 413, "Without a valid key it is 65536"},
		{"a small chunk", chunks + chunk(`{"model": "mine"}`) + lastChunk, 401, "No API key"},
		{"no key, a body that is not large", post(chat, `{"model": "mine", "x": "`+strings.Repeat("x", 60_000)+`"}`), 401, "No API key"},
	} {
		a := ask(t, g, c.raw)
		if got := readError(t, chat, a); a.Status != c.status || !strings.Contains(got.message, c.told) {
			t.Errorf("%s: %d %s", c.name, a.Status, a.Body)
		}
	}
	body := fmt.Sprintf(`{"model": "mine", "messages": [{"role": "user", "content": %q}]}`, strings.Repeat("x", 1<<20))
	if a := ask(t, g, post(chat, body, "x-api-key: "+aliceKey)); a.Status != 200 {
		t.Errorf("with a key: %d %.200s", a.Status, a.Body)
	}
	g = gatewaytest.Start(t, keyed(e.URL())) // with a route for everybody
	if a := ask(t, g, post(chat, strings.Replace(body, "mine", "open", 1))); a.Status != 200 {
		t.Errorf("without a key on a public route: %d %.200s", a.Status, a.Body)
	}
}
