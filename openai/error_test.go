package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestError_OpenAI(t *testing.T) {
	e := &Error{Status: 400, Type: "invalid_request_error", Code: "c", Message: `say "model"`, Param: "model"}
	want := `{"error":{"message":"say \"model\"","type":"invalid_request_error","param":"model","code":"c"}}`
	if got := string(e.Append(nil, OpenAI, "id")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e = &Error{Status: 500, Type: "server_error", Message: "m"}
	want = `x{"error":{"message":"m","type":"server_error","param":null,"code":null}}`
	if got := string(e.Append([]byte("x"), OpenAI, "")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestC098_AnthropicTypeFollowsTheStatus(t *testing.T) {
	for status, want := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		404: "not_found_error", 405: "invalid_request_error", 408: "invalid_request_error", 413: "request_too_large",
		415: "invalid_request_error", 422: "invalid_request_error", 429: "rate_limit_error", 431: "invalid_request_error",
		500: "api_error", 502: "api_error", 503: "api_error", 504: "api_error", 529: "overloaded_error"} {
		e := &Error{Status: status, Type: "x", Code: "y", Message: "m"}
		got := string(e.Append(nil, Anthropic, "req-1"))
		if got != `{"type":"error","error":{"type":"`+want+`","message":"m"},"request_id":"req-1"}` {
			t.Errorf("%d: %s", status, got)
		}
	}
	if got := string((&Error{Status: 400}).Append(nil, Anthropic, "")); !strings.HasSuffix(got, `"request_id":null}`) {
		t.Error(got)
	}
}

func TestModelNotFound(t *testing.T) {
	e := ModelNotFound("org/x")
	if e.Status != 404 || e.Code != "model_not_found" || e.Param != "model" || !strings.Contains(e.Message, `"org/x"`) {
		t.Errorf("%+v", e)
	}
	if e := ModelNotFound(strings.Repeat("x", 1<<20)); len(e.Message) > 300 {
		t.Errorf("%d bytes of message", len(e.Message))
	}
}

func FuzzError(f *testing.F) {
	f.Add("a\"b\\c\n\r\t\x00\x1f\x7f", "id\xff", "ü\u2028\ufffd")
	f.Fuzz(func(t *testing.T, message, id, param string) {
		e := &Error{Status: 400, Type: id, Message: message, Param: param}
		for _, d := range []Dialect{OpenAI, Anthropic} {
			out := e.Append(nil, d, id)
			var decoded struct {
				Error     struct{ Message string }
				RequestID *string `json:"request_id"`
			}
			if err := json.Unmarshal(out, &decoded); err != nil || !utf8.Valid(out) {
				t.Fatalf("%q: %v", out, err)
			}
			if decoded.Error.Message != strings.ToValidUTF8(message, "\ufffd") && utf8.ValidString(message) {
				t.Fatalf("%q became %q", message, decoded.Error.Message)
			}
		}
	})
}
