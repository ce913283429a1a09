// Package admin is the operator's side of the gateway, on an address of its own. It answers whether the process is
// alive and whether it takes requests, what it has counted, and what would become of a request and why.
package admin

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/gpustack/gpustack-gateway/route"
)

// Config is what the admin side knows of the process.
type Config struct {
	// Ready reports whether new requests should be sent here. It must be safe to call at any time.
	Ready func() bool
	// Table is what is routed.
	Table *route.Table
	// Metrics answers a scrape.
	Metrics http.Handler
}

// New returns the handler of the admin address.
func New(c Config) http.Handler {
	r := chi.NewRouter()
	a := &admin{ready: c.Ready, table: c.Table, routes: r}
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.methodNotAllowed)
	r.Get("/healthz", a.healthz)
	r.Head("/healthz", a.healthz)
	r.Get("/readyz", a.readyz)
	r.Head("/readyz", a.readyz)
	r.Post("/api/explain", a.explain)
	r.Method(http.MethodGet, "/metrics", c.Metrics)
	return r
}

type admin struct {
	ready  func() bool
	table  *route.Table
	routes chi.Routes // to say which methods a path takes
}

type state struct {
	Status string `json:"status"`
}

// healthz answers 200 as long as the process can answer at all: whoever restarts it by this must not do so because an
// upstream is down, or because it drains.
func (a *admin) healthz(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, state{"ok"})
}

// readyz answers 200 while new requests are welcome, and 503 before and after.
func (a *admin) readyz(w http.ResponseWriter, _ *http.Request) {
	if !a.ready() {
		write(w, http.StatusServiceUnavailable, state{"not ready"})
		return
	}
	write(w, http.StatusOK, state{"ready"})
}

// failure is an error as the admin API tells it.
type failure struct {
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (a *admin) notFound(w http.ResponseWriter, _ *http.Request) {
	fail(w, http.StatusNotFound, "there is nothing at this path")
}

func (a *admin) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if a.routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allow = append(allow, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	fail(w, http.StatusMethodNotAllowed, "this path does not take the method "+r.Method)
}

func fail(w http.ResponseWriter, status int, message string) {
	var f failure
	f.Error.Message = message
	write(w, status, f)
}

// write answers with a JSON value. The answers are states of a moment, so nobody may keep them.
func write(w http.ResponseWriter, status int, value any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // it fails only if the client has left
}
