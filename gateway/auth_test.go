package gateway_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// The secrets of the keys in keyed. They are told from everything else in a log or an error.
const (
	aliceKey   = "sk-alice-4f1c9be2"
	bobKey     = "sk-bob-93ad07c5"
	narrowKey  = "sk-narrow-5e2266d1"
	expiredKey = "sk-expired-e01b8a77"
	unknownKey = "sk-unknown-77c0fd3e"
)

// key is an entry of api_keys, with further members.
func key(name, user, secret, members string) string {
	sum := sha256.Sum256([]byte(secret))
	return fmt.Sprintf(`{"name": %q, "user": %q, "sha256": %q%s}`, name, user, hex.EncodeToString(sum[:]), members)
}

// keyed has a route of each access policy over one engine: mine (alice), any (whoever has a key), open (everybody).
func keyed(url string) string {
	return fmt.Sprintf(`{
		"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q}]}],
		"routes": [
			{"name": "mine", "access_policy": "allowed_users", "allowed_users": ["alice"], "targets": [{"model": "m"}]},
			{"name": "any", "targets": [{"model": "m"}]},
			{"name": "open", "access_policy": "public", "targets": [{"model": "m"}]}],
		"api_keys": [%s, %s, %s, %s]}`, url,
		key("alice-laptop", "alice", aliceKey, ""), key("bob-laptop", "bob", bobKey, ""),
		key("alice-narrow", "alice", narrowKey, `, "allowed_routes": ["any"]`),
		key("alice-old", "alice", expiredKey, `, "expires_at": "2020-01-01T00:00:00Z"`))
}

// ask sends a raw request over a connection of its own and reads the answer.
func ask(t testing.TB, g *gatewaytest.Gateway, request string) gatewaytest.Answer {
	t.Helper()
	c, r := send(t, g, request)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	method, _, _ := strings.Cut(request, " ")
	return answerTo(t, r, method)
}

// answerTo reads the answer to a request.
func answerTo(t testing.TB, r *bufio.Reader, method string) gatewaytest.Answer {
	t.Helper()
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return gatewaytest.Answer{Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return gatewaytest.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body), Err: err}
}

// request is a raw request with a body, with further header lines.
func request(method, target, contentType, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: %s\r\nContent-Length: %d\r\n", method, target, contentType, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String() + "\r\n" + body
}

// served are the endpoints that ask an upstream, by their path below the base.
var served = []string{
	"/chat/completions", "/completions", "/responses", "/messages", "/messages/count_tokens", "/embeddings", "/rerank", "/score",
	"/moderations", "/systemone", "/images/generations", "/audio/speech",
	"/audio/transcriptions", "/audio/translations", "/images/edits", "/images/variations",
}

// bodyFor is a body that an endpoint takes, for a model.
func bodyFor(path, model string) (contentType, body string) {
	switch path {
	case "/audio/transcriptions", "/audio/translations", "/images/edits", "/images/variations":
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for _, name := range []string{"file", "image"} {
			part, _ := w.CreateFormFile(name, "a.bin") // a buffer takes everything
			_, _ = part.Write([]byte{0, 1, '\r', '\n', 255})
		}
		_ = w.WriteField("model", model)
		_ = w.WriteField("prompt", "p")
		_ = w.Close()
		return w.FormDataContentType(), b.String()
	}
	return "application/json", fmt.Sprintf(`{"model": %q, "max_tokens": 5, "input": "a", "prompt": "p", "query": "q", "text_1": "a", "text_2": "b",
		"documents": ["d"], "voice": "v", "messages": [{"role": "user", "content": "Say hello."}]}`, model)
}

// spellings are ways to write one path.
func spellings(path string) []string {
	return []string{
		"/v1" + path, "/v1-openai" + path, path, "/v1" + path + "/", "//v1" + path, "/v1/" + path, "/%76%31" + path,
		"/v1/." + path, "/x/../v1" + path, "/v1" + path[:2] + fmt.Sprintf("%%%02x", path[2]) + path[3:], "/v1" + path + "?api-version=1",
	}
}

