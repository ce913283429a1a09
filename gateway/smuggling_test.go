package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
)

// recorder is an upstream that keeps what came on each of its connections, byte for byte, and answers every request.
type recorder struct {
	url string

	mu   sync.Mutex
	came []*strings.Builder
}

func record(t testing.TB) *recorder {
	t.Helper()
	r := &recorder{}
	r.url = upstream(t, func(_ int, c *net.TCPConn) {
		b := new(strings.Builder)
		r.mu.Lock()
		r.came = append(r.came, b)
		r.mu.Unlock()
		for br := bufio.NewReader(io.TeeReader(c, locked{&r.mu, b})); read(br) != nil; {
			if _, err := io.WriteString(c, whole("Content-Type: application/json\r\n", `{"served":true}`)); err != nil {
				return
			}
		}
	})
	return r
}

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// requests takes apart what came since the last call, as strictly as it can be done: head lines end in CRLF, and the one
// framing is one Content-Length.
func (r *recorder) requests(t testing.TB) (heads, bodies []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.came {
		rest := b.String()
		b.Reset()
		for rest != "" {
			head, after, ok := strings.Cut(rest, "\r\n\r\n")
			if !ok {
				t.Fatalf("the upstream got no head: %q", rest)
			}
			lengths, length := 0, 0
			for i, line := range strings.Split(head, "\r\n") {
				name, value, ok := strings.Cut(line, ":")
				switch {
				case strings.ContainsAny(line, "\r\n\x00"):
					t.Errorf("the upstream got the line %q", line)
				case i == 0 && (strings.Count(line, " ") != 2 || !strings.HasPrefix(line, "POST /v1/chat/completions") || !strings.HasSuffix(line, " HTTP/1.1")):
					t.Errorf("the upstream got the request line %q", line)
				case i > 0 && (!ok || strings.ContainsAny(name, " \t()\"")):
					t.Errorf("the upstream got the header line %q", line)
				case strings.EqualFold(name, "Content-Length"):
					lengths++
					if n, err := fmt.Sscanf(value, " %d", &length); n != 1 || err != nil {
						t.Errorf("the upstream got %q", line)
					}
				case strings.EqualFold(name, "Transfer-Encoding"), strings.EqualFold(name, "Trailer"), strings.EqualFold(name, "Te"):
					t.Errorf("the upstream got %q", line)
				}
			}
			if lengths != 1 || length > len(after) {
				t.Fatalf("the upstream got %q", rest)
			}
			heads, bodies = append(heads, head), append(bodies, after[:length])
			rest = after[length:]
		}
	}
	return heads, bodies
}

// everything sends bytes and reads all that comes until the gateway closes the connection, or nothing more is to come
// after so many answers.
func everything(t testing.TB, g *gatewaytest.Gateway, raw string, answers int) (statuses []int, closed bool) {
	t.Helper()
	c, r := send(t, g, raw)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	for {
		a := answerTo(t, r, "POST")
		if a.Err != nil {
			return statuses, true
		}
		statuses = append(statuses, a.Status)
		if len(statuses) == answers && !strings.EqualFold(a.Header.Get("Connection"), "close") {
			return statuses, false
		}
	}
}

// smuggled is a request that must never be taken for one.
const smuggled = "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX-Smuggled: 1\r\nContent-Length: 13\r\n\r\n{\"model\":\"m\"}"

