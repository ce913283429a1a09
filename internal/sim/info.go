package sim

import (
	"net/url"
	"strings"
)

// created is the time that the models of an engine are said to be of.
const created = 1767225600 // 2026-01-01

func modelObject(name string) object {
	return object{"id": name, "object": "model", "created": created, "owned_by": "sim"}
}

func (x *exchange) models() {
	list := make([]object, 0, len(x.b.Models))
	for _, name := range x.b.Models {
		list = append(list, modelObject(name))
	}
	x.s.buf = appendJSON(x.s.buf, object{"object": "list", "data": list})
	x.s.put(atOnce)
}

func (x *exchange) model() {
	path, _ := x.path()
	name, err := url.PathUnescape(strings.TrimPrefix(path, "/models/"))
	if err != nil {
		x.fail(400, "", "model", "The path is not well escaped.")
	} else if x.serves(name) {
		x.list(modelObject(name))
	}
}

func (x *exchange) health() { x.s.ctype = "" }

// metrics answers as vLLM does, as far as a load balancer cares.
func (x *exchange) metrics() {
	x.s.ctype = "text/plain; version=0.0.4; charset=utf-8"
	model := "sim"
	if len(x.b.Models) > 0 {
		model = x.b.Models[0]
	}
	for _, g := range []struct {
		name, help string
		value      int
	}{
		{"vllm:num_requests_running", "Number of requests in model execution batches.", x.e.Inflight() - 1}, // not this one
		{"vllm:num_requests_waiting", "Number of requests waiting to be processed.", 0},
		{"vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", 0},
	} {
		x.s.buf = appendGauge(x.s.buf, g.name, g.help, model, g.value)
	}
	x.s.put(atOnce)
}
