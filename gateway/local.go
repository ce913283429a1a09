package gateway

import (
	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

// serveLocal answers what needs no upstream: the root, which agents probe, and the models that the caller may use.
func (x *exchange) serveLocal() bool {
	switch x.endpoint.Name {
	case "root":
		x.writeJSON([]byte(`{"status":"ok"}`))
	case "models", "model":
		x.serveModels()
	default:
		return false
	}
	return true
}

func (x *exchange) serveModels() {
	if len(x.ctx.Request.Header.Peek("Anthropic-Version")) > 0 {
		x.dialect = openai.Anthropic
	}
	if !x.identify() {
		return
	}
	if x.callerErr != nil {
		x.refuse(unauthorized(true))
		return
	}
	if x.endpoint.Name == "model" {
		r := x.snapshot.Route(x.item)
		if r == nil || r.Reason != "" || !x.snapshot.May(x.caller, r) {
			x.refuse(openai.ModelNotFound(string(x.item)))
			return
		}
		x.writeJSON(openai.AppendModel(nil, x.dialect, x.asModel(r.Name)))
		return
	}
	var models []openai.Model
	for _, r := range x.snapshot.Routes() {
		if r.Reason == "" && x.snapshot.May(x.caller, r) {
			models = append(models, x.asModel(r.Name))
		}
	}
	x.writeJSON(openai.AppendModels(nil, x.dialect, models))
}

// asModel is a route as a model. What was created when is not known; the time of the configuration stands for it.
func (x *exchange) asModel(name string) openai.Model {
	return openai.Model{ID: name, Created: x.snapshot.Loaded.Unix(), OwnedBy: "gpustack"}
}

func (x *exchange) writeJSON(body []byte) {
	h := &x.ctx.Response.Header
	h.SetStatusCode(fasthttp.StatusOK)
	h.SetContentType("application/json")
	x.writeID(h)
	x.ctx.Response.SetBodyRaw(body)
	x.status, x.written = fasthttp.StatusOK, int64(len(body))
}
