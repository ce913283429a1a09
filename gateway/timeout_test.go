package gateway_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// Connecting, the first byte and the gaps between bytes have limits of their own, and a route may have others than the
// file. The whole has none. Times are scaled down by ten.
func TestC105ALimitForEachPart(t *testing.T) {
	prefill := engine(t, sim.Behaviour{HeadDelay: 800 * time.Millisecond})
	prefilled := engine(t, sim.Behaviour{FirstToken: 800 * time.Millisecond})
	gaps := engine(t, sim.Behaviour{Tokens: 12, BetweenTokens: 100 * time.Millisecond})
	gap := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 3}})
	late := engine(t, sim.Behaviour{HeadDelay: time.Hour})
	early := engine(t, sim.Behaviour{FirstToken: time.Hour}) // its head comes at once
	const patient = `{"connect": "300ms", "first_byte": "20s", "idle": "20s"}`
	route := func(name, timeouts string) string {
		return fmt.Sprintf(`{"name": %q, "access_policy": "public", "targets": [{"model": %q}], "timeouts": %s}`, name, name, timeouts)
	}
	model := func(name, url string) string {
		return fmt.Sprintf(`{"name": %q, "instances": [{"name": "%s-1", "url": %q}]}`, name, name, url)
	}
	g := gatewaytest.Start(t, fmt.Sprintf(`{"models": [%s, %s, %s, %s, %s, %s], "routes": [%s, %s, %s, %s, %s, %s],
		"defaults": {"timeouts": {"connect": "300ms", "first_byte": "300ms", "idle": "300ms"}, "retry": {"max_attempts": 1}}}`,
		model("prefill", prefill.URL()), model("prefilled", prefilled.URL()), model("gaps", gaps.URL()), model("gap", gap.URL()), model("late", late.URL()), model("early", early.URL()),
		route("prefill", patient), route("prefilled", patient), route("gaps", `{"idle": "20s"}`), route("gap", "{}"), route("late", "{}"), route("early", "{}")))
	for _, c := range []struct {
		model         string
		status        int
		broken        bool
		outcome, code string
	}{
		{"prefill", 200, false, "ok", ""},          // the first byte is waited for longer than a connection is
		{"prefilled", 200, false, "ok", ""},        // and not only for the head
		{"gaps", 200, false, "ok", ""},             // in all longer than any limit of the file
		{"gap", 200, true, "upstream_aborted", ""}, // the limit on a gap is met after the head has gone down
		{"late", 504, false, "upstream_error", "upstream_timeout"},
		{"early", 200, true, "upstream_aborted", ""}, // an early head does not end the wait for the first byte
	} {
		before := len(g.Requests())
		a := g.Post(chat, strings.Replace(streamBody, `"m"`, `"`+c.model+`"`, 1))
		if a.Status != c.status || (a.Err != nil) != c.broken || a.Error("code") != c.code {
			t.Errorf("%s: %d %q %v", c.model, a.Status, a.Body, a.Err)
		}
		if strings.HasSuffix(a.Body, "[DONE]\n\n") != (c.outcome == "ok") {
			t.Errorf("%s: the stream ends in %q", c.model, a.Body)
		}
		if l := g.WaitRequests(before + 1)[before]; l["outcome"] != c.outcome {
			t.Errorf("%s: access log: %v", c.model, l)
		}
	}
	for _, e := range []*sim.Engine{gap, late, early} {
		g.Eventually("the connection is closed", func() bool { return e.Aborted() == 1 })
	}
}

// A steady stream outlives every limit there is, in both directions, three times over.
func TestC106SteadyStreamsAreNotCut(t *testing.T) {
	e := engine(t, sim.Behaviour{Tokens: 60, BetweenTokens: 30 * time.Millisecond})
	g := gatewaytest.Start(t, open("", `"timeouts": {"connect": "500ms", "first_byte": "500ms", "idle": "500ms", "client_stall": "500ms"},
		"retry": {"deadline": "500ms"}`, e.URL()),
		gatewaytest.Limits(gateway.Limits{Request: 500 * time.Millisecond, Idle: 500 * time.Millisecond, Stall: 500 * time.Millisecond}))
	for _, path := range []string{chat, "/v1/messages"} {
		a := g.Post(path, `{"model": "m", "stream": true, "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}`)
		end := "data: [DONE]\n\n"
		if path != chat {
			end = "\"message_stop\"}\n\n"
		}
		if a.Status != 200 || a.Err != nil || !strings.HasSuffix(a.Body, end) {
			t.Errorf("%s: %d %v ...%q", path, a.Status, a.Err, a.Body[max(0, len(a.Body)-100):])
		}
	}
}

