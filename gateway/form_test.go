package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// formPaths are the paths that take a form, with the part that holds their file.
var formPaths = map[string]string{"/v1/audio/transcriptions": "file", "/v1/audio/translations": "file", "/v1/images/edits": "image", "/v1/images/variations": "image"}

// form is a form by its parts, each with headers, an empty line and content, whose boundary is "xyz".
func form(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("--xyz\r\n" + p + "\r\n")
	}
	return b.String() + "--xyz--\r\n"
}

func field(name, value string) string {
	return fmt.Sprintf("Content-Disposition: form-data; name=%q\r\n\r\n%s", name, value)
}

func file(name, content string) string {
	return fmt.Sprintf("Content-Disposition: form-data; name=%q; filename=\"a.wav\"\r\nContent-Type: application/octet-stream\r\n\r\n%s", name, content)
}

// noise is bytes of every kind, with pieces of boundaries among them.
func noise(size int) string {
	b := make([]byte, 0, size+20)
	for i := uint32(1); len(b) < size; i = i*1664525 + 1013904223 {
		b = append(b, byte(i>>24), byte(i>>16), byte(i>>8))
		if i%1021 == 0 {
			b = append(b, "\r\n--xy\r\n\x00\r\n-"...)
		}
	}
	return string(b[:size])
}

// formRoute is a route "asr" to the model "whisper-1".
func formRoute(url string) string {
	return fmt.Sprintf(`{"models": [{"name": "m", "served_model_name": "whisper-1", "instances": [{"name": "m-1", "url": %q}]}],
		"routes": [{"name": "asr", "access_policy": "public", "targets": [{"model": "m"}]}]}`, url)
}

const xyz = "multipart/form-data; boundary=xyz"

// A form is taken with its parts in any order; the file may be large and come first.
func TestC089ModelBehindALargeFile(t *testing.T) {
	e := engine(t, sim.Behaviour{Text: "Hello"})
	g := gatewaytest.Start(t, formRoute(e.URL()))
	large := noise(20 << 20)
	for path, name := range formPaths {
		body := form(file(name, large), field("prompt", "p"), field("model", "asr"))
		requests := map[string]string{"length": request("POST", path, xyz, body)}
		if name == "image" {
			requests["chunks"] = strings.Replace(inPieces(path, body, 1<<20), "application/json", xyz, 1)
		}
		for framing, raw := range requests {
			a := ask(t, g, raw)
			if a.Status != 200 {
				t.Fatalf("%s in %s: %d %s", path, framing, a.Status, a.Body)
			}
			q := e.Requests()[e.Received()-1]
			want := form(file(name, large), field("prompt", "p"), field("model", "whisper-1"))
			if string(q.Body) != want || q.Get("Content-Length") != strconv.Itoa(len(want)) || q.Get("Content-Type") != xyz {
				t.Errorf("%s in %s: the upstream got %d bytes of %d, %v", path, framing, len(q.Body), len(want), q.Header)
			}
		}
	}
}

// The ways to write the same form.
func TestC089Spellings(t *testing.T) {
	e := engine(t, sim.Behaviour{Text: "Hello"})
	g := gatewaytest.Start(t, formRoute(e.URL()))
	sound := file("file", noise(3000))
	for name, c := range map[string]struct{ ctype, body string }{
		"unquoted name":      {xyz, form(sound, "Content-Disposition: form-data; name=model\r\n\r\nasr")},
		"quoted boundary":    {`multipart/form-data; boundary="xyz"`, form(sound, field("model", "asr"))},
		"charset first":      {`multipart/form-data; charset=utf-8; boundary=xyz`, form(sound, field("model", "asr"))},
		"any case":           {`Multipart/Form-Data; Boundary=xyz`, form(sound, "content-disposition: FORM-DATA; NAME=\"model\"\r\n\r\nasr")},
		"headers in parts":   {xyz, form(sound, "X-Before: 1\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=\"model\"\r\nX-After: 2\r\n\r\nasr")},
		"preamble, epilogue": {xyz, "preamble\r\n" + form(sound, field("model", "asr")) + "epilogue"},
		"model first":        {xyz, form(field("model", "asr"), sound)},
		"model in between":   {xyz, form(field("language", "de"), field("model", "asr"), sound)},
	} {
		a := ask(t, g, request("POST", "/v1/audio/transcriptions", c.ctype, c.body))
		if a.Status != 200 || !strings.Contains(a.Body, "Hello") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
			continue
		}
		want := strings.Replace(c.body, "\r\n\r\nasr\r\n", "\r\n\r\nwhisper-1\r\n", 1)
		if q := e.Requests()[e.Received()-1]; string(q.Body) != want || q.Get("Content-Type") != c.ctype {
			t.Errorf("%s: the upstream got %q", name, q.Body)
		}
	}
}

