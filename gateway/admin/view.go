package admin

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/route"
)

// routeView is a route as it is written and as it is now.
type routeView struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Categories   []string        `json:"categories"`
	AccessPolicy string          `json:"access_policy"`
	AllowedUsers []string        `json:"allowed_users"`
	RouteBy      string          `json:"route_by"`
	Usable       bool            `json:"usable"`
	Reason       string          `json:"reason,omitempty"` // why it is not usable
	Problems     []problemView   `json:"problems"`
	Requests     int64           `json:"requests"` // that targets served lately, fallback targets among them
	Targets      []targetView    `json:"targets"`  // in the order written
	Config       json.RawMessage `json:"config"`   // as written
}

type targetView struct {
	Index       int            `json:"index"` // among the targets as written
	Name        string         `json:"name"`  // as explain and the log call it
	Kind        string         `json:"kind"`  // "model" or "provider"
	Of          string         `json:"of"`    // name of the model or provider
	Model       string         `json:"model"` // what policies call it
	Weight      int64          `json:"weight"`
	Fallback    bool           `json:"fallback"`
	StatusCodes []string       `json:"fallback_status_codes"`
	Requests    int64          `json:"requests"` // that it served lately
	Share       float64        `json:"share"`    // of the route's, from 0 to 1
	Instances   []instanceView `json:"instances"`
}

type instanceView struct {
	Name     string     `json:"name"`
	URL      string     `json:"url"` // of the engine; what has one URL is one engine
	InFlight int64      `json:"in_flight"`
	Limit    int64      `json:"limit"` // 0 is unlimited
	State    string     `json:"state"`
	Until    *time.Time `json:"until,omitempty"` // end of the ejection, if there is one
	Requests int64      `json:"requests"`        // that it served lately, of this route
}

type modelView struct {
	Name            string          `json:"name"`
	ServedModelName string          `json:"served_model_name"`
	Instances       []instanceView  `json:"instances"`
	Routes          []string        `json:"routes"` // whose targets it is
	Config          json.RawMessage `json:"config"`
}

type providerView struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Endpoint string          `json:"endpoint"`
	Models   []string        `json:"models"`
	Token    tokenView       `json:"api_token"`
	InFlight int64           `json:"in_flight"`
	State    string          `json:"state"`
	Routes   []string        `json:"routes"` // whose targets it is, or whose policies ask it
	Config   json.RawMessage `json:"config"` // without api_token
}

// tokenView tells of a token that there is one, and never which.
type tokenView struct {
	Set      bool   `json:"set"`
	Variable string `json:"variable,omitempty"` // of the environment, that holds it
}

type keyView struct {
	Name          string          `json:"name"`
	User          string          `json:"user"`
	ExpiresAt     *time.Time      `json:"expires_at"` // null is never
	Expired       bool            `json:"expired"`
	AllowedRoutes []string        `json:"allowed_routes"` // null is all
	Config        json.RawMessage `json:"config"`         // without sha256
}

// problemView is something wrong in the file.
type problemView struct {
	Level   string `json:"level"` // "error", "unusable" or "warning"
	Path    string `json:"path"`  // in the file
	Field   string `json:"field"` // the path within the entry that is shown or written; "" if it is the entry, or beyond it
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Route   string `json:"route,omitempty"`
	Message string `json:"message"`
}

// problemsOf shows problems; entry is the path of what they are shown with, "" for the file.
func problemsOf(problems []route.Problem, entry string) []problemView {
	views := []problemView{}
	for _, p := range problems {
		v := problemView{Level: p.Level.String(), Path: p.Path, Line: p.Line, Column: p.Column, Route: p.Route,
			Message: p.Message}
		if within, ok := strings.CutPrefix(p.Path, entry); ok && entry != "" {
			v.Field = strings.TrimPrefix(within, ".")
		}
		views = append(views, v)
	}
	return views
}

// viewer makes views of one moment.
type viewer struct {
	*document
	engines map[string]*lb.Engine // by URL
	served  map[place]int64
	now     time.Time
}

func (a *admin) viewer() *viewer {
	now := time.Now()
	v := &viewer{document: a.documents.of(a.Table.Load()), engines: map[string]*lb.Engine{}, served: a.Recent.served(now),
		now: now}
	for _, e := range a.Fleet.Engines() {
		v.engines[e.URL()] = e
	}
	return v
}

