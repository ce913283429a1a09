package sim

import "strings"

// errorShape appends the body of an error. An empty code or param is none.
type errorShape func(x *exchange, dst []byte, status int, code, param, message string) []byte

// fail answers with an error.
func (x *exchange) fail(status int, code, param, message string) {
	x.s.status, x.s.ctype, x.s.stream = status, "application/json", false
	x.s.pieces = x.s.pieces[:0]
	x.s.buf = x.e.shape(x, x.s.buf[:0], status, code, param, message)
	x.s.put(atOnce)
}

// appendAPIError appends an error in the shape of the API that was called.
func (x *exchange) appendAPIError(dst []byte, status int, code, param, message string) []byte {
	if path, _ := x.path(); strings.HasPrefix(path, "/messages") {
		return x.appendAnthropicError(dst, status, message)
	}
	return appendOpenAIError(dst, status, code, param, message)
}

func appendOpenAIError(dst []byte, status int, code, param, message string) []byte {
	kind := "invalid_request_error"
	switch {
	case status == 429:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return appendJSON(dst, object{"error": object{
		"message": message, "type": kind, "param": null(param), "code": null(code),
	}})
}

func (x *exchange) appendAnthropicError(dst []byte, status int, message string) []byte {
	kind := "api_error"
	switch status {
	case 400, 405, 422:
		kind = "invalid_request_error"
	case 401:
		kind = "authentication_error"
	case 403:
		kind = "permission_error"
	case 404:
		kind = "not_found_error"
	case 413:
		kind = "request_too_large"
	case 429:
		kind = "rate_limit_error"
	case 529:
		kind = "overloaded_error"
	}
	return appendJSON(dst, object{
		"type": "error", "request_id": x.id("req_"),
		"error": object{"type": kind, "message": message},
	})
}
