package admin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/gpustack/gpustack-gateway/internal/atomicfile"
	"github.com/gpustack/gpustack-gateway/route"
)

// named returns what a parameter of the path is. Names are escaped there as in encodeURIComponent, slashes as well.
func named(r *http.Request, parameter string) string {
	name := chi.URLParam(r, parameter)
	if r.URL.RawPath == "" {
		return name // the router has seen the path without its escapes
	}
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// page is what all lists of the file have in common.
type page struct {
	Generation uint64 `json:"generation"`
	ETag       string `json:"etag"` // as in the header
}

func (d *document) page() page { return page{d.snapshot.Generation, d.etag} }

// show answers with what is in the file, and the file's version.
func (d *document) show(w http.ResponseWriter, value any) {
	w.Header().Set("ETag", d.etag)
	write(w, http.StatusOK, value)
}

// shows returns a handler that shows one entry.
func (a *admin) shows(k *kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := a.viewer()
		_, i, err := k.at(v.document, r)
		if err != nil {
			a.refuse(w, err)
			return
		}
		v.show(w, k.show(v, i))
	}
}

func (a *admin) getRoutes(w http.ResponseWriter, _ *http.Request) {
	v := a.viewer()
	answer := struct {
		page
		Window int         `json:"window_seconds"` // that "lately" is
		Routes []routeView `json:"routes"`
	}{page: v.page(), Window: int(window.Seconds()), Routes: []routeView{}}
	for i := range v.file.Routes {
		answer.Routes = append(answer.Routes, v.route(i))
	}
	v.show(w, answer)
}

func (a *admin) getModels(w http.ResponseWriter, _ *http.Request) {
	v := a.viewer()
	answer := struct {
		page
		Models []modelView `json:"models"`
	}{page: v.page(), Models: []modelView{}}
	for i := range v.file.Models {
		answer.Models = append(answer.Models, v.model(i))
	}
	v.show(w, answer)
}

func (v *viewer) model(i int) modelView {
	m := &v.file.Models[i]
	view := modelView{Name: m.Name, ServedModelName: m.ServedModelName, Instances: v.instances(m),
		Config: v.raw(v.list(modelsList)[i])}
	if view.ServedModelName == "" {
		view.ServedModelName = m.Name
	}
	view.Routes = v.users(func(e *route.Entry) bool {
		return slices.ContainsFunc(e.Targets, func(t route.TargetEntry) bool { return t.Model != nil && *t.Model == m.Name })
	})
	return view
}

// users returns the names of the routes that use something.
func (v *viewer) users(uses func(*route.Entry) bool) []string {
	names := []string{}
	for i := range v.file.Routes {
		if e := &v.file.Routes[i]; uses(e) {
			names = append(names, e.Name)
		}
	}
	return names
}

func (a *admin) getProviders(w http.ResponseWriter, _ *http.Request) {
	v := a.viewer()
	answer := struct {
		page
		Providers []providerView `json:"providers"`
	}{page: v.page(), Providers: []providerView{}}
	for i := range v.file.Providers {
		answer.Providers = append(answer.Providers, v.provider(i))
	}
	v.show(w, answer)
}

func (v *viewer) provider(i int) providerView {
	p := &v.file.Providers[i]
	engine := v.instance(p.Name, route.EngineURL(p.Endpoint), 0, true)
	view := providerView{Name: p.Name, Type: p.Type, Endpoint: p.Endpoint, Models: list(p.Models),
		Token: tokenView{Set: p.APIToken.IsSet(), Variable: p.APIToken.Variable()}, InFlight: engine.InFlight,
		State: engine.State, Config: v.raw(v.list(providersList)[i], tokenMember)}
	view.Routes = v.users(func(e *route.Entry) bool { return asks(e, p.Name) })
	return view
}

// asks reports whether a route sends anything to a provider: as a target's, or as a policy's.
func asks(e *route.Entry, provider string) bool {
	for i := range e.Targets {
		if p := e.Targets[i].Provider; p != nil && *p == provider {
			return true
		}
	}
	if e.Policies == nil {
		return false
	}
	for i := range e.Policies.Members {
		if p := e.Policies.Members[i].Value.Member("provider"); p != nil && p.Text == provider {
			return true
		}
	}
	return false
}

