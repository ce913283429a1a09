package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

const formType = "multipart/form-data; boundary=xyz"

// formOf is a form of parts, each written as its headers, an empty line and its content, with \n for CRLF.
func formOf(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("--xyz\r\n" + strings.ReplaceAll(p, "\n", "\r\n") + "\r\n")
	}
	return b.String() + "--xyz--\r\n"
}

func namedPart(name, value string) string {
	return `Content-Disposition: form-data; name="` + name + `"` + "\n\n" + value
}

var filePart = `Content-Disposition: form-data; name="file"; filename="späte \"Aufnahme\".wav"` + "\nContent-Type: audio/wav\n\n" +
	"RIFF\x00\x00\xff\xfe--xyz \x00--xyz--"

func TestC089_ModelAnywhereInTheForm(t *testing.T) {
	model := namedPart("model", "asr")
	large := namedPart("x", strings.Repeat("--xy\n-", 1<<20))
	tests := []struct{ name, kind, body string }{
		{"first", formType, formOf(model, filePart)},
		{"last", formType, formOf(filePart, model)},
		{"between", formType, formOf(filePart, model, large)},
		{"behind much", formType, formOf(large, filePart, model)},
		{"unquoted name", formType, formOf(filePart, "Content-Disposition: form-data; name=model\n\nasr")},
		{"name in any case", formType, formOf("content-DISPOSITION:FORM-data;NAME=\"model\"\n\nasr")},
		{"white space", formType, formOf("Content-Disposition: form-data ;\tname = \"model\" ; \n\nasr")},
		{"headers around it", formType, formOf("X-A: b\nContent-Type: text/plain; charset=utf-8\nContent-Disposition: form-data; name=\"model\"\n" +
			"Content-Length: 3\nContent-Transfer-Encoding: 8BIT\nX-Empty:\n\nasr")},
		{"quoted boundary", `multipart/form-data; boundary="xyz"`, formOf(filePart, model)},
		{"parameters around it", `Multipart/Form-Data ;charset=utf-8; BOUNDARY = xyz ; a="b;boundary=c"`, formOf(filePart, model)},
		{"boundary that is no token", "multipart/form-data; boundary=xy=_z:/", strings.ReplaceAll(formOf(filePart, model), "xyz", "xy=_z:/")},
		{"preamble and epilogue", formType, "This is\r\na form. --xyz\r\n" + formOf(model) + "and more\r\n"},
		{"padding behind boundaries", formType, strings.ReplaceAll(formOf(model, "Content-Disposition: form-data; name=x\n\ny"), "xyz\r", "xyz \t\r")},
		{"no line end at the end", formType, strings.TrimSuffix(formOf(model), "\r\n")},
		{"a part without headers", formType, formOf("\n", model)},
		{"a part without content", formType, "--xyz\r\nX: y\r\n\r\n" + formOf(model)},
		{"escaped quotes in other names", formType, formOf(namedPart(`a\"; name=\"model`, "x"), namedPart(`mod\"el`, "z"), model)},
		{"names like it", formType, formOf(namedPart("Model", "x"), namedPart("models", "y"), namedPart("model[]", "z"), namedPart("", "e"), model)},
		{"other names twice", formType, formOf(namedPart("image[]", "x"), namedPart("image[]", "y"), model)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c Call
			if err := c.ParseForm([]byte(test.kind), []byte(test.body)); err != nil {
				t.Fatal(err)
			}
			if from, until := c.ModelSpan(); string(c.Model()) != "asr" || test.body[from:until] != "asr" || c.Stream() {
				t.Errorf("model %q, span %d-%d", c.Model(), from, until)
			}
		})
	}
}

func TestC090_OnlyTheModelPartChanges(t *testing.T) {
	body := formOf(filePart, "X-Custom: 1\nContent-Disposition: form-data; name=model\n\nasr", namedPart("stream", "true"))
	var c Call
	if err := c.ParseForm([]byte(formType), []byte(body)); err != nil {
		t.Fatal(err)
	}
	from, until := c.ModelSpan()
	got := body[:from] + string(c.EncodeModel(nil, "whisper-1")) + body[until:]
	if got != strings.Replace(body, "\r\nasr\r\n", "\r\nwhisper-1\r\n", 1) || !c.Stream() {
		t.Errorf("%q", got)
	}
	if _, found, err := c.String([]string{"model"}); found || err != nil {
		t.Error("a form has no JSON members")
	}
	c.Reset()
	if len(c.Model()) > 0 || string(c.EncodeModel(nil, "x")) != `"x"` {
		t.Error("something is left")
	}
}

