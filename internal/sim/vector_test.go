package sim

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"mime/multipart"
	"strings"
	"testing"
)

func TestCompletions(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Text: "one two three"}})
	whole := decode(t, post(t, client(t), e.URL()+"/v1/completions", `{"model":"m","prompt":["Say hello."],"max_tokens":2}`).body)
	if at(whole, "choices.0.text") != "one two" || at(whole, "choices.0.finish_reason") != "length" || at(whole, "usage.total_tokens") != 4.0 {
		t.Errorf("%v", whole)
	}
	names, data := events(t, post(t, client(t), e.URL()+"/v1/completions",
		`{"model":"m","prompt":"Say hello.","stream":true,"stream_options":{"include_usage":true}}`).body)
	if said := joined(data, "choices.0.text"); said != "one two three" || len(names) != 5 || at(data[2], "choices.0.finish_reason") != "stop" || at(data[3], "usage.total_tokens") != 5.0 {
		t.Errorf("%q %v", said, data)
	}
	if a := post(t, client(t), e.URL()+"/v1/completions", `{"model":"m","prompt":["a","b"]}`); a.status != 400 {
		t.Errorf("%+v", a)
	}
}

func TestEmbeddings(t *testing.T) {
	e := start(t, Options{})
	ask := func(more string) map[string]any {
		return decode(t, post(t, client(t), e.URL()+"/v1/embeddings", `{"model":"m",`+more+`}`).body)
	}
	numbers := ask(`"input":["one two","three"],"dimensions":16`)
	vector := at(numbers, "data.1.embedding").([]any)
	packed, err := base64.StdEncoding.DecodeString(at(ask(`"input":["one two","three"],"dimensions":16,"encoding_format":"base64"`), "data.1.embedding").(string))
	if err != nil || len(vector) != 16 || len(packed) != 64 {
		t.Fatalf("%v, %d numbers, %d bytes", err, len(vector), len(packed))
	}
	norm := 0.0
	for i, v := range vector {
		norm += v.(float64) * v.(float64)
		if f := math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:])); float32(v.(float64)) != f {
			t.Errorf("%d: %v and %v", i, v, f)
		}
	}
	if math.Abs(norm-1) > 1e-5 || at(numbers, "usage.prompt_tokens") != 3.0 {
		t.Errorf("norm %v, %v", norm, numbers)
	}
	for input, want := range map[string]int{`"x"`: 1, `[1,2,3]`: 1, `[[1,2],[3]]`: 2, `["a","b","c"]`: 3} {
		if data := at(ask(`"input":`+input), "data").([]any); len(data) != want {
			t.Errorf("%s: %d vectors", input, len(data))
		}
	}
	for _, bad := range []string{`"input":[]`, `"input":7`, `"input":[true]`, `"dimensions":7`, `"input":"x","dimensions":-1`} {
		if ask(bad)["error"] == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestRerankScoreModerations(t *testing.T) {
	e := start(t, Options{})
	c := client(t)
	a := decode(t, post(t, c, e.URL()+"/v2/rerank", `{"model":"m","query":"red car","top_n":2,"documents":["a blue car","the sky",{"text":"my red car"}]}`).body)
	if at(a, "results.0.index") != 2.0 || at(a, "results.0.relevance_score") != 1.0 || at(a, "results.1.index") != 0.0 || at(a, "results.2") != nil {
		t.Errorf("%v", a)
	}
	a = decode(t, post(t, c, e.URL()+"/v1/score", `{"model":"m","text_1":"red car","text_2":["red","my red car"]}`).body)
	if at(a, "data.0.score") != 0.5 || at(a, "data.1.score") != 1.0 || at(a, "usage.total_tokens") != 8.0 {
		t.Errorf("%v", a)
	}
	a = decode(t, post(t, c, e.URL()+"/v1/moderations", `{"model":"m","input":["peace","violence"]}`).body)
	if at(a, "results.0.flagged") != false || at(a, "results.1.flagged") != true {
		t.Errorf("%v", a)
	}
	for path, body := range map[string]string{
		"rerank": `"query":"x"`, "score": `"text_1":["a","b"],"text_2":["a","b","c"]`, "moderations": `"x":1`, "images/generations": `"n":1`,
		"audio/speech": `"voice":"x"`,
	} {
		if a := post(t, c, e.URL()+"/v1/"+path, `{"model":"m",`+body+`}`); a.status != 400 {
			t.Errorf("%s: %+v", path, a)
		}
	}
}

func TestImagesAndSpeech(t *testing.T) {
	e := start(t, Options{})
	a := decode(t, post(t, client(t), e.URL()+"/v1/images/generations", `{"model":"m","prompt":"a cat","n":2}`).body)
	png, err := base64.StdEncoding.DecodeString(at(a, "data.1.b64_json").(string))
	if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Errorf("%v %v", err, a)
	}
	s := post(t, client(t), e.URL()+"/v1/audio/speech", `{"model":"m","input":"a b","voice":"x"}`)
	if !strings.HasPrefix(s.body, "RIFF") || len(s.body) != 44+2*wavRate/20 || s.header.Get("Content-Type") != "audio/wav" {
		t.Errorf("%d bytes, %v", len(s.body), s.header)
	}
}

