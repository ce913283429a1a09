package sim

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"
)

// formBoundary returns the boundary of a multipart form, if a media type is that of one.
func formBoundary(ctype string) (string, bool) {
	media, params, err := mime.ParseMediaType(ctype)
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return "", false
	}
	return params["boundary"], true
}

// peekForm returns the model and the wish for a stream that a form states.
func peekForm(body []byte, boundary string) (model string, stream bool) {
	for r := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := r.NextRawPart()
		if err != nil {
			return model, stream
		}
		switch part.FormName() {
		case "model":
			model = readField(part)
		case "stream":
			stream = strings.EqualFold(readField(part), "true")
		}
	}
}

// readField returns the value of a form's field, or "" if it is longer than a field ever is.
func readField(r io.Reader) string {
	const limit = 64 << 10
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil || len(b) > limit {
		return ""
	}
	return string(b)
}