// Every request is followed by the smuggled one, in the bytes that one reading of it takes for its body and another for
// what comes next. Whichever the gateway takes, the upstream sees one request, and the connection ends there.
func TestC122AmbiguousFraming(t *testing.T) {
	up := record(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	const line, host, body = "POST /v1/chat/completions HTTP/1.1\r\n", "Host: gateway\r\n", `{"model":"m"}`
	const chunks = "d\r\n" + body + "\r\n0\r\n\r\n"
	head := func(lines ...string) string { return line + host + strings.Join(lines, "\r\n") + "\r\n\r\n" }
	for _, c := range []struct{ name, raw string }{
		{"CL and TE", head("Content-Length: 13", "Transfer-Encoding: chunked") + chunks},
		{"TE and CL", head("Transfer-Encoding: chunked", "Content-Length: 13") + chunks},
		{"CL of all and TE", head(fmt.Sprintf("Content-Length: %d", len(chunks)+len(smuggled)), "Transfer-Encoding: chunked") + chunks},
		{"CL and TE that is none", head("Content-Length: 13", "Transfer-Encoding: identity") + body},
		{"CL and TE unknown", head("Content-Length: 13", "Transfer-Encoding: xchunked") + body},
		{"CL and TE with a space", head("Content-Length: 13", "Transfer-Encoding : chunked") + body},
		{"CL and TE with a tab", head("Content-Length: 13", "Transfer-Encoding:\x0bchunked") + body},
		{"CL and empty TE", head("Content-Length: 13", "Transfer-Encoding:") + body},
		{"CL and folded TE", head("Content-Length: 13", "Transfer-Encoding:\r\n chunked") + chunks},
		{"CL and TE behind a bare CR", head("Content-Length: 13", "X: y\rTransfer-Encoding: chunked") + body},
		{"CL and TE behind a bare LF", head("Content-Length: 13", "X: y\nTransfer-Encoding: chunked") + chunks},
		{"CL and TE behind a NUL", head("Content-Length: 13", "X: y\x00", "Transfer-Encoding: chunked") + chunks},
		{"two CLs", head("Content-Length: 13", "Content-Length: 0") + body},
		{"two CLs turned round", head("Content-Length: 0", "Content-Length: 13") + body},
		{"two equal CLs", head("Content-Length: 13", "Content-Length: 13") + body},
		{"CL list", head("Content-Length: 13, 13") + body},
		{"CL list of two", head("Content-Length: 13, 0") + body},
		{"CL with a plus", head("Content-Length: +13") + body},
		{"CL with a minus", head("Content-Length: -13") + body},
		{"CL in hex", head("Content-Length: 0xd") + body},
		{"CL with an underscore", head("Content-Length: 1_3") + body},
		{"CL with a fraction", head("Content-Length: 13.0") + body},
		{"CL beyond int64", head("Content-Length: 18446744073709551629") + body},
		{"empty CL", head("Content-Length:") + body},
		{"CL with a space before the colon", head("Content-Length : 13") + body},
		{"CL with a space in front", line + " Content-Length: 13\r\n" + host + "\r\n" + body},
		{"TE twice", head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + chunks},
		{"TE twice, once none", head("Transfer-Encoding: chunked", "Transfer-Encoding: identity") + chunks},
		{"TE list", head("Transfer-Encoding: chunked, chunked") + chunks},
		{"TE list with none", head("Transfer-Encoding: identity, chunked") + chunks},
		{"TE list ending otherwise", head("Transfer-Encoding: chunked, identity") + chunks},
		{"TE gzip and chunked", head("Transfer-Encoding: gzip, chunked") + chunks},
		{"TE quoted", head("Transfer-Encoding: \"chunked\"") + chunks},
		{"TE with a parameter", head("Transfer-Encoding: chunked;q=1") + chunks},
		{"TE on HTTP/1.0", "POST /v1/chat/completions HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n" + chunks},
		{"chunk size with a plus", head("Transfer-Encoding: chunked") + "+d\r\n" + body + "\r\n0\r\n\r\n"},
		{"chunk size with 0x", head("Transfer-Encoding: chunked") + "0xd\r\n" + body + "\r\n0\r\n\r\n"},
		{"chunk size negative", head("Transfer-Encoding: chunked") + "-d\r\n" + body + "\r\n0\r\n\r\n"},
		{"chunk size too large", head("Transfer-Encoding: chunked") + "1000000000000000d\r\n" + body + "\r\n0\r\n\r\n"},
		{"chunk size empty", head("Transfer-Encoding: chunked") + "\r\n" + body + "\r\n0\r\n\r\n"},
		{"chunk longer than said", head("Transfer-Encoding: chunked") + "c\r\n" + body + "\r\n0\r\n\r\n"},
		{"chunk size ends in LF", head("Transfer-Encoding: chunked") + "d\n" + body + "\r\n0\r\n\r\n"},
		{"chunk ends in LF", head("Transfer-Encoding: chunked") + "d\r\n" + body + "\n0\r\n\r\n"},
		{"LF in a chunk extension", head("Transfer-Encoding: chunked") + "d;a\nb\r\n" + body + "\r\n0\r\n\r\n"},
		{"CR in a chunk extension", head("Transfer-Encoding: chunked") + "d;a\rb\r\n" + body + "\r\n0\r\n\r\n"},
		{"two hosts", line + host + "Host: evil\r\nContent-Length: 13\r\n\r\n" + body},
		{"no host", line + "Content-Length: 13\r\n\r\n" + body},
		{"NUL in a name", head("X\x00Y: z", "Content-Length: 13") + body},
		{"colon in front", head(": z", "Content-Length: 13") + body},
		{"no colon", head("Content-Length 13", "Content-Length: 13") + body},
		{"two spaces in the request line", "POST  /v1/chat/completions HTTP/1.1\r\n" + host + "Content-Length: 13\r\n\r\n" + body},
		{"tab in the request line", "POST\t/v1/chat/completions HTTP/1.1\r\n" + host + "Content-Length: 13\r\n\r\n" + body},
		{"space in the query", "POST /v1/chat/completions?a b HTTP/1.1\r\n" + host + "Content-Length: 13\r\n\r\n" + body},
		{"version in the query", "POST /v1/chat/completions?a HTTP/1.1 HTTP/1.1\r\n" + host + "Content-Length: 13\r\n\r\n" + body},
		{"CR in the query", "POST /v1/chat/completions?a\rX: HTTP/1.1\r\n" + host + "Content-Length: 13\r\n\r\n" + body},
		{"NUL in the query", "POST /v1/chat/completions?a\x00b HTTP/1.1\r\n" + host + "Content-Length: 13\r\n\r\n" + body},
		{"tab in the query", "POST /v1/chat/completions?a\tb HTTP/1.1\r\n" + host + "Content-Length: 13\r\n\r\n" + body},
	} {
		statuses, closed := everything(t, g, c.raw+smuggled, 2)
		heads, bodies := up.requests(t)
		refused := len(statuses) == 1 && statuses[0] >= 400 && statuses[0] < 500
		if !closed || len(statuses) != 1 || refused != (len(heads) == 0) || !refused && statuses[0] != 200 {
			t.Errorf("%s: %d, closed %v, the upstream got %d requests", c.name, statuses, closed, len(heads))
		}
		for i := range heads {
			if strings.Contains(heads[i], "X-Smuggled") || bodies[i] != `{"model":"served"}` {
				t.Errorf("%s: the upstream got %q %q", c.name, heads[i], bodies[i])
			}
		}
	}
}

// What has one reading only is served, and the next request of the connection as well.
func TestC122PlainFraming(t *testing.T) {
	up := record(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	const line, body = "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n", `{"model":"m"}`
	const chunked = line + "Transfer-Encoding: chunked\r\n\r\n"
	for name, raw := range map[string]string{
		"length":                   line + "Content-Length: 13\r\n\r\n" + body,
		"chunks":                   chunked + "d\r\n" + body + "\r\n0\r\n\r\n",
		"many chunks":              chunked + "1\r\n{\r\n2\r\n\"m\r\n0a\r\nodel\":\"m\"}\r\n000\r\n\r\n",
		"upper case":               line + "TRANSFER-ENCODING: Chunked\r\n\r\nD\r\n" + body + "\r\n0\r\n\r\n",
		"extension":                chunked + "d;name=value\r\n" + body + "\r\n0;last\r\n\r\n",
		"folded length":            line + "Content-Length:\r\n 13\r\n\r\n" + body, // RFC 9112, section 5.2: a space
		"space behind a size":      chunked + "d \r\n" + body + "\r\n0\r\n\r\n",
		"space in a name":          line + "X Y: z\r\nContent-Length: 13\r\n\r\n" + body, // does not cross
		"trailers":                 chunked + "d\r\n" + body + "\r\n0\r\nX-Checksum: 1\r\n\r\n",
		"a line in front":          "\r\n" + line + "Content-Length: 13\r\n\r\n" + body,
		"white space about values": line + "Content-Length: \t 13 \t\r\n\r\n" + body,
		"query":                    strings.Replace(line, " HTTP", "?a=b&c=%0d%0aX:%20y&d=\xc3\xa9 HTTP", 1) + "Content-Length: 13\r\n\r\n" + body,
	} {
		c, r := send(t, g, raw+raw)
		_ = c.SetReadDeadline(time.Now().Add(patience))
		for range 2 {
			if a := answerTo(t, r, "POST"); a.Status != 200 || a.Body != `{"served":true}` {
				t.Errorf("%s: %d %s %v", name, a.Status, a.Body, a.Err)
			}
		}
		c.Close()
		heads, bodies := up.requests(t)
		if len(heads) != 2 || bodies[0] != `{"model":"served"}` || bodies[1] != bodies[0] {
			t.Errorf("%s: the upstream got %q %q", name, heads, bodies)
		}
		for _, h := range heads {
			if strings.Contains(h, "\nX: y") || strings.Contains(h, "X-Checksum") {
				t.Errorf("%s: the upstream got %q", name, h)
			}
		}
	}
}

// What stands behind the body is no header: not a credential, not a framing, not a session.
func TestC122TrailersCountForNothing(t *testing.T) {
	up := record(t)
	g := gatewaytest.Start(t, keyed(up.url))
	for _, trailer := range []string{
		"Authorization: Bearer " + aliceKey, "x-api-key: " + aliceKey, "X-API-KEY: " + aliceKey, "X-Request-Id: trailed", "Content-Encoding: br",
		"Content-Length: 3", "Transfer-Encoding: chunked", "Host: evil", "Anthropic-Version: 1", "Expect: 100-continue",
	} {
		for _, announced := range []string{"", "Trailer: " + strings.Split(trailer, ":")[0] + "\r\n"} {
			raw := "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n" + announced +
				"Transfer-Encoding: chunked\r\n\r\n10\r\n{\"model\":\"mine\"}\r\n0\r\n" + trailer + "\r\n\r\n"
			a := ask(t, g, raw)
			if a.Status != 401 && a.Status != 400 || a.Header.Get("X-Request-Id") == "trailed" {
				t.Errorf("%s: %d %s", trailer, a.Status, a.Body)
			}
		}
	}
	if heads, _ := up.requests(t); len(heads) > 0 {
		t.Errorf("the upstream got %q", heads)
	}
}

// A body of a request that takes none is not the next request.
func TestC122ABodyNobodyAskedFor(t *testing.T) {
	up := record(t)
	g := gatewaytest.Start(t, open("", "", up.url))
	for _, start := range []string{"GET /v1/models", "HEAD /", "GET /nothing", "OPTIONS /v1/chat/completions", "DELETE /v1/models", "TRACE /"} {
		for _, framing := range []string{
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(smuggled), smuggled),
			fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled),
		} {
			statuses := []int{}
			c, r := send(t, g, start+" HTTP/1.1\r\nHost: gateway\r\n"+framing+"GET /v1/models HTTP/1.1\r\nHost: gateway\r\n\r\n")
			_ = c.SetReadDeadline(time.Now().Add(patience))
			for method := start; ; method = "GET " {
				name, _, _ := strings.Cut(method, " ")
				a := answerTo(t, r, name)
				if a.Err != nil {
					break
				}
				if statuses = append(statuses, a.Status); len(statuses) == 2 {
					break
				}
			}
			c.Close()
			if len(statuses) == 0 || len(statuses) == 2 && statuses[1] != 200 {
				t.Errorf("%s: %d", start, statuses)
			}
			if heads, _ := up.requests(t); len(heads) > 0 {
				t.Errorf("%s: the upstream got %q", start, heads)
			}
		}
	}
}
