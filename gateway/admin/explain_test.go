package admin_test

import "testing"

// Explanations are as the document says, for every way to choose and for every way to be refused.
func TestExplainIsAsDescribed(t *testing.T) {
	o := operate(t, votingFile)
	for _, test := range []struct {
		body   string
		status int
		path   []any
		want   string
	}{
		{`{"path": "/v1/responses", "headers": {"session-id": ["one"]}, "body": {"model": "voting", "input": "hello"}}`, 200, []any{"choice", "route_by"}, "policy"},
		{`{"path": "/v1/chat/completions?x=1", "body": {"model": "turns", "messages": []}}`, 200, []any{"choice", "route_by"}, "round_robin"},
		{`{"path": "/v1/chat/completions", "body": "{\"model\": \"load\", \"messages\": []}"}`, 200, []any{"choice", "votes", 0, "plugin"}, "least_inflight"},
		{`{"path": "/v1/chat/completions", "body": {"model": "broken", "messages": []}}`, 200, []any{"refused", "code"}, "route_unavailable"},
		{`{"path": "/v1/chat/completions", "body": {"model": "none", "messages": []}}`, 200, []any{"refused", "status"}, "404"},
		{`{"path": "/v1/chat/completions", "body": {}}`, 200, []any{"refused", "status"}, "400"},
		{`{"path": "/nothing", "body": {}}`, 200, []any{"refused", "status"}, "404"},
		{`{"path": "/v1/chat/completions", "headers": 1}`, 400, []any{"error", "code"}, "<nil>"},
		{`{"x": 1}`, 400, []any{"error", "code"}, "<nil>"},
		{`{} {}`, 400, []any{"error", "code"}, "<nil>"},
	} {
		if got := o.ask("POST", "/api/explain", test.body); got.status != test.status || got.get(test.path...) != test.want {
			t.Errorf("%s: %d, %s", test.body, got.status, got.body)
		}
	}
}
