package openai

import (
	"fmt"
	"strings"
)

// Dialect is the shape in which a client expects errors and lists.
type Dialect uint8

// The dialects.
const (
	OpenAI Dialect = iota
	Anthropic
)

// BodyForm is the form in which an endpoint takes its request.
type BodyForm uint8

// The forms of a body.
const (
	NoBody BodyForm = iota
	JSON
	Form // multipart/form-data
)

// Endpoint is one path of the APIs, below any of the bases "", "/v1" and "/v1-openai".
type Endpoint struct {
	Name    string // short and stable, for logs and metrics: "chat", "responses"
	Path    string // below the base: "/chat/completions"
	Dialect Dialect
	Body    BodyForm
	Allow   string // the methods it takes, as an Allow header lists them
}

const (
	post = "POST"
	read = "GET, HEAD"
)

// endpoints is every endpoint there is, by its path below the base.
var endpoints = byPath(
	Endpoint{Name: "chat", Path: "/chat/completions", Body: JSON, Allow: post},
	Endpoint{Name: "completions", Path: "/completions", Body: JSON, Allow: post},
	Endpoint{Name: "responses", Path: "/responses", Body: JSON, Allow: post},
	Endpoint{Name: "messages", Path: "/messages", Dialect: Anthropic, Body: JSON, Allow: post},
	Endpoint{Name: "count_tokens", Path: "/messages/count_tokens", Dialect: Anthropic, Body: JSON, Allow: post},
	Endpoint{Name: "embeddings", Path: "/embeddings", Body: JSON, Allow: post},
	Endpoint{Name: "rerank", Path: "/rerank", Body: JSON, Allow: post},
	Endpoint{Name: "score", Path: "/score", Body: JSON, Allow: post},
	Endpoint{Name: "moderations", Path: "/moderations", Body: JSON, Allow: post},
	Endpoint{Name: "systemone", Path: "/systemone", Body: JSON, Allow: post},
	Endpoint{Name: "images", Path: "/images/generations", Body: JSON, Allow: post},
	Endpoint{Name: "speech", Path: "/audio/speech", Body: JSON, Allow: post},
	Endpoint{Name: "transcriptions", Path: "/audio/transcriptions", Body: Form, Allow: post},
	Endpoint{Name: "translations", Path: "/audio/translations", Body: Form, Allow: post},
	Endpoint{Name: "image_edits", Path: "/images/edits", Body: Form, Allow: post},
	Endpoint{Name: "image_variations", Path: "/images/variations", Body: Form, Allow: post},
	Endpoint{Name: "models", Path: "/models", Allow: read},
	Endpoint{Name: "root", Path: "/", Allow: read},
)

// The endpoints whose path ends in a name. What is below a response, such as its input items, is a part of the name.
var items = []*Endpoint{
	{Name: "model", Path: "/models/", Allow: read},
	{Name: "response", Path: "/responses/", Allow: "GET, HEAD, POST, DELETE"},
}

func byPath(list ...Endpoint) map[string]*Endpoint {
	m := make(map[string]*Endpoint, len(list))
	for i := range list {
		m[list[i].Path] = &list[i]
	}
	return m
}

// Resolve finds the endpoint of a request. path is decoded and normalised; item is what follows a path that ends in a
// name ("/models/{id}"), which may hold slashes. A slash at the end of a path makes no difference, so that a name can't
// end in one. The error is a 404, or a 405 with the methods that the path takes. Methods are case-sensitive (RFC 9110,
// section 9.1).
func Resolve(method, path []byte) (e *Endpoint, item []byte, err *Error) {
	below := belowBase(path)
	if len(below) > 1 && below[len(below)-1] == '/' {
		below = below[:len(below)-1]
	}
	e = endpoints[string(below)]
	for _, of := range items {
		if e == nil && len(below) > len(of.Path) && string(below[:len(of.Path)]) == of.Path {
			e, item = of, below[len(of.Path):]
		}
	}
	if e == nil {
		return nil, nil, unknownPath(path)
	}
	if !e.takes(method) {
		return nil, nil, wrongMethod(method, path, e)
	}
	return e, item, nil
}

// belowBase takes the base off a path. What is left begins with a slash.
func belowBase(path []byte) []byte {
	for _, base := range [...]string{"/v1-openai", "/v1"} {
		if len(path) < len(base) || string(path[:len(base)]) != base {
			continue
		}
		switch rest := path[len(base):]; {
		case len(rest) == 0:
			return path[:1]
		case rest[0] == '/':
			return rest
		}
	}
	if len(path) == 0 {
		return []byte("/")
	}
	return path
}

// EndpointAtEnd returns the path of the endpoint that a longer path ends in, "" if it ends in none: what somebody has
// written too much where a base was to be written.
func EndpointAtEnd(path string) (longest string) {
	for end := range endpoints {
		if end != "/" && len(end) > len(longest) && strings.HasSuffix(path, end) {
			longest = end
		}
	}
	return longest
}

func (e *Endpoint) takes(method []byte) bool {
	if e.Allow == post {
		return string(method) == post
	}
	for allowed := range strings.SplitSeq(e.Allow, ", ") {
		if string(method) == allowed {
			return true
		}
	}
	return false
}

// shown is how much of a client's text an error quotes, in characters.
const shown = 100

func unknownPath(path []byte) *Error {
	return &Error{Status: 404, Type: invalidRequest, Code: "not_found",
		Message: fmt.Sprintf("There is nothing at the path %s.", quote(path))}
}

func wrongMethod(method, path []byte, e *Endpoint) *Error {
	return &Error{Status: 405, Type: invalidRequest, Code: "method_not_allowed", Allow: e.Allow,
		Message: fmt.Sprintf("The path %s does not take the method %s; it takes %s.", quote(path), quote(method),
			strings.ReplaceAll(e.Allow, ", ", " and "))}
}

// quote is a client's text as an error shows it: in quotes, cut to a sane length, with everything escaped that is not
// printable.
func quote[S string | []byte](text S) string {
	// A character has at most four bytes: this much is enough, and bounds the work on a text of megabytes.
	const enough = 4 * (shown + 1)
	cut := len(text) > enough
	if cut {
		text = text[:enough]
	}
	q := fmt.Sprintf("%.*q", shown, text)
	if cut || len([]rune(string(text))) > shown {
		q += "..."
	}
	return q
}