func TestC091_BadForms(t *testing.T) {
	model := namedPart("model", "asr")
	tests := []struct{ name, body, param, says string }{
		{"two models", formOf(model, filePart, model), "model", "more than one"},
		{"two models, one unquoted", formOf(model, "Content-Disposition: form-data; name=model\n\nb"), "model", "more than one"},
		{"two streams", formOf(model, namedPart("stream", "true"), namedPart("stream", "false")), "stream", "more than one"},
		{"no model", formOf(filePart), "model", `no part named "model"`},
		{"no part", "--xyz--\r\n", "model", `no part named "model"`},
		{"empty model", formOf(namedPart("model", "")), "model", "is empty"},
		{"model without content", "--xyz\r\nContent-Disposition: form-data; name=model\r\n\r\n--xyz--", "model", "is empty"},
		{"model is a file", formOf(`Content-Disposition: form-data; name="model"; filename="a"` + "\n\nasr"), "model", "is a file"},
		{"model is a file, extended", formOf(`Content-Disposition: form-data; filename*=utf-8''a; name="model"` + "\n\nasr"), "model", "is a file"},
		{"model is encoded", formOf("Content-Transfer-Encoding: base64\nContent-Disposition: form-data; name=model\n\nYXNy"), "model", "Transfer-Encoding"},
		{"model of two lines", formOf(namedPart("model", "as\nr")), "model", "one line"},
		{"model with NUL", formOf(namedPart("model", "as\x00r")), "model", "one line"},
		{"model not UTF-8", formOf(namedPart("model", "as\xffr")), "model", "UTF-8"},
		{"stream of another kind", formOf(model, namedPart("stream", "maybe")), "stream", "true or false"},
		{"stream is long", formOf(model, namedPart("stream", strings.Repeat("true", 1<<20))), "stream", "true or false"},
		{"empty", "", "", "closing boundary"},
		{"no boundary in it", "model=asr", "", "closing boundary"},
		{"JSON", `{"model":"asr"}`, "", "closing boundary"},
		{"no end", strings.TrimSuffix(formOf(model), "--xyz--\r\n"), "", "closing boundary"},
		{"end of another", strings.Replace(formOf(model), "--xyz--", "--xyy--", 1), "", "closing boundary"},
		{"cut in headers", "--xyz\r\nContent-Disposition: form-", "", "inside the headers"},
		{"cut in a boundary", "--xyz\r\n" + strings.ReplaceAll(model, "\n", "\r\n") + "\r\n--xyz", "", "begins like a boundary"},
		{"line ends", strings.ReplaceAll(formOf(model), "\r\n", "\n"), "", "begins like a boundary"},
		{"LF before a boundary", strings.Replace(formOf(namedPart("x", "a"), model), "a\r\n--", "a\n--", 1), "", "not CRLF"},
		{"CR before a boundary", strings.Replace(formOf(namedPart("x", "a"), model), "a\r\n--", "a\r--", 1), "", "not CRLF"},
		{"a longer boundary", formOf(namedPart("x", "a\n--xyzz\nb"), model), "", "begins like a boundary"},
		{"parts behind the end", formOf(model) + formOf(namedPart("model", "other")), "", "follows the last"},
		{"folded header", formOf("Content-Disposition: form-data;\n name=model\n\nasr"), "", "malformed"},
		{"header without colon", formOf("Content-Disposition\n\nasr"), "", "malformed"},
		{"space before the colon", formOf("Content-Disposition : form-data; name=model\n\nasr"), "", "malformed"},
		{"LF in a header", "--xyz\r\nX: a\nContent-Disposition: form-data; name=model\r\n\r\nasr\r\n--xyz--", "", "malformed"},
		{"long headers", formOf("X: " + strings.Repeat("x", maxPartHead) + "\n" + model), "", "longer than 8192"},
		{"many parts", formOf(strings.Split(strings.Repeat("X: y\n\n|", maxParts+1), "|")...), "", "more than 1000 parts"},
		{"two dispositions", formOf("Content-Disposition: form-data; name=x\n" + model), "", "two Content-Disposition"},
		{"two names", formOf(`Content-Disposition: form-data; name=x; name="model"` + "\n\nasr"), "", "written twice"},
		{"another parameter twice", formOf(`Content-Disposition: form-data; name=model; a=1; A=2` + "\n\nasr"), "", "written twice"},
		{"value that is no token", formOf("Content-Disposition: form-data; name=model; a=(\n\nasr"), "", "malformed"},
		{"many parameters", formOf(`Content-Disposition: form-data; name=model; a=1; b=1; c=1; d=1; e=1; f=1; g=1; h=1` + "\n\nasr"), "", "malformed"},
		{"extended name", formOf("Content-Disposition: form-data; name*=utf-8''model\n\nasr"), "", "name*"},
		{"continued name", formOf(`Content-Disposition: form-data; name*0="mod"; name*1="el"` + "\n\nasr"), "", "name*"},
		{"needless backslash", formOf(namedPart(`mo\del`, "asr")), "", "backslashes"},
		{"not form-data", formOf("Content-Disposition: attachment; name=model\n\nasr"), "", "not form-data"},
		{"name not closed", formOf(`Content-Disposition: form-data; name="model` + "\n\nasr"), "", "malformed"},
		{"text behind the name", formOf(`Content-Disposition: form-data; name="x"model` + "\n\nasr"), "", "malformed"},
		{"parameter without value", formOf(`Content-Disposition: form-data; name` + "\n\nasr"), "", "malformed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c Call
			err := c.ParseForm([]byte(formType), []byte(test.body))
			if err == nil || err.Status != 400 || err.Param != test.param || !strings.Contains(err.Message, test.says) {
				t.Fatalf("%+v", err)
			}
			if from, until := c.ModelSpan(); len(c.Model()) > 0 || until > from || c.Stream() {
				t.Error("something is left")
			}
		})
	}
	for _, kind := range []string{"", "multipart/form-data", "multipart/form-data; boundary=", `multipart/form-data; boundary=""`,
		`multipart/form-data; boundary="xyz`, "multipart/form-data; boundary=a; boundary=xyz", "multipart/mixed; boundary=xyz", "application/json",
		`multipart/form-data; boundary="x\yz"`, "multipart/form-data; boundary=xyz; x", "multipart/form-data boundary=xyz",
		"multipart/form-data; boundary=" + strings.Repeat("x", 201), "multipart/form-data; boundary=x\x00yz", `multipart/form-data; boundary="xyz "`} {
		var c Call
		if err := c.ParseForm([]byte(kind), []byte(formOf(model))); err == nil || err.Status != 400 || err.Code != "invalid_content_type" {
			t.Errorf("%q: %+v", kind, err)
		}
	}
}

