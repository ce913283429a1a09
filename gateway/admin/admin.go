// Package admin is the operator's side of the gateway, on an address of its own. It answers whether the process is
// alive and whether it takes requests, what it has counted, what is routed and what is happening there, and what would
// become of a request and why.
package admin

import (
	_ "embed" // of openapi.json
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"github.com/gpustack/gpustack-gateway/gateway/admin/console"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/route"
)

// Config is what the admin side knows of the process. Its functions must be safe to call at any time.
type Config struct {
	// Ready reports whether new requests should be sent here.
	Ready func() bool
	// Table is what is routed, and Fleet what is happening there.
	Table *route.Table
	Fleet *lb.Fleet
	// Metrics answers a scrape.
	Metrics http.Handler

	Log      zerolog.Logger // what operators do to what runs
	Version  string
	Active   func() int64     // requests being served
	Clients  func() int       // open client connections
	Circuits func() []Circuit // of the decision services that were asked

	// Token, if set, is asked for everywhere but for the process's health and the console's files. Without it the address
	// has to be on loopback, and answers only to loopback's names.
	Token *Token
	// Recent is told of every request that ends.
	Recent *Recent
	// Check says what the text of a routes file would be, and all that is wrong with it, as serving it would.
	Check func(text []byte) (*route.Snapshot, []route.Problem)
	// Schema is the JSON Schema of a routes file.
	Schema []byte
	// Reload has the table read the file now.
	Reload func()
}

// New returns the handler of the admin address.
func New(c Config) http.Handler {
	a := &admin{Config: c, router: chi.NewRouter(), asker: newAsker(), pages: map[string]bool{}}
	a.routes()
	return a.guard(a.router)
}

type admin struct {
	Config
	router    *chi.Mux
	pages     map[string]bool // paths of the console
	documents documents
	writing   sync.Mutex   // held by a request that edits the file
	streams   atomic.Int64 // of live
	offers    offers
	asker     *http.Client // of providers
}

// routes says what answers where.
func (a *admin) routes() {
	r := a.router
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.methodNotAllowed)
	r.Get("/healthz", a.healthz)
	r.Head("/healthz", a.healthz)
	r.Get("/readyz", a.readyz)
	r.Head("/readyz", a.readyz)
	r.Method(http.MethodGet, "/metrics", a.Metrics)

	for path, file := range console.Handlers() {
		a.pages[path] = true
		r.Method(http.MethodGet, path, file)
		r.Method(http.MethodHead, path, file)
	}

	r.Get("/api/status", a.status)
	r.Get("/api/routes", a.getRoutes)
	r.Get("/api/models", a.getModels)
	r.Get("/api/providers", a.getProviders)
	r.Get("/api/keys", a.getKeys)
	for _, k := range []*kind{&routeKind, &modelKind, &providerKind, &keyKind} {
		path := "/api/" + strings.TrimPrefix(k.list, "api_")
		create := k.create
		if k == &keyKind {
			create = createKey
		}
		r.Post(path, a.writes(create))
		r.Get(path+"/{name}", a.shows(k))
		r.Put(path+"/{name}", a.writes(k.replace))
		r.Delete(path+"/{name}", a.writes(k.remove))
	}
	r.Post("/api/routes/{name}/targets", a.writes(createTarget))
	r.Put("/api/routes/{name}/targets/{index}", a.writes(replaceTarget))
	r.Delete("/api/routes/{name}/targets/{index}", a.writes(removeTarget))
	r.Get("/api/defaults", a.getDefaults)
	r.Put("/api/defaults", a.writes(replaceDefaults))
	r.Post("/api/routes/{name}/criteria", a.skeleton)
	r.Get("/api/providers/{name}/models", a.providerModels)
	r.Post("/api/models/{name}/instances/{instance}/drain", a.drains(true))
	r.Delete("/api/models/{name}/instances/{instance}/drain", a.drains(false))
	r.Get("/api/live", a.live)
	r.Post("/api/simulate", a.simulate)
	r.Get("/api/schema", constant(a.Schema))
	r.Get("/api/openapi.json", constant(openapi))
	r.Post("/api/explain", a.explain)
}

// openapi describes the API. A test holds it to what answers.
//
//go:embed openapi.json
var openapi []byte

// constant returns a handler that answers with one JSON text.
func constant(text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // it fails only if the client has left
	}
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
	if !a.Ready() {
		write(w, http.StatusServiceUnavailable, state{"not ready"})
		return
	}
	write(w, http.StatusOK, state{"ready"})
}

// failure is an error as the admin API tells it.
type failure struct {
	Error struct {
		Message  string        `json:"message"`
		Code     string        `json:"code,omitempty"`     // for programs, where there is something to be done
		Problems []problemView `json:"problems,omitempty"` // with the file, or with what was to be written
	} `json:"error"`
}

func (a *admin) notFound(w http.ResponseWriter, _ *http.Request) {
	fail(w, http.StatusNotFound, "there is nothing at this path")
}

// methods are those that a path may take.
func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

func (a *admin) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, method := range methods() {
		if a.router.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allow = append(allow, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	fail(w, http.StatusMethodNotAllowed, "this path does not take the method "+r.Method)
}

// quote shows a name that came with a request.
func quote(name string) string { return fmt.Sprintf("%.60q", name) }

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
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // it fails only if the client has left
}
