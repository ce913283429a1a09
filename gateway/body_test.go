package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
)

// jsonPaths are the paths that take a JSON body.
var jsonPaths = []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens",
	"/v1/embeddings", "/v1/rerank", "/v1/score", "/v1/moderations", "/v1/systemone", "/v1/images/generations", "/v1/audio/speech"}

// refuses checks that a body is refused with a 400 that names a field (if one is given) and that no upstream hears of it.
func refuses(t *testing.T, g *gatewaytest.Gateway, e *sim.Engine, path, body, param string) {
	t.Helper()
	before := e.Received()
	a := ask(t, g, post(path, body))
	if a.Status != 400 {
		t.Errorf("%s %.100q: %d %s", path, body, a.Status, a.Body)
		return
	}
	if f := readError(t, path, a); f.kind != "invalid_request_error" || f.param != param && f.code != "" || !strings.Contains(f.message, param) {
		t.Errorf("%s %.100q: %+v, want the field %q named", path, body, f, param)
	}
	if e.Received() != before {
		t.Errorf("%s %.100q reached the upstream", path, body)
	}
}

// A member that the gateway acts on must not be written twice: which one another reader takes would be a guess.
func TestC081DuplicateMembers(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for body, param := range map[string]string{
		`{"model": "m", "model": "forbidden"}`:                                                              "model",
		`{"model": "forbidden", "messages": [], "model": "m"}`:                                              "model",
		`{"model": "m", "model": "m"}`:                                                                      "model",
		`{"model": "m", "mod\u0065l": "forbidden"}`:                                                         "model",
		`{"\u006d\u006f\u0064\u0065\u006c": "forbidden", "model": "m"}`:                                     "model",
		`{"model": "m", "model": null}`:                                                                     "model",
		`{"model": 1, "model": "m"}`:                                                                        "model",
		`{"model": "m", "MODEL": "forbidden"}`:                                                              "model",
		`{"model": "m", "stream": false, "stream": true}`:                                                   "stream",
		`{"model": "m", "stream": true, "messages": [], "\u0073tream": false}`:                              "stream",
		`{"model": "m", "stream": true, "stream_options": {}, "stream_options": {"a": 1}}`:                  "stream_options",
		`{"model": "m", "stream": true, "stream_options": {"include_usage": true, "include_usage": false}}`: "stream_options.include_usage",
	} {
		for _, path := range jsonPaths {
			if strings.HasSuffix(param, "include_usage") && path != chat {
				continue
			}
			refuses(t, g, e, path, body, param)
		}
	}
	refuses(t, g, e, "/v1/responses", `{"model": "m", "previous_response_id": "a", "previous_response_id": "b"}`, "previous_response_id")
}

// The same holds for a member that a route's policies read, along its whole path, and for nothing else.
func TestC081DuplicateSessionKeys(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", `"policies": {"session_affinity": {"session_keys": [{"body_key": "prompt_cache_key"}, {"body_key": "metadata.user"}]}}`,
		e.URL()), gatewaytest.Kinds(builtin.All(nil)...))
	for body, param := range map[string]string{
		`{"model": "m", "prompt_cache_key": "a", "prompt_cache_key": "b"}`:        "prompt_cache_key",
		`{"model": "m", "prompt_cache_key": "a", "prompt\u005fcache_key": "b"}`:   "prompt_cache_key",
		`{"model": "m", "metadata": {"user": "a"}, "metadata": {"user": "b"}}`:    "metadata",
		`{"model": "m", "metadata": {"user": "a", "other": 1, "us\u0065r": "b"}}`: "metadata.user",
	} {
		refuses(t, g, e, "/v1/responses", body, param)
	}
	for _, body := range []string{
		`{"model": "m", "input": "x", "seed": 1, "seed": 2, "metadata": {"model": "x", "model": "y", "user": "a"}}`,
		`{"model": "m", "input": [{"role": "user", "role": "user", "content": "x", "model": "a", "model": "b", "stream": 1, "stream": 2}]}`,
	} {
		if a := ask(t, g, post("/v1/responses", body)); a.Status != 200 {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
		if got, want := string(lastBody(e)), strings.Replace(body, `"m"`, `"served"`, 1); got != want {
			t.Errorf("the upstream got %q, want %q", got, want)
		}
	}
}

func lastBody(e *sim.Engine) []byte {
	all := e.Requests()
	return all[len(all)-1].Body
}