func TestParseForm_Stream(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": true, "1": true, "on": true, "false": false, "0": false, "": false, "No": false} {
		var c Call
		if err := c.ParseForm([]byte(formType), []byte(formOf(namedPart("model", "m"), namedPart("stream", value)))); err != nil || c.Stream() != want {
			t.Errorf("%q: %v, %v", value, c.Stream(), err)
		}
	}
}

func TestParseForm_Allocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	body, kind := []byte(formOf(filePart, namedPart("model", "asr"), namedPart("stream", "true"))), []byte(formType)
	var c Call
	if n := testing.AllocsPerRun(100, func() {
		if err := c.ParseForm(kind, body); err != nil {
			t.Error(err)
		}
		c.Reset()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// standardModel is what the standard library finds in a form: every model there is.
func standardModel(kind string, body []byte) (models []string, ok bool) {
	_, params, err := mime.ParseMediaType(kind)
	if err != nil {
		return nil, false
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := r.NextPart()
		if err != nil {
			return models, errors.Is(err, io.EOF)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return models, false
		}
		if p.FormName() == "model" {
			models = append(models, string(content))
		}
	}
}

func FuzzParseForm(f *testing.F) {
	model := namedPart("model", "asr")
	for _, body := range []string{formOf(model, filePart), formOf(filePart, model, model), formOf("\n", namedPart(`a\"b`, "c"), model), "--xyz\r\nX: y\r\n\r\n--xyz--",
		"pre\r\n" + formOf(model) + "post"} {
		f.Add(formType, []byte(body))
	}
	f.Add(`multipart/form-data; boundary="x y"; a=b`, []byte("--x y\r\n\r\n\r\n--x y--"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		var c Call
		err := c.ParseForm([]byte(kind), body)
		if err != nil {
			if err.Status != 400 || !json.Valid(err.Append(nil, OpenAI, "id")) {
				t.Fatalf("%+v", err)
			}
			return
		}
		if models, ok := standardModel(kind, body); ok && (len(models) != 1 || models[0] != string(c.Model())) {
			t.Fatalf("%q: model %q, the standard library finds %q", body, c.Model(), models)
		}
		from, until := c.ModelSpan()
		renamed := append(c.EncodeModel(bytes.Clone(body[:from]), "other"), body[until:]...)
		var again Call
		if err := again.ParseForm([]byte(kind), renamed); err != nil || string(again.Model()) != "other" || again.Stream() != c.Stream() {
			t.Fatalf("%q: %v", renamed, err)
		}
	})
}

func BenchmarkParseForm20MB(b *testing.B) {
	body := []byte(formOf(namedPart("file", strings.Repeat("RIFF\x00-\xff-", 20<<17)), namedPart("model", "asr")))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var c Call
	for b.Loop() {
		if err := c.ParseForm([]byte(formType), body); err != nil {
			b.Fatal(err)
		}
	}
}
