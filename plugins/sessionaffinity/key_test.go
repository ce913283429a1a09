package sessionaffinity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
)

// headers is a request's headers, with names in lower case.
type headers map[string]string

func (h headers) Peek(name string) []byte {
	if v, ok := h[strings.ToLower(name)]; ok {
		return []byte(v)
	}
	return nil
}

// call is a request with a body.
func call(t testing.TB, body string) *openai.Call {
	t.Helper()
	c := &openai.Call{}
	if err := c.Parse([]byte(body)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestC047_KeyChain(t *testing.T) {
	chain := []source{{header: "H1"}, {header: "h2"}, {path: []string{"metadata", "user.id"}}}
	body := `{"model": "m", "metadata": {"user.id": "from body"}}`
	tests := []struct {
		name     string
		endpoint string
		headers  headers
		body     string
		want     string
	}{
		{"first header", "responses", headers{"h1": "a", "h2": "b"}, body, "a"},
		{"second header", "responses", headers{"h2": "b"}, body, "b"},
		{"empty is absent", "responses", headers{"h1": "", "h2": "b"}, body, "b"},
		{"blank is empty", "responses", headers{"h1": " \t", "h2": "b"}, body, "b"},
		{"body on responses", "responses", headers{"h1": "", "h2": ""}, body, "from body"},
		{"body on messages", "messages", nil, body, "from body"},
		{"not on chat", "chat", nil, body, ""},
		{"not on count_tokens", "count_tokens", nil, body, ""},
		{"headers on chat", "chat", headers{"h2": "b"}, body, "b"},
		{"not a string", "responses", nil, `{"model": "m", "metadata": {"user.id": 7}}`, ""},
		{"null", "responses", nil, `{"model": "m", "metadata": {"user.id": null}}`, ""},
		{"empty string", "responses", nil, `{"model": "m", "metadata": {"user.id": ""}}`, ""},
		{"no such member", "responses", nil, `{"model": "m", "metadata": {"user": {"id": "x"}}}`, ""},
		{"not an object", "responses", nil, `{"model": "m", "metadata": "x"}`, ""},
		{"nothing", "responses", nil, `{"model": "m"}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &lb.Request{Endpoint: &openai.Endpoint{Name: test.endpoint}, Header: test.headers, Call: call(t, test.body)}
			got, _, err := find(chain, r)
			if err != nil {
				t.Fatal(err)
			}
			want := session{}
			if test.want != "" {
				want = sessionOf([]byte(test.want))
			}
			if got != want {
				t.Errorf("not the session of %q", test.want)
			}
		})
	}
	if s, _, _ := find(chain, &lb.Request{}); s != (session{}) {
		t.Error("a session out of nothing")
	}
}

func TestKey_WrittenTwiceIsRefused(t *testing.T) {
	r := &lb.Request{Endpoint: &openai.Endpoint{Name: "responses"}, Header: headers{},
		Call: call(t, `{"model": "m", "prompt_cache_key": "a", "prompt_cache_\u006bey": "b"}`)}
	if _, _, err := find(defaultKeys, r); err == nil || err.Status != 400 {
		t.Errorf("got %v", err)
	}
	r.Header = headers{"session-id": "s"}
	if s, _, err := find(defaultKeys, r); err != nil || s != sessionOf([]byte("s")) {
		t.Errorf("with a header before it, which is what counts: %v", err)
	}
}

func TestC047_KeysAreExact(t *testing.T) {
	seen := map[session]string{}
	for _, key := range []string{"session-1", "session-12", "session-", "Session-1", "session-1 ", "s", "session-1\x00",
		strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20-1)} {
		s := sessionOf([]byte(key))
		if other, ok := seen[s]; ok {
			t.Errorf("%.20q and %.20q are one session", key, other)
		}
		seen[s] = key
	}
}

func TestParsePath(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{`prompt_cache_key`, []string{"prompt_cache_key"}},
		{`metadata.user_id`, []string{"metadata", "user_id"}},
		{`a\.b.c`, []string{"a.b", "c"}},
		{`a\\.b`, []string{`a\`, "b"}},
		{`a\b`, []string{`a\b`}},
		{`a\`, []string{`a\`}},
		{`\.`, []string{"."}},
		{`0`, []string{"0"}},
		{``, nil}, {`.`, nil}, {`a.`, nil}, {`.a`, nil}, {`a..b`, nil},
	}
	for _, test := range tests {
		got, err := parsePath(test.text)
		if !slices.Equal(got, test.want) || (err != nil) != (test.want == nil) {
			t.Errorf("%q: %q, %v", test.text, got, err)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"a.b", `a\.b`, `\\`, "..", ""} {
		f.Add(seed)
	}
	escape := strings.NewReplacer(`\`, `\\`, `.`, `\.`)
	f.Fuzz(func(t *testing.T, text string) {
		path, err := parsePath(text)
		if err != nil {
			return
		}
		var written []string
		for _, name := range path {
			if name == "" {
				t.Fatalf("%q: an empty name", text)
			}
			written = append(written, escape.Replace(name))
		}
		if again, err := parsePath(strings.Join(written, ".")); err != nil || !slices.Equal(again, path) {
			t.Fatalf("%q: %q, written again %q, %v", text, path, again, err)
		}
	})
}

func FuzzFind(f *testing.F) {
	f.Add("session-id", `{"model": "m", "prompt_cache_key": "k"}`)
	f.Add("", `{"model": "m", "prompt_cache_key": "k", "prompt_cache_key": "k"}`)
	f.Fuzz(func(t *testing.T, header, body string) {
		r := &lb.Request{Endpoint: &openai.Endpoint{Name: "messages"}, Header: headers{"session-id": header}}
		c := &openai.Call{}
		if c.Parse([]byte(body)) == nil {
			r.Call = c
		}
		s, from, err := find(defaultKeys, r)
		if named := strings.Trim(header, " \t"); named != "" && (s != sessionOf([]byte(named)) || from != 0 || err != nil) {
			t.Fatalf("header %q: %v, %d, %v", header, s, from, err)
		}
		if err != nil && s != (session{}) {
			t.Fatal("a refused request has a session")
		}
	})
}

func TestSources(t *testing.T) {
	text := func(s string) *string { return &s }
	tests := []struct {
		name string
		keys []sessionKey
		want []string // what problems begin with
	}{
		{"absent", nil, nil},
		{"empty", []sessionKey{}, []string{"session_keys: is empty"}},
		{"good", []sessionKey{{Header: text("X-Session")}, {BodyKey: text(`a\.b.c`)}}, nil},
		{"both", []sessionKey{{Header: text("a"), BodyKey: text("b")}}, []string{"session_keys[0]: must have exactly one"}},
		{"neither", []sessionKey{{Header: text("a")}, {}}, []string{"session_keys[1]: must have exactly one"}},
		{"bad header", []sessionKey{{Header: text("a b")}, {Header: text("")}},
			[]string{`session_keys[0].header: "a b" can't`, `session_keys[1].header: "" can't`}},
		{"bad path", []sessionKey{{BodyKey: text("a..b")}}, []string{`session_keys[0].body_key: "a..b": a member's name`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			c := config{test.keys}
			chain := c.sources(func(path, format string, args ...any) {
				got = append(got, path+": "+fmt.Sprintf(format, args...))
			})
			if len(got) != len(test.want) {
				t.Fatalf("problems %q", got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], test.want[i]) {
					t.Errorf("problem %q, want %q", got[i], test.want[i])
				}
			}
			if test.name == "absent" && len(chain) != 3 || test.name == "good" && len(chain) != 2 {
				t.Errorf("chain %v", chain)
			}
		})
	}
}