// What is not one JSON object and nothing else is refused, however near to one it is.
func TestC082NotJSON(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for _, path := range jsonPaths {
		for _, body := range []string{
			"", " ", "null", "true", "1", `"model"`, "[]", `[{"model": "m"}]`, "nonsense", "model=m",
			`{"model": "m"`, `{"model": "m",`, `{"model": "m", "a": [1, 2}`, `{"model": "m", "a": "`, `{"model": "m"}}`,
			`{"model": "m"} x`, `{"model": "m"}{"model": "m"}`, `{"model": "m"},`, "{\"model\": \"m\"}\x00",
			`{'model': 'm'}`, `{"model": 'm'}`, `{model: "m"}`, `{"model": "m", "a": NaN}`, `{"model": "m", "a": Infinity}`, `{"model": "m", "a": -}`,
			`{"model": "m", "a": 01}`, `{"model": "m", "a": 1.}`, `{"model": "m", "a": .5}`, `{"model": "m", "a": +1}`, `{"model": "m", "a": 1e}`, `{"model": "m", "a": 0x1}`,
			`{"model": "m",}`, `{"model": "m", "a": [1,]}`, `{"model" "m"}`, `{"model": "m" "a": 1}`, `{"model": "m", "a": tru}`, `{"model": "m", "a": nul}`,
			"\ufeff" + `{"model": "m"}`, `{"model": "m"} // x`, `/* x */ {"model": "m"}`, "{\"model\": \"m\", \"a\": \"\n\"}", `{"model": "m", "a": "\x"}`,
			`{"model": "m", "a": "\u12"}`, "{\"model\": \"m\", \"a\": \"\xff\"}", "{\"model\": \"m\u00a0\" \u00a0}",
		} {
			refuses(t, g, e, path, body, "")
		}
	}
}

// The model must be there, once, and a name; stream must be a boolean.
func TestBadMembers(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for body, param := range map[string]string{
		`{}`: "model", `{"messages": []}`: "model", `{"MODEL": "m"}`: "model", `{"nested": {"model": "m"}}`: "model",
		`{"model": ""}`: "model", `{"model": null}`: "model", `{"model": 1}`: "model", `{"model": true}`: "model",
		`{"model": ["m"]}`: "model", `{"model": {"name": "m"}}`: "model",
		`{"model": "m", "stream": "true"}`: "stream", `{"model": "m", "stream": 1}`: "stream", `{"model": "m", "stream": {}}`: "stream",
	} {
		for _, path := range jsonPaths {
			refuses(t, g, e, path, body, param)
		}
	}
	if a := ask(t, g, post(chat, `{"model": "m", "stream": null, "messages": [{"role": "user", "content": "x"}]}`)); a.Status != 200 || strings.HasPrefix(a.Body, "data:") {
		t.Errorf("stream null: %d %s", a.Status, a.Body)
	}
}

// Brackets without end overflow the stack of a reader that follows them down; here they are counted.
func TestC083EndlessBrackets(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for _, n := range []int{6_000_000, 10_000_000, 30_000_000} {
		for name, body := range map[string]string{
			"alone":           strings.Repeat("[", n),
			"in messages":     `{"model": "m", "messages": ` + strings.Repeat("[", n),
			"before model":    `{"messages": ` + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + `, "model": "m"}`,
			"objects":         strings.Repeat(`{"a":`, n/5),
			"mixed":           `{"model": "m", "x": ` + strings.Repeat(`[{"a":`, n/6),
			"in a zipped one": "zip" + `{"model": "m", "messages": ` + strings.Repeat("[", min(n, 6_000_000)),
		} {
			t.Run(fmt.Sprintf("%d %s", n, name), func(t *testing.T) {
				request := post(chat, body)
				if zipped, ok := strings.CutPrefix(body, "zip"); ok {
					request = post(chat, squeeze(zipped), "Content-Encoding: gzip")
				}
				a := ask(t, g, request)
				if a.Status != 400 || name != "alone" && !strings.Contains(a.Body, "1000 levels") {
					t.Errorf("%d %.300s", a.Status, a.Body)
				}
			})
		}
	}
	if a := g.Post(chat, chatBody); a.Status != 200 || e.Received() != 1 {
		t.Errorf("afterwards: %d, %d requests", a.Status, e.Received())
	}
}

