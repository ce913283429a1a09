package sim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// endpoint is what answers below a path.
type endpoint struct {
	method string
	serve  func(*exchange)
}

// endpoints returns the endpoints by their path without base and version.
func endpoints() map[string]endpoint {
	return map[string]endpoint{
		"/chat/completions":      {http.MethodPost, (*exchange).chat},
		"/completions":           {http.MethodPost, (*exchange).completions},
		"/responses":             {http.MethodPost, (*exchange).responses},
		"/messages":              {http.MethodPost, (*exchange).messages},
		"/messages/count_tokens": {http.MethodPost, (*exchange).countTokens},
		"/embeddings":            {http.MethodPost, (*exchange).embeddings},
		"/rerank":                {http.MethodPost, (*exchange).rerank},
		"/score":                 {http.MethodPost, (*exchange).score},
		"/moderations":           {http.MethodPost, (*exchange).moderations},
		"/images/generations":    {http.MethodPost, (*exchange).images},
		"/images/edits":          {http.MethodPost, (*exchange).editImage},
		"/images/variations":     {http.MethodPost, (*exchange).editImage},
		"/audio/speech":          {http.MethodPost, (*exchange).speech},
		"/audio/transcriptions":  {http.MethodPost, (*exchange).transcribe},
		"/audio/translations":    {http.MethodPost, (*exchange).transcribe},
		"/models":                {http.MethodGet, (*exchange).models},
		"/health":                {http.MethodGet, (*exchange).health},
		"/ping":                  {http.MethodGet, (*exchange).health},
		"/metrics":               {http.MethodGet, (*exchange).metrics},
	}
}

// find returns the endpoint of a path without base and version.
func (e *Engine) find(path string) (endpoint, bool) {
	switch {
	case strings.HasPrefix(path, "/models/"):
		return endpoint{http.MethodGet, (*exchange).model}, true
	case strings.HasPrefix(path, "/responses/"):
		return endpoint{http.MethodGet, (*exchange).response}, true
	}
	ep, ok := e.endpoints[path]
	return ep, ok
}

// path returns the path below base and version.
func (x *exchange) path() (string, bool) {
	path, ok := strings.CutPrefix(x.q.Path(), x.e.base)
	for _, version := range []string{"/v1/", "/v2/"} {
		if rest, cut := strings.CutPrefix(path, version); cut {
			return "/" + rest, ok
		}
	}
	return path, ok
}

// route answers as the endpoint of the request does; HEAD is served as GET.
func (x *exchange) route() {
	path, ok := x.path()
	ep, found := x.e.find(path)
	switch {
	case !ok || !found:
		x.fail(404, "", "", "There is nothing at "+x.q.Path()+".")
	case x.q.Method != ep.method && (x.q.Method != http.MethodHead || ep.method != http.MethodGet):
		x.s.fields = append(x.s.fields, Field{"Allow", ep.method})
		x.fail(405, "", "", x.q.Method+" is not for "+x.q.Path()+".")
	default:
		ep.serve(x)
	}
}

// serves reports whether a model is served, and answers if it isn't.
func (x *exchange) serves(model string) bool {
	switch {
	case model == "":
		x.fail(400, "", "model", "The request names no model.")
	case len(x.b.Models) > 0 && !slices.Contains(x.b.Models, model):
		x.fail(404, "model_not_found", "model", "The model "+strconv.Quote(model)+" does not exist.")
	default:
		return true
	}
	return false
}

// id returns an identifier that no other answer of this engine, nor of one at another port, has.
func (x *exchange) id(prefix string) string {
	n := x.e.ids.Add(1)
	return prefix + strconv.Itoa(x.e.addr.Port) + "x" + strconv.FormatInt(n, 10)
}
