// Package console is the operator's console: a page, a script and a style sheet that speak to the admin API like any
// other program. Its sources are in web; dist is what `make console` builds of them, committed, so that `go build` alone
// makes a whole binary.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed dist/index.html dist/console.js dist/console.css dist/icon.svg
var dist embed.FS

// policy lets the page load what stands beside it and speak to its own address, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// types are the media types of what is in dist, the same on every system.
var types = map[string]string{".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

// Handlers returns what answers GET and HEAD at each path of the console.
func Handlers() map[string]http.Handler {
	handlers := make(map[string]http.Handler)
	for at, name := range map[string]string{"/": "index.html", "/console.js": "console.js", "/console.css": "console.css", "/icon.svg": "icon.svg"} {
		text, err := dist.ReadFile("dist/" + name)
		if err != nil {
			panic("console: " + err.Error()) // it is embedded, or this would not compile
		}
		handlers[at] = newFile(name, text)
	}
	return handlers
}

// file answers with the text of one file of the console.
type file struct {
	name, media, etag string
	text              []byte
}

func newFile(name string, text []byte) *file {
	sum := sha256.Sum256(text)
	return &file{name: name, media: mime.FormatMediaType(types[path.Ext(name)], map[string]string{"charset": "utf-8"}),
		etag: `"` + hex.EncodeToString(sum[:16]) + `"`, text: text}
}

// ServeHTTP answers, or says that the browser's copy is current. A browser asks each time, so that page and API are of
// one version after an update.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.text))
}
