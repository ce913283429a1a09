package openai

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

// Resolve finds the endpoint of a request. path is decoded and normalised; item is what follows a path that ends in a
// name ("/models/{id}"), which may hold slashes. The error is a 404, or a 405 with the methods that the path takes.
func Resolve(method, path []byte) (e *Endpoint, item []byte, err *Error) { return nil, nil, nil }
