package sim

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzWire sends anything to an engine: it must answer or close, and have nothing left afterwards.
func FuzzWire(f *testing.F) {
	for _, seed := range []string{
		rawPost(hello), rawPost(helloStream), rawPost(hello) + rawPost(helloStream), rawPost(hello, "Connection: close\r\n"),
		rawPost(strings.Repeat("[", 20000)), rawPost(`{"model":"m","messages":` + strings.Repeat("[", 20000)),
		rawPost(`{"model":"m","tools":[{"function":{"name":"f","parameters":{"required":["a"]}}}],"tool_choice":"required","messages":[{}]}`),
		"POST /v1/responses HTTP/1.1\r\nContent-Length: 53\r\n\r\n" + `{"model":"m","stream":true,"input":[{"role":"user"}]}`,
		"POST /v1/messages HTTP/1.1\r\nContent-Length: 48\r\n\r\n" + `{"model":"m","max_tokens":1,"messages":["x"]}   `,
		"POST /v1/embeddings HTTP/1.1\r\nContent-Length: 25\r\n\r\n" + `{"model":"m","input":[1]}`,
		"POST /v1/audio/transcriptions HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 72\r\n\r\n" +
			"--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--x--\r\n        ",
		"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n",
		"GET /v1/models/a%2fb HTTP/1.0\r\n\r\n", "HEAD /metrics HTTP/1.1\r\n\r\n", "\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
	} {
		f.Add(seed)
	}
	e := start(f, Options{})
	f.Fuzz(func(t *testing.T, request string) {
		c, err := net.Dial("tcp", e.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, request)
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c)
		eventually(t, "nothing is left", func() bool { return e.Inflight() == 0 && e.Open() == 0 })
	})
}

// FuzzString compares what is written as a JSON string with what is read back.
func FuzzString(f *testing.F) {
	for _, seed := range []string{"", "plain", `"\/`, "a\nb\tc\x00", "héllo 你好 \U0001f600", "\xff\xfe", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s))
		}
		if got != want {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// FuzzDecision asks a decision service anything.
func FuzzDecision(f *testing.F) {
	for _, seed := range []string{
		`{"state":"x","questions":{"q":` + pair + `}}`, `{"state":{"messages":[]},"questions":{"q":{"type":"score","criteria":["a","b"]}}}`,
		`{"state":[1],"questions":{"":{"type":"noul"}}}`, `{"state":"{\"input\":7}","questions":[]}`,
	} {
		f.Add(seed)
	}
	d, err := StartDecision("127.0.0.1:0", DecisionOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(d.Close)
	c := client(f)
	f.Fuzz(func(t *testing.T, body string) {
		if a := post(t, c, d.URL()+"/v1/systemone", body); a.err != nil || a.status >= 500 || !json.Valid([]byte(a.body)) {
			t.Errorf("%+v", a)
		}
	})
}
