package openai

import (
	"fmt"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

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

const invalidRequest = "invalid_request_error"

// Append renders the error in a dialect: OpenAI's envelope, or Anthropic's with the request's id in it. What it renders
// is valid JSON whatever the texts hold.
func (e *Error) Append(dst []byte, d Dialect, requestID string) []byte {
	if d == Anthropic {
		dst = append(dst, `{"type":"error","error":{"type":"`...)
		dst = append(dst, anthropicType(e.Status)...)
		dst = append(dst, `","message":`...)
		dst = jsonscan.AppendQuoted(dst, e.Message)
		dst = append(dst, `},"request_id":`...)
		dst = appendOrNull(dst, requestID)
		return append(dst, '}')
	}
	dst = append(dst, `{"error":{"message":`...)
	dst = jsonscan.AppendQuoted(dst, e.Message)
	dst = append(dst, `,"type":`...)
	dst = appendOrNull(dst, e.Type)
	dst = append(dst, `,"param":`...)
	dst = appendOrNull(dst, e.Param)
	dst = append(dst, `,"code":`...)
	dst = appendOrNull(dst, e.Code)
	return append(dst, '}', '}')
}

func appendOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return jsonscan.AppendQuoted(dst, s)
}

// anthropicType is Anthropic's name for a status, from the errors page of its API reference.
func anthropicType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return invalidRequest
}

// ModelNotFound is the answer for a model that does not exist, or that the caller may not use.
func ModelNotFound(name string) *Error {
	return &Error{Status: 404, Type: invalidRequest, Code: "model_not_found", Param: "model",
		Message: fmt.Sprintf("The model %s does not exist, or you may not use it.", quote(name))}
}