// route shows the i-th route of the file.
func (v *viewer) route(i int) routeView {
	e, r := &v.file.Routes[i], v.snapshot.Routes()[i]
	at := jsontree.Index(routesList, i)
	var own []route.Problem
	for _, p := range v.snapshot.Problems() {
		if within(p.Path, at) {
			own = append(own, p)
		}
	}
	view := routeView{Name: r.Name, Description: r.Description, Categories: list(r.Categories),
		AccessPolicy: r.Access.String(), AllowedUsers: list(e.AllowedUsers), RouteBy: r.By.String(), Usable: r.Reason == "", Reason: r.Reason,
		Problems: problemsOf(own, at), Targets: []targetView{}, Config: v.raw(v.list(routesList)[i])}
	chosen, fallback := 0, 0
	for t := range e.Targets {
		target := v.target(&e.Targets[t])
		target.Index = t
		switch {
		case r.Reason != "":
			target.Instances = v.configured(&e.Targets[t])
		case target.Fallback:
			v.fill(&target, r.Name, r.Fallbacks[fallback].Pool, 0)
			fallback++
		default:
			v.fill(&target, r.Name, r.Pool, chosen)
			chosen++
		}
		view.Requests += target.Requests
		view.Targets = append(view.Targets, target)
	}
	for t := range view.Targets {
		if view.Requests > 0 {
			view.Targets[t].Share = float64(view.Targets[t].Requests) / float64(view.Requests)
		}
	}
	return view
}

// target shows a target as it is written.
func (v *viewer) target(e *route.TargetEntry) targetView {
	t := targetView{Kind: "model", Model: e.Called(), Weight: e.Weight, Fallback: len(e.FallbackStatusCodes) > 0,
		StatusCodes: list(e.FallbackStatusCodes)}
	switch {
	case e.Provider != nil:
		t.Kind, t.Of = "provider", *e.Provider
	case e.Model != nil:
		t.Of = *e.Model
	}
	t.Name = t.Of
	return t
}

// fill adds what is happening at a target of a pool of a route.
func (v *viewer) fill(t *targetView, of string, p *lb.Pool, position int) {
	t.Name, t.Instances = p.Targets()[position].Name, []instanceView{}
	for i := range p.Candidates() {
		c := &p.Candidates()[i]
		if c.Target != position {
			continue
		}
		in := v.instance(c.Instance, c.Engine.URL(), c.Limit, c.Exempt)
		in.Requests = v.served[place{of, c.Key}]
		t.Requests += in.Requests
		t.Instances = append(t.Instances, in)
	}
}

// configured shows the instances of a target whose route can't serve.
func (v *viewer) configured(e *route.TargetEntry) []instanceView {
	views := []instanceView{}
	if e.Provider != nil {
		for i := range v.file.Providers {
			if p := &v.file.Providers[i]; p.Name == *e.Provider {
				views = append(views, v.instance(p.Name, route.EngineURL(p.Endpoint), 0, true))
			}
		}
		return views
	}
	for i := range v.file.Models {
		if m := &v.file.Models[i]; e.Model != nil && m.Name == *e.Model {
			return v.instances(m)
		}
	}
	return views
}

func (v *viewer) instances(m *route.ModelEntry) []instanceView {
	views := []instanceView{}
	for _, in := range m.Instances {
		views = append(views, v.instance(in.Name, route.EngineURL(in.URL), in.MaxInflight, false))
	}
	return views
}

// instance shows what is happening at an engine. One that nothing has been asked of yet is up.
func (v *viewer) instance(name, url string, limit int64, exempt bool) instanceView {
	view := instanceView{Name: name, URL: url, Limit: limit, State: lb.Up.String()}
	e := v.engines[url]
	if e == nil {
		return view
	}
	view.InFlight = e.Inflight()
	health := e.Health(v.now)
	if exempt && health.Status != lb.Drained {
		return view
	}
	view.State = health.Status.String()
	if health.Status == lb.Ejected {
		view.Until = &health.Until
	}
	return view
}

// list returns a list that JSON writes as one also if it is empty.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