// The row names 403 as well; here a route that a key may not use is one that does not exist.
func TestC067EveryPathChecksTheKey(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, keyed(e.URL()))
	callers := []struct {
		name   string
		header string
		status int
		code   string
	}{
		{"no key", "X-None: 1", 401, "invalid_api_key"},
		{"bad key", "Authorization: Bearer " + unknownKey, 401, "invalid_api_key"},
		{"bad x-api-key", "x-api-key: " + unknownKey, 401, "invalid_api_key"},
		{"expired key", "Authorization: Bearer " + expiredKey, 401, "invalid_api_key"},
		{"empty bearer", "Authorization: Bearer ", 401, "invalid_api_key"},
		{"key of another user", "Authorization: Bearer " + bobKey, 404, "model_not_found"},
		{"key of another route", "Authorization: Bearer " + narrowKey, 404, "model_not_found"},
	}
	for _, path := range served {
		contentType, body := bodyFor(path, "mine")
		for _, c := range callers {
			for _, target := range spellings(path) {
				a := ask(t, g, request("POST", target, contentType, body, c.header))
				if a.Status != c.status || a.Header.Get("X-Request-Id") == "" || !isError(a, path, c.code) {
					t.Errorf("POST %s, %s: %d %s %v", target, c.name, a.Status, a.Body, a.Err)
				}
				if challenge := a.Header.Get("Www-Authenticate"); (a.Status == 401) != (challenge == "Bearer") {
					t.Errorf("POST %s, %s: WWW-Authenticate %q", target, c.name, challenge)
				}
			}
			for _, method := range []string{"HEAD", "OPTIONS", "GET", "PUT", "DELETE", "post", "Post"} {
				a := ask(t, g, request(method, "/v1"+path, contentType, body, c.header))
				if a.Status != 405 || a.Header.Get("Allow") != "POST" {
					t.Errorf("%s %s, %s: %d %s", method, path, c.name, a.Status, a.Body)
				}
			}
		}
	}
	if n := e.Received(); n != 0 {
		t.Fatalf("the engine was asked %d times: %v", n, e.Requests()[0].Target)
	}
}

// isError reports whether an answer is an error in the dialect of a path, with the code where the dialect has one.
func isError(a gatewaytest.Answer, path, code string) bool {
	if a.Header.Get("Content-Type") != "application/json" {
		return false
	}
	if strings.HasPrefix(path, "/messages") {
		return strings.HasPrefix(a.Body, `{"type":"error","error":{"type":"`) && a.Error("message") != "" && a.Error("code") == ""
	}
	return strings.HasPrefix(a.Body, `{"error":{"message":"`) && a.Error("code") == code
}

// With a good key all spellings of a path are served, and the upstream sees one of them.
func TestC067EverySpellingIsServedAlike(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, keyed(e.URL()))
	for _, path := range served {
		if path == "/systemone" {
			continue // no engine's
		}
		contentType, body := bodyFor(path, "mine")
		for _, target := range spellings(path) {
			if a := ask(t, g, request("POST", target, contentType, body, "Authorization: Bearer "+aliceKey)); a.Status != 200 {
				t.Errorf("%s: %d %s", target, a.Status, a.Body)
				continue
			}
			all := e.Requests()
			if got := all[len(all)-1]; got.Path() != "/v1"+path || got.Model != "m" {
				t.Errorf("%s became %s for %s", target, got.Target, got.Model)
			}
		}
	}
}

func TestC067WhoMayUseWhat(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, keyed(e.URL()))
	for _, c := range []struct {
		key                      string
		mine, any, open, unknown int
		list                     string
	}{
		{"", 401, 401, 200, 401, "open"},
		{unknownKey, 401, 401, 200, 401, ""},
		{expiredKey, 401, 401, 200, 401, ""},
		{aliceKey, 200, 200, 200, 404, "mine any open"},
		{bobKey, 404, 200, 200, 404, "any open"},
		{narrowKey, 404, 200, 200, 404, "any open"},
	} {
		var headers []string
		if c.key != "" {
			headers = []string{"Authorization", "Bearer " + c.key}
		}
		for name, want := range map[string]int{"mine": c.mine, "any": c.any, "open": c.open, "nothing": c.unknown, "MINE": c.unknown} {
			a := g.Post(chat, strings.Replace(chatBody, `"m"`, `"`+name+`"`, 1), headers...)
			if a.Status != want {
				t.Errorf("key %q, route %s: %d %s", c.key, name, a.Status, a.Body)
			}
			wantModel := want
			if c.list == "" {
				wantModel = 401 // what may be used is nobody's question who shows a key that is none
			} else if want == 401 {
				wantModel = 404
			}
			if a := g.Do("GET", "/v1/models/"+name, "", headers...); a.Status != wantModel {
				t.Errorf("key %q, GET /v1/models/%s: %d %s", c.key, name, a.Status, a.Body)
			}
		}
		a := g.Do("GET", "/v1/models", "", headers...)
		if got := modelIDs(t, a); got != c.list || (a.Status == 401) != (c.list == "") {
			t.Errorf("key %q: %d, list %q, want %q", c.key, a.Status, got, c.list)
		}
	}
}

