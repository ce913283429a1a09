package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/internal/simulate"
	"github.com/gpustack/gpustack-gateway/plugins/decisionservice"
	"github.com/gpustack/gpustack-gateway/route"
)

// simulate answers at which load the policies of a route move a session.
func (a *admin) simulate(w http.ResponseWriter, r *http.Request) {
	body, err := readEntry(w, r)
	if err != nil {
		a.refuse(w, err)
		return
	}
	var asked struct {
		Route   string             `json:"route" jsontree:"required"`
		Weights map[string]float64 `json:"weights"`
	}
	if err := body.decode(&asked); err != nil {
		a.refuse(w, err)
		return
	}
	to := a.Table.Load().Route([]byte(asked.Route))
	if to == nil {
		fail(w, http.StatusNotFound, "there is no route "+quote(asked.Route))
		return
	}
	table, err := simulate.Run(to, asked.Weights)
	if err != nil {
		fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	write(w, http.StatusOK, table)
}

// decode decodes the entry strictly into what into points to.
func (e *entry) decode(into any) error {
	problems := jsontree.Decode(e.Value, "", into)
	if len(problems) == 0 {
		return nil
	}
	refusal := refusef(http.StatusUnprocessableEntity, codeRefused, "the body is not what is wanted here")
	for _, p := range problems {
		refusal.problems = append(refusal.problems, e.problem(p))
	}
	return refusal
}

// skeleton answers with criteria for a decision service: those that there are, and an empty one for every other model of
// the route's targets. Targets and criteria that are not written yet may be given.
func (a *admin) skeleton(w http.ResponseWriter, r *http.Request) {
	body, err := readEntry(w, r)
	if err != nil {
		a.refuse(w, err)
		return
	}
	var given struct {
		Targets  []route.TargetEntry `json:"targets"`
		Criteria *jsontree.Value     `json:"criteria"`
	}
	if err := body.decode(&given); err != nil {
		a.refuse(w, err)
		return
	}
	d, text := a.documents.of(a.Table.Load()), body.text
	if given.Targets == nil {
		_, i, err := routeKind.at(d, r)
		if err != nil {
			a.refuse(w, err)
			return
		}
		e := &d.file.Routes[i]
		given.Targets = e.Targets
		if given.Criteria == nil {
			given.Criteria, text = e.Policies.Member(decisionservice.Name).Member("criteria"), d.snapshot.Text()
		}
	}
	write(w, http.StatusOK, struct {
		Criteria json.RawMessage `json:"criteria"`
	}{criteria(given.Targets, given.Criteria, text)})
}

// criteria writes the criteria in the order of the targets, and behind them those that no target is asked for. text is
// what the ones that there are stand in.
func criteria(targets []route.TargetEntry, are *jsontree.Value, text []byte) []byte {
	var b bytes.Buffer
	add := func(name string, value []byte) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(jsonString(name) + ":")
		b.Write(value)
	}
	var models []string
	for i := range targets {
		t := &targets[i]
		model := t.Called()
		if model == "" || len(t.FallbackStatusCodes) > 0 || slices.Contains(models, model) {
			continue
		}
		models = append(models, model)
		if v := are.Member(model); v != nil {
			add(model, text[v.Offset:v.End])
		} else {
			add(model, []byte(`""`))
		}
	}
	if are != nil {
		for i := range are.Members {
			if m := &are.Members[i]; !slices.Contains(models, m.Name) {
				add(m.Name, text[m.Value.Offset:m.Value.End])
			}
		}
	}
	return append(append([]byte("{"), b.Bytes()...), '}')
}

// drains returns a handler that takes an instance's engine out of every choice, or puts it back.
func (a *admin) drains(drained bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := a.viewer()
		_, i, err := modelKind.at(v.document, r)
		if err != nil {
			a.refuse(w, err)
			return
		}
		name := named(r, "instance")
		for _, in := range v.file.Models[i].Instances {
			if in.Name != name {
				continue
			}
			url := route.EngineURL(in.URL)
			e := v.engines[url]
			if e == nil { // another file has begun to serve since
				break
			}
			e.SetDrained(drained)
			a.Log.Info().Str("engine", url).Bool("drained", drained).Msg("an engine is drained or put back by an operator")
			write(w, http.StatusOK, v.instance(in.Name, url, in.MaxInflight, false))
			return
		}
		a.refuse(w, refusef(http.StatusNotFound, "", "the model has no instance %s", quote(name)))
	}
}
