package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(tb testing.TB, o Options) *Engine {
	tb.Helper()
	e, err := Start("127.0.0.1:0", o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// client is a client whose connections end with the test.
func client(tb testing.TB) *http.Client {
	tb.Helper()
	tr := &http.Transport{DisableCompression: true}
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

type answer struct {
	status int
	header http.Header
	body   string
	err    error // the answer broke off
}

func do(t *testing.T, c *http.Client, method, url, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err}
}

func post(t *testing.T, c *http.Client, url, body string, header ...string) answer {
	t.Helper()
	return do(t, c, http.MethodPost, url, body, header...)
}

// decode reads a JSON object.
func decode(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return v
}

// at returns what stands below a path such as "choices.0.message".
func at(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch w := v.(type) {
		case map[string]any:
			v = w[step]
		case []any:
			var i int
			fmt.Sscan(step, &i)
			if i >= len(w) {
				return nil
			}
			v = w[i]
		default:
			return nil
		}
	}
	return v
}

// events returns the event names and the data of a stream.
func events(t *testing.T, body string) (names []string, data []map[string]any) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name := ""
		for line := range strings.SplitSeq(block, "\n") {
			field, value, _ := strings.Cut(line, ": ")
			switch field {
			case "event":
				name = value
			case "data":
				if value == "[DONE]" {
					name = value
					data = append(data, nil)
					continue
				}
				data = append(data, decode(t, value))
			default:
				t.Fatalf("unknown line %q", line)
			}
		}
		names = append(names, name)
	}
	return names, data
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come true that %s", what)
		}
	}
}

// wire opens a connection and writes a request to it.
func wire(t *testing.T, e *Engine, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", e.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// head reads an answer with its body and returns the status, and whether the connection ends.
func head(r *bufio.Reader) (status int, last bool, err error) {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, false, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Close, err
}

// joined joins the texts at a path in all events.
func joined(data []map[string]any, path string) string {
	var b strings.Builder
	for _, d := range data {
		s, _ := at(d, path).(string)
		b.WriteString(s)
	}
	return b.String()
}

// rest reads until the connection ends and says how it did.
func rest(r io.Reader) (string, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(r)
	return b.String(), err
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && strings.Contains(err.Error(), "reset")
}

func rawPost(body string, fields ...string) string {
	return "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\n" + strings.Join(fields, "") +
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

const (
	hello       = `{"model":"m","messages":[{"role":"user","content":"Say hello."}]}`
	helloStream = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Say hello."}]}`
)