// modelIDs are the names in a list of models, in its order.
func modelIDs(t testing.TB, a gatewaytest.Answer) string {
	t.Helper()
	if a.Status != 200 {
		return ""
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

func TestC068WhichCredentialCounts(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, keyed(e.URL()))
	a, b := aliceKey, bobKey
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"authorization: bearer " + a}, 200},
		{[]string{"AUTHORIZATION: BEARER " + a}, 200},
		{[]string{"Authorization: bEaReR  " + a + " "}, 200},
		{[]string{"Authorization:\tBearer\t" + a}, 401}, // RFC 9110, section 11.4: one space
		{[]string{"x-api-key: " + a}, 200},
		{[]string{"X-Api-Key:  " + a + "\t"}, 200},
		{[]string{"Authorization: Bearer " + a, "x-api-key: " + a}, 200},
		{[]string{"Authorization: Bearer ", "x-api-key: " + a}, 200},
		{[]string{"Authorization: Bearer " + a, "x-api-key: "}, 200},
		{[]string{"Authorization: Bearer " + strings.ToUpper(a)}, 401},
		{[]string{"Authorization: Bearer " + a + "x"}, 401},
		{[]string{"Authorization: Bearer " + a[:len(a)-1]}, 401},
		{[]string{"Authorization: Bearer \"" + a + "\""}, 401},
		{[]string{"Authorization: " + a}, 401},
		{[]string{"Authorization: Basic " + a}, 401},
		{[]string{"Authorization: Bearer " + a, "x-api-key: " + b}, 401},
		{[]string{"Authorization: Bearer " + b, "x-api-key: " + a}, 401},
		{[]string{"Authorization: Bearer " + a, "x-api-key: " + unknownKey}, 401},
		{[]string{"Authorization: Bearer " + a, "Authorization: Bearer " + a}, 401},
		{[]string{"Authorization: Bearer " + a, "authorization: Bearer " + b}, 401},
		{[]string{"x-api-key: " + a, "X-API-Key: " + a}, 401},
		{[]string{"api-key: " + a}, 401},
		{[]string{"Cookie: Authorization=Bearer " + a}, 401},
		{[]string{"Proxy-Authorization: Bearer " + a}, 401},
	} {
		for _, path := range []string{"/chat/completions", "/responses", "/messages"} {
			contentType, body := bodyFor(path, "mine")
			got := ask(t, g, request("POST", "/v1"+path, contentType, body, c.headers...))
			if got.Status != c.status || c.status == 401 && !isError(got, path, "invalid_api_key") {
				t.Errorf("%s with %q: %d %s", path, c.headers, got.Status, got.Body)
			}
		}
	}
	// What is ambiguous is refused also where no key is needed: the next hop might read it otherwise.
	contentType, body := bodyFor("/messages", "open")
	for _, headers := range [][]string{{"Authorization: Bearer " + a, "x-api-key: " + b}, {"x-api-key: " + a, "x-api-key: " + b}} {
		if got := ask(t, g, request("POST", "/v1/messages", contentType, body, headers...)); got.Status != 401 {
			t.Errorf("public route with %q: %d %s", headers, got.Status, got.Body)
		}
	}
}