// A client library's form arrives as it was, but for the model.
func TestC090ModelIsRenamed(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, formRoute(e.URL()))
	for path, name := range formPaths {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		_ = w.WriteField("prompt", "asr") // the route's name where it means nothing
		f, err := w.CreateFormFile(name, "späte \"Aufnahme\".wav")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, noise(5000))
		_ = w.WriteField("model", "asr")
		_ = w.WriteField("n", "1")
		_ = w.Close()
		sent := body.String()

		resp, err := http.Post(g.URL+path, w.FormDataContentType(), &body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		q := e.Requests()[e.Received()-1]
		at := strings.LastIndex(sent, "\r\n\r\nasr\r\n") + 4
		want := sent[:at] + "whisper-1" + sent[at+len("asr"):]
		if resp.StatusCode != 200 || string(q.Body) != want || q.Get("Content-Length") != strconv.Itoa(len(want)) {
			t.Errorf("%s: %s, the upstream got %q", path, resp.Status, q.Body)
		}
		_, params, _ := mime.ParseMediaType(q.Get("Content-Type"))
		got, err := multipart.NewReader(bytes.NewReader(q.Body), params["boundary"]).ReadForm(1 << 20)
		if err != nil || got.Value["model"][0] != "whisper-1" || got.Value["prompt"][0] != "asr" || got.File[name][0].Size != 5000 {
			t.Errorf("%s: the upstream reads %+v, %v", path, got, err)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// Nothing of a form is read and written anew: not its order, its parts' headers, names in other scripts, or zero bytes.
func TestC091EveryOtherByte(t *testing.T) {
	e := engine(t, sim.Behaviour{Status: 200, Body: "{}"})
	g := gatewaytest.Start(t, formRoute(e.URL()))
	before := "--xyz\r\ncontent-type: audio/x-wav ; a=b\r\nX-Signature:  abc\r\nContent-Disposition: form-data; filename=\"录音 ü.wav\"; name=\"file\"\r\n\r\n" +
		"\x00\x01\r\n\r\n--xy\x00\r\n\xff\xfe--xyz-- is not at the start of a line\r\n" +
		"--xyz\r\nContent-Disposition: form-data; name=\"tag[]\"\r\n\r\n\r\n--xyz \t\r\nContent-Disposition: form-data; name=\"tag[]\"\r\n\r\nb\r\n" +
		"--xyz\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n"
	after := "\r\n--xyz\r\nContent-Disposition: form-data; name=\"timestamp_granularities[]\"\r\n\r\nword\r\n--xyz--\r\nepilogue\x00"
	for path := range formPaths {
		if a := ask(t, g, request("POST", path, xyz, before+"asr"+after)); a.Status != 200 {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		if got, want := string(lastBody(e)), before+"whisper-1"+after; got != want {
			t.Errorf("%s: the upstream got %q, want %q", path, got, want)
		}
	}
}

// A compressed form is one too.
func TestCompressedForm(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, formRoute(e.URL()))
	body := form(file("file", noise(50_000)), field("model", "asr"))
	a := ask(t, g, request("POST", "/v1/audio/transcriptions", xyz, squeeze(body), "Content-Encoding: gzip"))
	if want := strings.Replace(body, "\r\n\r\nasr\r\n", "\r\n\r\nwhisper-1\r\n", 1); a.Status != 200 || string(lastBody(e)) != want {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestC091BadForms(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, formRoute(e.URL()))
	sound := file("file", "abc")
	for name, c := range map[string]struct {
		ctype, body string
		status      int
		param       string
	}{
		"two models":             {xyz, form(field("model", "asr"), sound, field("model", "asr")), 400, "model"},
		"two models that differ": {xyz, form(field("model", "asr"), sound, "Content-Disposition: form-data; name=model\r\n\r\nother"), 400, "model"},
		"no model":               {xyz, form(sound), 400, "model"},
		"an empty model":         {xyz, form(sound, field("model", "")), 400, "model"},
		"the model in a file":    {xyz, form(sound, file("model", "asr")), 400, "model"},
		"two streams":            {xyz, form(field("model", "asr"), field("stream", "true"), field("stream", "false")), 400, "stream"},
		"not ended":              {xyz, strings.TrimSuffix(form(sound, field("model", "asr")), "--xyz--\r\n"), 400, ""},
		"cut":                    {xyz, "--xyz\r\nContent-Dispo", 400, ""},
		"empty":                  {xyz, "", 400, ""},
		"another boundary":       {"multipart/form-data; boundary=abc", form(field("model", "asr")), 400, ""},
		"no boundary":            {"multipart/form-data", form(field("model", "asr")), 400, ""},
		"two boundaries":         {"multipart/form-data; boundary=xyz; boundary=abc", form(field("model", "asr")), 400, ""},
		"line feeds":             {xyz, strings.ReplaceAll(form(field("model", "asr")), "\r\n", "\n"), 400, ""},
		"JSON":                   {"application/json", `{"model": "asr"}`, 415, ""},
		"another kind of form":   {"application/x-www-form-urlencoded", "model=asr", 415, ""},
	} {
		for path := range formPaths {
			a := ask(t, g, request("POST", path, c.ctype, c.body))
			if a.Status != c.status {
				t.Errorf("%s, %s: %d %s", path, name, a.Status, a.Body)
				continue
			}
			if f := readError(t, path, a); f.param != c.param || f.kind != "invalid_request_error" {
				t.Errorf("%s, %s: %+v", path, name, f)
			}
		}
	}
	if n := e.Received(); n != 0 {
		t.Errorf("%d of them reached the upstream", n)
	}
}

// A stream of responses, or any other, goes down with each of its lines and nothing more.
func TestC094EveryLineOfAStream(t *testing.T) {
	recordedOne := recorded(t, "/v1/responses", streams["/v1/responses"])
	for name, stream := range map[string]string{
		"recorded": recordedOne,
		"all kinds of lines": ": a comment\n\nid: 1\nevent: response.created\nretry: 5\ndata: {\"sequence_number\":0}\n\n" +
			"event: x\r\ndata: a\r\ndata: b\r\n\r\ndata:no space\rdata: ends in CR\r\r\ufeffdata: mark\n\nunknown: field\nfield alone\n\n\n\n" +
			"id: 2\nevent: response.completed\ndata: {\"sequence_number\": 9007199254740993}\n\n",
		"an end that is not the last": events("1", "[DONE]", "2"),
		"no end":                      events("1", "2"),
		"an error in it":              "event: error\ndata: {\"type\":\"error\",\"code\":\"x\"}\n\n" + events("more"),
		"no events":                   "<html>\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			for _, framing := range []string{inChunks, fmt.Sprintf("Content-Length: %d\r\n", len(stream)), ""} {
				up := byHand(t)
				g := gatewaytest.Start(t, open("", "", up.url))
				for _, path := range slices.Sorted(maps.Keys(streams)) {
					c, r := send(t, g, post(path, streams[path]))
					q := up.next()
					body := stream
					if framing == inChunks {
						body, _ = eventwise(stream)
					}
					q.say(okHead + sse + framing + "\r\n" + body)
					if framing == "" {
						q.Close()
					}
					got, err := io.ReadAll(answer(t, r).Body)
					if err != nil || string(got) != stream {
						t.Errorf("%s, %q: %v, got %q, want %q", path, framing, err, got, stream)
					}
					q.end()
					c.Close()
				}
			}
		})
	}
}
