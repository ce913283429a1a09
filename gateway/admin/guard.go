package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Token is the secret that the admin address asks for, as a file holds it. The zero value asks for none.
type Token struct {
	path   string
	digest atomic.Pointer[[sha256.Size]byte]
}

// shortestToken is how many bytes a token has at least, so that it can't be guessed.
const shortestToken = 16

// OpenToken reads a token from a file. White space around it does not count.
func OpenToken(path string) (*Token, error) {
	t := &Token{path: path}
	if err := t.Reload(); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the file again. With an error the token stays what it was.
func (t *Token) Reload() error {
	text, err := os.ReadFile(t.path)
	if err != nil {
		return err
	}
	token := strings.TrimSpace(string(text))
	switch {
	case len(token) < shortestToken:
		return errors.New("the admin token has fewer than 16 bytes; `openssl rand -hex 32` makes a good one")
	case strings.ContainsAny(token, " \t\r\n"):
		return errors.New("the admin token has white space in it")
	}
	digest := sha256.Sum256([]byte(token))
	t.digest.Store(&digest)
	return nil
}

// is reports whether somebody presents the token. How long it takes tells nothing about it.
func (t *Token) is(presented string) bool {
	digest := sha256.Sum256([]byte(presented))
	return subtle.ConstantTimeCompare(digest[:], t.digest.Load()[:]) == 1
}

// Loopback reports whether an address can be reached from this machine only.
func Loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// guard lets requests through to a handler that come from an operator, and not from a web page that an operator's browser
// shows: by the token if there is one, and on loopback, where there may be none, by the host's name that was asked for
// (against names that are made to lead to loopback). What changes something must not come from another origin, and says
// that it is JSON, which no form can. There are no CORS headers, so no other origin can read an answer. The console's own
// files need no token: a browser can't send one with a page, and there is nothing in them that is not in the program.
func (a *admin) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz": // whoever checks the process's health has no token
			next.ServeHTTP(w, r)
			return
		case a.Token != nil && !a.pages[r.URL.Path] && !a.known(r):
			h.Set("WWW-Authenticate", `Bearer realm="gpustack-gateway"`)
			fail(w, http.StatusUnauthorized, "the admin token is required, as Authorization: Bearer TOKEN")
			return
		case a.Token == nil && !local(r.Host):
			fail(w, http.StatusForbidden, "the admin address is not known by the name of this Host header; "+
				"ask for localhost, or give the gateway a token (--admin-token-file)")
			return
		}
		if foreign(r) {
			fail(w, http.StatusForbidden, "the request comes from a web page of another origin")
			return
		}
		if changes(r.Method) {
			if err := origins.Check(r); err != nil {
				fail(w, http.StatusForbidden, "the request comes from a web page of another origin")
				return
			}
			if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
				fail(w, http.StatusUnsupportedMediaType, "the request needs Content-Type: application/json, with or without a body")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// foreign reports whether a browser says that another origin's page asks for something that is no page itself.
func foreign(r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/metrics" {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// changes reports whether a method may change something.
func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// known reports whether a request has the token.
func (a *admin) known(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && a.Token.is(strings.TrimSpace(token))
}

// local reports whether a Host header names loopback.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Limits of one request, besides those of its body.
const (
	readTimeout  = 30 * time.Second
	writeTimeout = 2 * time.Minute // a decision service that is asked for explain may take a minute
	idleTimeout  = 2 * time.Minute
	headTimeout  = 10 * time.Second
	maxHead      = 32 << 10
)

// Server returns the server of an admin address, for a handler of New.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadTimeout: readTimeout, ReadHeaderTimeout: headTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHead}
}