// form builds a form of the given fields, pairs of name and value, with a file before them unless its part's name is "".
func form(t *testing.T, file string, fields ...string) (ctype, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if file != "" {
		part, err := w.CreateFormFile(file, "speech.wav")
		if err != nil {
			t.Fatal(err)
		}
		part.Write(make([]byte, 20000))
	}
	for i := 0; i+1 < len(fields); i += 2 {
		w.WriteField(fields[i], fields[i+1])
	}
	w.Close()
	return w.FormDataContentType(), b.String()
}

func TestForms(t *testing.T) {
	e := start(t, Options{Behaviour: Behaviour{Models: []string{"m"}}})
	const text = "This is m. The file speech.wav has 20000 bytes."
	for name, c := range map[string]struct {
		path, file string
		fields     []string
		status     int
		want       string
	}{
		"json":         {"audio/transcriptions", "file", []string{"model", "m"}, 200, `"text":"` + text + `"`},
		"text":         {"audio/translations", "file", []string{"model", "m", "response_format", "text"}, 200, text + "\n"},
		"verbose":      {"audio/transcriptions", "file", []string{"model", "m", "response_format", "verbose_json", "language", "en"}, 200, `"language":"en"`},
		"stream":       {"audio/transcriptions", "file", []string{"model", "m", "stream", "true"}, 200, `"type":"transcript.text.done"`},
		"subtitles":    {"audio/transcriptions", "file", []string{"model", "m", "response_format", "srt"}, 400, "response_format"},
		"no file":      {"audio/transcriptions", "", []string{"model", "m"}, 400, "has no file"},
		"no model":     {"audio/transcriptions", "file", nil, 400, "names no model"},
		"other model":  {"audio/transcriptions", "file", []string{"model", "x"}, 404, "model_not_found"},
		"edit":         {"images/edits", "image", []string{"model", "m", "n", "2"}, 200, "b64_json"},
		"several":      {"images/edits", "image[]", []string{"model", "m"}, 200, "b64_json"},
		"variation":    {"images/variations", "image", []string{"model", "m"}, 200, "b64_json"},
		"no image":     {"images/edits", "file", []string{"model", "m"}, 400, "has no image"},
		"long field":   {"audio/transcriptions", "file", []string{"model", strings.Repeat("m", 70000)}, 400, "names no model"},
		"many at once": {"images/edits", "image", []string{"model", "m", "n", "11"}, 400, "10 images"},
	} {
		ctype, body := form(t, c.file, c.fields...)
		a := post(t, client(t), e.URL()+"/v1/"+c.path, body, "Content-Type", ctype)
		if a.status != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	ctype, body := form(t, "file", "model", "m")
	if a := post(t, client(t), e.URL()+"/v1/audio/transcriptions", body[:len(body)-300], "Content-Type", ctype); a.status != 400 {
		t.Errorf("a broken form: %+v", a)
	}
	if a := post(t, client(t), e.URL()+"/v1/audio/transcriptions", hello); a.status != 400 {
		t.Errorf("no form: %+v", a)
	}
}