// 1,000 levels are allowed, the body's own object among them.
func TestC083DeepestBody(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	nested := func(n int) string {
		return `{"model": "m", "messages": [{"role": "user", "content": "x"}], "x": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	if a := g.Post(chat, nested(999)); a.Status != 200 {
		t.Errorf("1,000 levels: %d %s", a.Status, a.Body)
	}
	refuses(t, g, e, chat, nested(1000), "")
}

// Of a request that is passed on nothing changes but the model's value.
func TestC084OnlyTheModelChanges(t *testing.T) {
	e := engine(t, sim.Behaviour{Status: 200, Body: "{}"})
	const name = `org/qwen3:lora "x"\é` // a route's and, with another, a model's
	g := gatewaytest.Start(t, fmt.Sprintf(`{"models": [{"name": "a", "served_model_name": %[1]q, "instances": [{"name": "a-1", "url": %[2]q}]}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "a"}]}, {"name": %[3]q, "access_policy": "public", "targets": [{"model": "a"}]}]}`,
		`srv/"q"\`, e.URL(), strings.ReplaceAll(name, " ", "_")))
	const served = `"srv/\"q\"\\"`
	for _, c := range []struct{ before, model, after string }{
		{`{"model": `, `"m"`, `}`},
		{`{"seed": 9007199254740993, "top_p": 1.10, "x": 1E400, "y": -0.0, "z": 1e-07, "model":`, `"m"`, `, "b": 12345678901234567890123}`},
		{"\r\n\t {\n  \"zeta\" :\t[ 1 ,2, 3 ] , \"model\"  \n:  ", `"m"`, "\t ,\n\"alpha\":{ }  }\n\n  "},
		{`{"a": "caf\u00e9 \ud83d\ude00 é😀 \/ \b\f", "mo\u0064el": `, `"\u006d"`, `, "lone": "\ud800"}`},
		{`{"messages": [{"model": "m", "content": "\"model\": \"m\""}], "model": `, `"m"`, `, "unknown_field": {"model": "m", "deep": [[["model", "m"]]]}}`},
		{`{"pad": "` + strings.Repeat("x", 100_000) + `", "model": `, `"m"`, `, "pad2": "` + strings.Repeat("y", 100_000) + `"}`},
		{`{"": 1, "model": `, `"org\/qwen3:lora_\"x\"\\\u00e9"`, `, "dup": 1, "dup": 2}`},
		{`{"model": `, `"org/qwen3:lora_\"x\"\\é"`, `,"stream":false,"n":null}`},
	} {
		for _, path := range []string{chat, "/v1/responses", "/v1/messages", "/v1/embeddings"} {
			if a := ask(t, g, post(path, c.before+c.model+c.after)); a.Status != 200 {
				t.Fatalf("%s%s: %d %s", path, c.model, a.Status, a.Body)
			}
			all := e.Requests()
			last := all[len(all)-1]
			want := c.before + served + c.after
			if string(last.Body) != want || last.Get("Content-Length") != strconv.Itoa(len(want)) || len(last.Values("Transfer-Encoding")) > 0 {
				t.Errorf("%s: the upstream got %.300q, want %.300q", path, last.Body, want)
			}
		}
	}
}

// padded is a chat of a given number of bytes.
func padded(size int) string {
	const before, after = `{"model": "m", "messages": [{"role": "user", "content": "`, `"}]}`
	return before + strings.Repeat("x", size-len(before)-len(after)) + after
}

// inPieces is a request whose body is chunked.
func inPieces(path, body string, size int, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n%s", path, inChunks)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n")
	for piece := range slices.Chunk([]byte(body), size) {
		b.WriteString(chunk(string(piece)))
	}
	return b.String() + lastChunk
}

// Bodies as large as those with images and documents in them work without any configuration.
func TestC086LargeBodies(t *testing.T) {
	e := engine(t, sim.Behaviour{Status: 200, Body: "{}"})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for _, size := range []int{8_000_000, 30_000_000} {
		body := padded(size)
		for framing, request := range map[string]string{"length": post(chat, body), "chunks": inPieces(chat, body, 100_000)} {
			a := ask(t, g, request)
			if a.Status != 200 || string(lastBody(e)) != strings.Replace(body, `"m"`, `"served"`, 1) {
				t.Errorf("%d bytes in %s: %d %.300s", size, framing, a.Status, a.Body)
			}
		}
	}
}

// A limit is the largest body that is taken, however it is framed or compressed, and the error tells it.
func TestC086Limit(t *testing.T) {
	const limit = 100_000
	for name, c := range map[string]struct{ file, route string }{
		"of all routes": {fmt.Sprintf(`"defaults": {"max_body_bytes": %d}`, limit), ""},
		"of one route":  {`"defaults": {"max_body_bytes": 1000}`, fmt.Sprintf(`"max_body_bytes": %d`, limit)},
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, sim.Behaviour{})
			g := gatewaytest.Start(t, open(c.file, c.route, e.URL()))
			for _, path := range []string{chat, "/v1/messages"} {
				for _, size := range []int{limit, limit + 1, 40 * limit} {
					body := padded(size)
					for framing, request := range map[string]string{
						"length": post(path, body), "chunks": inPieces(path, body, 4000), "one chunk": inPieces(path, body, size),
						"gzip": post(path, squeeze(body), "Content-Encoding: gzip"), "zstd": post(path, zstandard(t, body), "Content-Encoding: zstd"),
						"gzip in chunks": inPieces(path, squeeze(body), 100, "Content-Encoding: gzip"),
					} {
						before := e.Received()
						a := ask(t, g, request)
						switch {
						case size <= limit && (a.Err != nil || a.Status == 413 || e.Received() != before+1):
							t.Errorf("%s, %d in %s: %d %s %v", path, size, framing, a.Status, a.Body, a.Err)
						case size > limit && (a.Status != 413 || e.Received() != before):
							t.Errorf("%s, %d in %s: %d %s %v", path, size, framing, a.Status, a.Body, a.Err)
						case size > limit:
							if f := readError(t, path, a); !strings.Contains(f.message, strconv.Itoa(limit)) {
								t.Errorf("%s, %d in %s: the limit is not told: %s", path, size, framing, f.message)
							}
						}
					}
				}
			}
		})
	}
}

// A route may have a smaller limit than others; a larger body to it has been read by then, and the connection goes on.
func TestC086LimitOfARoute(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, fmt.Sprintf(`{"models": [{"name": "a", "instances": [{"name": "a-1", "url": %q}]}], "routes": [
		{"name": "m", "access_policy": "public", "targets": [{"model": "a"}], "max_body_bytes": 1000},
		{"name": "large", "access_policy": "public", "targets": [{"model": "a"}]}]}`, e.URL()))
	_, r := send(t, g, post(chat, padded(1001))+post(chat, squeeze(padded(1001)), "Content-Encoding: gzip")+post(chat, padded(1000))+
		post(chat, strings.Replace(padded(200_000), `"m"`, `"large"`, 1)))
	for i, status := range []int{413, 413, 200, 200} {
		if a := answerTo(t, r, "POST"); a.Status != status || status == 413 && !strings.Contains(a.Body, "1000") {
			t.Errorf("request %d: %d %s %v", i, a.Status, a.Body, a.Err)
		}
	}
}

func zstandard(t testing.TB, s string, options ...zstd.EOption) string {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// windowed is a zstd frame of one block, not compressed, that asks for a window of a size that is a power of two (RFC 8878,
// section 3.1.1).
func windowed(size int, s string) string {
	block := len(s)<<3 | 1
	return "\x28\xb5\x2f\xfd\x00" + string([]byte{byte(bits.Len(uint(size))-11) << 3, byte(block), byte(block >> 8), byte(block >> 16)}) + s
}

// The compression of a request is taken off; the upstream gets it plain, with nothing that says otherwise.
func TestCompressedRequests(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	want := strings.Replace(chatBody, `"m"`, `"served"`, 1)
	for name, c := range map[string]struct{ body, header string }{
		"gzip":              {squeeze(chatBody), "Content-Encoding: gzip"},
		"x-gzip":            {squeeze(chatBody), "Content-Encoding: x-gzip"},
		"upper case":        {squeeze(chatBody), "Content-Encoding:  GZip "},
		"two gzip members":  {squeeze(chatBody[:20]) + squeeze(chatBody[20:]), "Content-Encoding: gzip"},
		"zstd":              {zstandard(t, chatBody), "Content-Encoding: zstd"},
		"two zstd frames":   {zstandard(t, chatBody[:20]) + zstandard(t, chatBody[20:]), "Content-Encoding: zstd"},
		"skippable frame":   {"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard(t, chatBody), "Content-Encoding: zstd"},
		"zstd, 8 MB window": {windowed(8<<20, chatBody), "Content-Encoding: zstd"},
		"identity":          {chatBody, "Content-Encoding: identity"},
		"empty label":       {chatBody, "Content-Encoding:"},
	} {
		for _, request := range []string{post(chat, c.body, c.header), inPieces(chat, c.body, 7, c.header)} {
			n := e.Received()
			if a := ask(t, g, request); a.Status != 200 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
				continue
			}
			q := e.WaitRequests(n + 1)[n]
			if string(q.Body) != want || q.Get("Content-Length") != strconv.Itoa(len(want)) {
				t.Errorf("%s: the upstream got %q", name, q.Body)
			}
			if coding := q.Get("Content-Encoding"); coding != "" && coding != "identity" {
				t.Errorf("%s: the upstream is told that the body is %s", name, coding)
			}
		}
	}
}

func TestBadCompressedRequests(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	zipped, zs := squeeze(chatBody), zstandard(t, chatBody)
	for name, c := range map[string]struct {
		body   string
		coding []string
		status int
	}{
		"not gzip":              {chatBody, []string{"gzip"}, 400},
		"not zstd":              {chatBody, []string{"zstd"}, 400},
		"gzip labelled zstd":    {zipped, []string{"zstd"}, 400},
		"zstd labelled gzip":    {zs, []string{"gzip"}, 400},
		"empty gzip":            {"", []string{"gzip"}, 400},
		"empty zstd":            {"", []string{"zstd"}, 400},
		"cut gzip":              {zipped[:len(zipped)-3], []string{"gzip"}, 400},
		"cut zstd":              {zs[:len(zs)-1], []string{"zstd"}, 400},
		"wrong checksum":        {zipped[:len(zipped)-8] + "\x00\x00\x00\x00" + zipped[len(zipped)-4:], []string{"gzip"}, 400},
		"bytes behind gzip":     {zipped + "{}", []string{"gzip"}, 400},
		"bytes behind zstd":     {zs + "{}", []string{"zstd"}, 400},
		"gzip of no JSON":       {squeeze("nonsense"), []string{"gzip"}, 400},
		"gzip twice, said once": {squeeze(zipped), []string{"gzip"}, 400},
		"window beyond 8 MB":    {windowed(16<<20, chatBody), []string{"zstd"}, 400},
		"br":                    {chatBody, []string{"br"}, 415},
		"deflate":               {chatBody, []string{"deflate"}, 415},
		"gzip twice":            {squeeze(zipped), []string{"gzip, gzip"}, 415},
		"gzip twice, two lines": {squeeze(zipped), []string{"gzip", "gzip"}, 415},
		"identity and gzip":     {zipped, []string{"identity", "gzip"}, 415},
		"nonsense":              {chatBody, []string{"\"; drop"}, 415},
	} {
		var headers []string
		for _, coding := range c.coding {
			headers = append(headers, "Content-Encoding: "+coding)
		}
		for _, path := range []string{chat, "/v1/messages"} {
			a := ask(t, g, post(path, c.body, headers...))
			if a.Status != c.status {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
				continue
			}
			readError(t, path, a)
		}
	}
	if n := e.Received(); n != 0 {
		t.Errorf("%d of them reached the upstream", n)
	}
}

// A small body may unpack to a large one: no further than the limit allows.
func TestCompressedBombs(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	const limit = 1 << 20
	g := gatewaytest.Start(t, open(fmt.Sprintf(`"defaults": {"max_body_bytes": %d}`, limit), "", e.URL()))
	zeros := strings.Repeat("\x00", 1<<20) // packed once: the same again goes on where it ends
	bombs := map[string]string{"gzip": strings.Repeat(squeeze(zeros), 1024), "zstd": strings.Repeat(zstandard(t, zeros), 1024)}
	for _, coding := range slices.Sorted(maps.Keys(bombs)) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := ask(t, g, post(chat, bombs[coding], "Content-Encoding: "+coding))
		runtime.ReadMemStats(&after)
		if a.Status != 413 || !strings.Contains(a.Body, strconv.Itoa(limit)) {
			t.Errorf("%s of %d bytes: %d %s", coding, len(bombs[coding]), a.Status, a.Body)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 { // of the 1 GB that is in it
			t.Errorf("%s of %d bytes: %d bytes were allocated", coding, len(bombs[coding]), used)
		}
	}
	if n := e.Received(); n != 0 {
		t.Errorf("%d of them reached the upstream", n)
	}
}
