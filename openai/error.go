package openai

// Error is what a client is told when its request can't be served.
type Error struct {
	Status  int    // HTTP status
	Type    string // OpenAI's error type; Anthropic's follows from Status
	Code    string // machine-readable, may be empty
	Message string // for people; names the field, the value and what is allowed
	Param   string // the field at fault, empty if none is

	Allow      string // for the Allow header of a 405
	RetryAfter int    // for the Retry-After header, in seconds; 0 is none
}

func (e *Error) Error() string { return e.Message }

// Append renders the error in a dialect: OpenAI's envelope, or Anthropic's with the request's id in it.
func (e *Error) Append(dst []byte, d Dialect, requestID string) []byte { return dst }

// ModelNotFound is the answer for a model that does not exist, or that the caller may not use.
func ModelNotFound(name string) *Error { return &Error{} }