// An upstream that takes a request and never answers costs the first-byte limit: then the answer is 504 or a fallback's,
// the connection is closed and the place is free.
func TestC109ASilentUpstream(t *testing.T) {
	silent, well := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}}), engine(t, sim.Behaviour{})
	const routes = `{
		"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q, "max_inflight": 1}]}, {"name": "other", "instances": [{"name": "o-1", "url": %q}]}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}%s], "timeouts": {"first_byte": "200ms"}}],
		"defaults": {"health": {"unhealthy_threshold": 1000}}}`
	for _, body := range []string{chatBody, streamBody} {
		before := silent.Received()
		g := gatewaytest.Start(t, fmt.Sprintf(routes, silent.URL(), well.URL(), ""))
		for range 3 { // there is one place only: it is given back each time
			if a := g.Post(chat, body); a.Status != 504 || a.Error("code") != "upstream_timeout" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			if n := g.Inflight(silent.URL()); n != 0 {
				t.Errorf("%d in flight after the answer", n)
			}
		}
		g.Reload(fmt.Sprintf(routes, silent.URL(), well.URL(), `, {"model": "other", "fallback_status_codes": ["5xx"]}`))
		if a := g.Post(chat, body); a.Status != 200 || a.Err != nil {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if n := silent.Received() - before; n != 4 {
			t.Errorf("the silent engine was asked %d times", n)
		}
	}
	gatewaytest.Eventually(t, "every connection to the silent engine is closed", func() bool { return silent.Aborted() == 8 && silent.Open() == 0 })
}

// loopback6 skips a test where IPv6 is off.
func loopback6(t testing.TB) *sim.Engine {
	t.Helper()
	e, err := sim.Start("[::1]:0", sim.Options{})
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestC110InstancesOnIPv6(t *testing.T) {
	e := loopback6(t)
	_, port, _ := net.SplitHostPort(e.Addr())
	resolveTo(t, map[string]net.IP{"six.example.": net.IPv6loopback})
	for _, host := range []string{"[::1]", "[0:0:0:0:0:0:0:1]", "six.example"} {
		g := gatewaytest.Start(t, open("", "", "http://"+host+":"+port))
		if a := g.Post(chat, chatBody); a.Status != 200 {
			t.Errorf("%s: %d %s %v\n%s", host, a.Status, a.Body, a.Err, g.Log())
		}
		all := e.Requests()
		if got := all[len(all)-1].Get("Host"); got != host+":"+port {
			t.Errorf("%s: Host: %s", host, got)
		}
	}
}

// resolveTo answers the process's DNS queries for the length of a test: names to an address of one family, everything
// else to nothing.
func resolveTo(t testing.TB, names map[string]net.IP) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buf := make([]byte, 512); ; {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(dnsAnswer(buf[:n], names), from)
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		pc.Close()
		<-done
	})
}

// dnsAnswer answers a query (RFC 1035, section 4.1).
func dnsAnswer(query []byte, names map[string]net.IP) []byte {
	var name strings.Builder
	at := 12
	for query[at] != 0 {
		n := int(query[at])
		name.Write(query[at+1 : at+1+n])
		name.WriteByte('.')
		at += n + 1
	}
	question := query[12 : at+5]
	ip := names[name.String()]
	if kind := binary.BigEndian.Uint16(query[at+1:]); kind == 1 {
		ip = ip.To4()
	} else if kind != 28 || ip.To4() != nil {
		ip = nil
	}
	answers := byte(0)
	if ip != nil {
		answers = 1
	}
	a := append([]byte{query[0], query[1], 0x85, 0x80, 0, 1, 0, answers, 0, 0, 0, 0}, question...)
	if ip != nil {
		a = append(a, 0xc0, 12, question[len(question)-4], question[len(question)-3], 0, 1, 0, 0, 0, 60, 0, byte(len(ip)))
		a = append(a, ip...)
	}
	return a
}

// blackHole is an address where connecting takes for ever: the queue of a listener that accepts nothing is full.
func blackHole(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for range 16 {
		c, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		if err != nil {
			return "http://" + addr
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("this kernel makes room for every connection")
	return ""
}

func TestC110ABlackHole(t *testing.T) {
	hole, well := blackHole(t), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", `"timeouts": {"connect": "200ms"}`, hole, well.URL()))
	for range 4 { // half of them begin at the hole
		if a := g.Post(chat, chatBody); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	attempts := 0.0
	for _, l := range g.WaitRequests(4) {
		attempts += l["attempts"].(float64)
	}
	if attempts < 5 {
		t.Errorf("%v attempts: the hole was never tried", attempts)
	}
	g = gatewaytest.Start(t, open("", `"timeouts": {"connect": "200ms"}`, hole))
	if a := g.Post(chat, chatBody); a.Status != 503 || a.Error("code") != "upstream_unreachable" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// The limit on connecting holds for the handshake of TLS as well: a listener that says nothing is a black hole to it.
func TestC110ASilentHandshake(t *testing.T) {
	up := upstream(t, func(_ int, c *net.TCPConn) { _, _ = io.Copy(io.Discard, bufio.NewReader(c)) })
	g := gatewaytest.Start(t, open("", `"timeouts": {"connect": "200ms"}`, strings.Replace(up, "http:", "https:", 1)))
	if a := g.Post(chat, chatBody); a.Status != 503 || a.Error("code") != "upstream_unreachable" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
