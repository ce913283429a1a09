package chaos

import (
	"fmt"
	"strconv"
	"strings"
)

// key opens the route that wants one.
const key = "chaos-key"

// id is the request's id, by which it is found in the log and at the engines.
func (q *request) id() string { return "chaos-" + strconv.Itoa(q.number) }

// numberOf returns the number of the request with an id, or -1.
func numberOf(id string) int {
	s, ok := strings.CutPrefix(id, "chaos-")
	n, err := strconv.Atoi(s)
	if !ok || err != nil {
		return -1
	}
	return n
}

// body is what is asked: the same whoever is asked, but for the model's name. previous is a response to go on from.
func (q *request) body(model, previous string) string {
	padding := strings.Repeat("p", q.padding)
	if q.kind == malformed {
		return fmt.Sprintf(`{"model": %q, "padding": "%s", `, model, padding)
	}
	extra := ""
	if q.chained && previous != "" {
		extra = fmt.Sprintf(`"previous_response_id": %q, `, previous)
	}
	return fmt.Sprintf(`{"max_tokens": 9, %s"model": %q, "stream": %t, "input": "%s", "messages": [{"role": "user", "content": "question %d"}]}`,
		extra, model, q.stream, padding, q.number)
}

// wire returns the request as it is sent, and where its body begins.
func (q *request) wire(previous string) (text string, body int) {
	var b strings.Builder
	version := "1.1"
	if q.old {
		version = "1.0"
	}
	head := func(method, path string) {
		fmt.Fprintf(&b, "%s %s HTTP/%s\r\nHost: gateway\r\nX-Request-Id: %s\r\n", method, path, version, q.id())
		if q.session > 0 {
			fmt.Fprintf(&b, "Session-Id: session-%d\r\n", q.session)
		}
		if q.kind != keyless {
			b.WriteString("Authorization: Bearer " + key + "\r\n")
		}
	}
	switch q.kind {
	case models:
		head("GET", "/v1/models")
	case retrieval:
		head("GET", "/v1/responses/"+previous)
	default:
		head("POST", q.api.path)
		content := q.body(q.route, previous)
		b.WriteString("Content-Type: application/json\r\n")
		if q.chunked {
			b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
			body = b.Len()
			for len(content) > 0 {
				n := min(len(content), 1+(q.number*7919)%5000)
				fmt.Fprintf(&b, "%x\r\n%s\r\n", n, content[:n])
				content = content[n:]
			}
			b.WriteString("0\r\n\r\n")
			return b.String(), body
		}
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(content))
		body = b.Len()
		b.WriteString(content)
		return b.String(), body
	}
	b.WriteString("\r\n")
	return b.String(), b.Len()
}
