package sim

import (
	"strings"
	"time"
)

// Field is a header field as it stands on the wire.
type Field struct{ Name, Value string }

// Request is what an engine received, and what came of it.
type Request struct {
	Method string
	Target string // path and query as they were sent
	Proto  string
	Header []Field // in the order received, names as they were written
	Body   []byte  // without its framing
	Model  string  // of the body, or of the form; empty if there is none
	Stream bool    // whether the body asks for a stream
	Conn   int     // number of the connection, from 1
	At     time.Time

	Status     int  // that was answered; 0: none was, or not yet
	Answered   bool // the answer was sent to its end
	ClientGone bool // the client closed before that
}

// Get returns the value of the first field of a name, in any case, or "".
func (r *Request) Get(name string) string {
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns the values of all fields of a name, in any case.
func (r *Request) Values(name string) []string {
	var out []string
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			out = append(out, f.Value)
		}
	}
	return out
}

// Path returns the target without its query.
func (r *Request) Path() string {
	path, _, _ := strings.Cut(r.Target, "?")
	return path
}

// names reports whether one of the fields of a name lists the token, in any case.
func (r *Request) names(name, token string) bool {
	for _, f := range r.Header {
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		for part := range strings.SplitSeq(f.Value, ",") {
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}