func (a *admin) getKeys(w http.ResponseWriter, _ *http.Request) {
	v := a.viewer()
	answer := struct {
		page
		Keys []keyView `json:"keys"`
	}{page: v.page(), Keys: []keyView{}}
	for i := range v.file.Keys {
		answer.Keys = append(answer.Keys, v.key(i))
	}
	v.show(w, answer)
}

func (v *viewer) key(i int) keyView {
	k := &v.file.Keys[i]
	return keyView{Name: k.Name, User: k.User, ExpiresAt: k.ExpiresAt, AllowedRoutes: k.AllowedRoutes,
		Config:  v.raw(v.list(keysList)[i], digestMember),
		Expired: k.ExpiresAt != nil && !v.now.Before(*k.ExpiresAt)}
}

// defaultsView is what holds for every route that does not say otherwise.
type defaultsView struct {
	Config json.RawMessage `json:"config"`
}

func (v *viewer) defaults() defaultsView {
	if d := v.file.Root().Member(defaultsMember); d != nil {
		return defaultsView{v.raw(d)}
	}
	return defaultsView{json.RawMessage("{}")}
}

func (a *admin) getDefaults(w http.ResponseWriter, _ *http.Request) {
	v := a.viewer()
	v.show(w, v.defaults())
}

// statusView is what the process is about.
type statusView struct {
	Version    string      `json:"version"`
	Generation uint64      `json:"generation"`
	Loaded     time.Time   `json:"loaded"` // when it began to serve
	File       fileView    `json:"file"`
	Draining   bool        `json:"draining"`
	Active     int64       `json:"active_requests"`
	Clients    int         `json:"clients"`
	Circuits   []Circuit   `json:"circuits"`
	Counts     countsView  `json:"counts"`
	LastReload *reloadView `json:"last_reload"`
}

type fileView struct {
	Path     string `json:"path"`
	ETag     string `json:"etag"`             // of what serves
	InUse    bool   `json:"in_use"`           // what serves is what the file says now
	Writable bool   `json:"writable"`         // as far as can be told without writing
	Reason   string `json:"reason,omitempty"` // why it is not
}

type countsView struct {
	Routes    int `json:"routes"`
	Unusable  int `json:"unusable_routes"`
	Models    int `json:"models"`
	Providers int `json:"providers"`
	Keys      int `json:"keys"`
}

type reloadView struct {
	Time     time.Time     `json:"time"`
	Result   string        `json:"result"`          // "ok", "refused" or "unreadable"
	Error    string        `json:"error,omitempty"` // why it could not be read
	Problems []problemView `json:"problems"`        // of the file as it was then
}

// Circuit is whether a decision service is asked.
type Circuit struct {
	Provider string `json:"provider"`
	// State is "closed": it is asked; "open": not until a time; or "half_open": to see whether it is back.
	State    string     `json:"state"`
	Failures int        `json:"failures"`
	Until    *time.Time `json:"until,omitempty"`
}

func (a *admin) status(w http.ResponseWriter, _ *http.Request) {
	d, last := a.documents.of(a.Table.Load()), a.Table.Status()
	view := statusView{Version: a.Version, Generation: d.snapshot.Generation, Loaded: d.snapshot.Loaded,
		Draining: !a.Ready(), Active: a.Active(), Clients: a.Clients(), Circuits: list(a.Circuits()),
		File: fileView{Path: a.Table.Path(), ETag: d.etag, InUse: last.Err == nil && !last.Refused, Writable: true},
		Counts: countsView{Routes: len(d.file.Routes), Models: len(d.file.Models),
			Providers: len(d.file.Providers), Keys: len(d.file.Keys)},
		LastReload: &reloadView{Time: last.Time, Result: "ok", Problems: problemsOf(last.Problems, "")}}
	switch {
	case last.Err != nil:
		view.LastReload.Result, view.LastReload.Error = "unreadable", last.Err.Error()
	case last.Refused:
		view.LastReload.Result = "refused"
	}
	if err := atomicfile.Check(a.Table.Path()); err != nil {
		view.File.Writable, view.File.Reason = false, err.Error()
	}
	for _, r := range d.snapshot.Routes() {
		if r.Reason != "" {
			view.Counts.Unusable++
		}
	}
	d.show(w, view)
}
