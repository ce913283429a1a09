package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"mime/multipart"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// pixel is a PNG of one transparent pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// images serves the generation of images; each is one pixel.
func (x *exchange) images() {
	root, ok := x.object()
	if !ok {
		return
	}
	if root.get("prompt").Type != gjson.String {
		x.fail(400, "", "prompt", "A prompt is required.")
		return
	}
	x.pixels(int(root.get("n").Int()), countWords(root.get("prompt").Raw))
}

func (x *exchange) pixels(n, words int) {
	if n = max(1, n); n > 10 {
		x.fail(400, "", "n", "There can be at the most 10 images.")
		return
	}
	data := make([]object, n)
	for i := range data {
		data[i] = object{"b64_json": pixel}
	}
	x.list(object{
		"created": x.q.At.Unix(), "data": data,
		"usage": object{"input_tokens": words, "output_tokens": n, "total_tokens": words + n},
	})
}

// speech serves OpenAI's speech with silence, a twentieth of a second for each word, as WAV whatever was asked for.
func (x *exchange) speech() {
	root, ok := x.object()
	if !ok {
		return
	}
	if root.get("input").Type != gjson.String {
		x.fail(400, "", "input", "An input is required.")
		return
	}
	x.s.ctype = "audio/wav"
	x.s.buf = appendWAV(x.s.buf, countWords(root.get("input").Raw)*wavRate/20)
	x.s.put(atOnce)
}

const wavRate = 8000 // samples per second

// appendWAV appends so many silent samples of one byte.
func appendWAV(dst []byte, samples int) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(append(dst, "RIFF"...), uint32(36+samples))
	dst = le.AppendUint32(append(dst, "WAVEfmt "...), 16)
	dst = le.AppendUint16(dst, 1) // PCM
	dst = le.AppendUint16(dst, 1) // channel
	dst = le.AppendUint32(dst, wavRate)
	dst = le.AppendUint32(dst, wavRate) // bytes per second
	dst = le.AppendUint16(dst, 1)       // bytes per frame
	dst = le.AppendUint16(dst, 8)       // bits per sample
	dst = le.AppendUint32(append(dst, "data"...), uint32(samples))
	return append(dst, bytes.Repeat([]byte{0x80}, samples)...)
}

// upload is what a form brings.
type upload struct {
	fields map[string]string
	name   string // of the file
	size   int64
	found  bool
}

// readUpload reads a form whose file stands in a part of the given name, or of that name with brackets.
func readUpload(body []byte, boundary, file string) (upload, error) {
	u := upload{fields: make(map[string]string)}
	for r := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, err
		}
		if part.FileName() == "" {
			u.fields[part.FormName()] = readField(part)
			continue
		}
		n, err := io.Copy(io.Discard, part)
		if err != nil {
			return u, err
		}
		if name := strings.TrimSuffix(part.FormName(), "[]"); name == file {
			u.name, u.size, u.found = part.FileName(), u.size+n, true
		}
	}
}

// form returns the form of the request, which must have a file, and a model that is served.
func (x *exchange) form(file string) (upload, bool) {
	boundary, ok := formBoundary(x.q.Get("Content-Type"))
	if !ok {
		x.fail(400, "", "", "The body must be multipart/form-data.")
		return upload{}, false
	}
	u, err := readUpload(x.q.Body, boundary, file)
	if err != nil {
		x.fail(400, "", "", "The form is broken: "+err.Error())
		return u, false
	}
	if !x.serves(x.q.Model) {
		return u, false
	}
	if !u.found {
		x.fail(400, "", file, "The form has no "+file+".")
	}
	return u, u.found
}

// editImage serves the edits and variations of images.
func (x *exchange) editImage() {
	if u, ok := x.form("image"); ok {
		n, _ := strconv.Atoi(u.fields["n"]) // anything else is one
		x.pixels(n, countWords(u.fields["prompt"]))
	}
}

// transcribe serves transcriptions and translations.
func (x *exchange) transcribe() {
	u, ok := x.form("file")
	if !ok {
		return
	}
	said := x.b.Text
	if said == "" {
		said = "This is " + x.q.Model + ". The file " + u.name + " has " + strconv.FormatInt(u.size, 10) + " bytes."
	}
	words := splitWords(nil, said)
	in := int(u.size/wavRate) + 1
	usage := object{"type": "tokens", "input_tokens": in, "output_tokens": len(words), "total_tokens": in + len(words)}
	switch format := u.fields["response_format"]; {
	case x.q.Stream:
		x.streamTranscript(said, words, usage)
		return
	case format == "text":
		x.s.ctype = "text/plain; charset=utf-8"
		x.s.buf = append(x.s.buf, said+"\n"...)
		x.s.put(atOnce)
	case format == "verbose_json":
		x.list(object{"task": "transcribe", "language": u.fields["language"], "duration": in, "text": said, "segments": []any{}, "usage": usage})
	case format == "" || format == "json":
		x.list(object{"text": said, "usage": usage})
	default:
		x.fail(400, "", "response_format", "This engine answers with json, verbose_json or text.")
	}
	x.s.tokens = len(words)
}

func (x *exchange) streamTranscript(said string, words []string, usage object) {
	x.s.stream, x.s.ctype = true, "text/event-stream"
	for i, w := range words {
		pause := betweenToken
		if i == 0 {
			pause = firstToken
		}
		x.unnamed(object{"type": "transcript.text.delta", "delta": w}, pause)
	}
	x.unnamed(object{"type": "transcript.text.done", "text": said, "usage": usage}, atOnce)
	x.s.buf = append(x.s.buf, "data: [DONE]\n\n"...)
	x.s.put(atOnce)
}

// unnamed writes an event without a name.
func (x *exchange) unnamed(data object, p pause) {
	b := appendJSON(append(x.s.buf, "data: "...), data)
	b = append(b, "\n\n"...)
	x.s.buf = b
	x.event(p)
}