func TestC069CredentialsStayHere(t *testing.T) {
	const openaiToken, anthropicToken = "sk-provider-0a4411", "sk-provider-b7720f"
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, fmt.Sprintf(`{
		"models": [{"name": "m", "instances": [{"name": "m-1", "url": %[1]q}]}],
		"providers": [
			{"name": "openai", "type": "openai", "endpoint": "%[1]s/v1", "api_token": "${OPENAI}"},
			{"name": "anthropic", "type": "anthropic", "endpoint": "%[1]s/v1/", "api_token": %[2]q},
			{"name": "free", "type": "openai", "endpoint": "%[1]s/v2"}],
		"routes": [
			{"name": "model", "targets": [{"model": "m"}]},
			{"name": "openai", "targets": [{"provider": "openai", "overridden_model_name": "o"}]},
			{"name": "anthropic", "targets": [{"provider": "anthropic", "overridden_model_name": "a"}]},
			{"name": "free", "targets": [{"provider": "free", "overridden_model_name": "f"}]}],
		"api_keys": [%[3]s]}`, e.URL(), anthropicToken, key("alice-laptop", "alice", aliceKey, "")),
		gatewaytest.Env(map[string]string{"OPENAI": openaiToken}))
	for _, c := range []struct{ route, authorization, key string }{
		{"model", "", ""}, {"openai", "Bearer " + openaiToken, ""}, {"anthropic", "", anthropicToken}, {"free", "", ""},
	} {
		for _, path := range []string{"/chat/completions", "/responses", "/messages", "/audio/transcriptions"} {
			contentType, body := bodyFor(path, c.route)
			a := ask(t, g, request("POST", "/v1"+path, contentType, body, "Authorization: Bearer "+aliceKey, "x-api-key: "+aliceKey, "api-key: "+aliceKey,
				"X-Goog-Api-Key: "+aliceKey, "Cookie: session="+aliceKey, "Proxy-Authorization: Bearer "+aliceKey, "X-Gpustack-Auth-Token: "+aliceKey,
				"X-Kept: 1"))
			if a.Status != 200 {
				t.Fatalf("%s %s: %d %s", c.route, path, a.Status, a.Body)
			}
			all := e.Requests()
			got := all[len(all)-1]
			for _, f := range got.Header {
				if strings.Contains(f.Value, aliceKey) {
					t.Errorf("%s %s: the client's key crosses in %s", c.route, path, f.Name)
				}
			}
			if v := got.Values("Authorization"); strings.Join(v, "|") != c.authorization || got.Get("X-Api-Key") != c.key || got.Get("X-Kept") != "1" {
				t.Errorf("%s %s: credentials %q %q, want %q %q", c.route, path, v, got.Get("X-Api-Key"), c.authorization, c.key)
			}
		}
	}
	noSecrets(t, g.Log(), openaiToken, anthropicToken, aliceKey)
}

// noSecrets fails the test if a text holds one of some secrets, or what would identify one.
func noSecrets(t testing.TB, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		sum := sha256.Sum256([]byte(s))
		for _, form := range []string{s, hex.EncodeToString(sum[:])} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("a secret shows: ...%q", text[max(0, i-100):min(len(text), i+100)])
			}
		}
	}
}

// The source of keys is the routes file. While it can't be read or used, what was last good counts.
func TestC073KeysOutliveTheirSource(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, keyed(e.URL()))
	text, err := os.ReadFile(g.File)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Replace(chatBody, `"m"`, `"mine"`, 1)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	counts := make([]int, 20)
	for i := range counts {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if a := g.Post(chat, body, "Authorization", "Bearer "+aliceKey); a.Status != 200 {
					t.Errorf("a valid key: %d %s %v", a.Status, a.Body, a.Err)
					return
				}
				if a := g.Post(chat, body, "x-api-key", unknownKey); a.Status != 401 {
					t.Errorf("a key that is none: %d %s %v", a.Status, a.Body, a.Err)
					return
				}
				counts[i]++
			}
		})
	}
	for _, broken := range []string{"", "{", string(text[:len(text)/2]), `{"routes": [], "api_keys": 3}`, `[]`} {
		if err := os.WriteFile(g.File, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if changed, _, _ := g.Table.Reload(); changed {
				t.Fatalf("%q is taken for a routes file", broken)
			}
		}
	}
	if err := os.Remove(g.File); err != nil {
		t.Fatal(err)
	}
	before := e.Received()
	if _, _, err := g.Table.Reload(); err == nil {
		t.Error("a file that is not there can be read")
	}
	gatewaytest.Eventually(t, "200 requests have been served without the file", func() bool {
		_, _, _ = g.Table.Reload()
		time.Sleep(time.Millisecond)
		return e.Received() >= before+200 || t.Failed()
	})
	close(stop)
	clients.Wait()
	g.Reload(string(text))
}
