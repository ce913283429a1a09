package sessionaffinity

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
)

// source is one place where a request may name its session: a header, or a member of the JSON body.
type source struct {
	header string
	path   []string // of the member, from the top; nil if the source is a header
	name   string   // as written in the configuration, for explanations
}

// defaultKeys is the chain of a policy that names none.
var defaultKeys = []source{
	{header: "session-id", name: `header "session-id"`},
	{header: "x-client-request-id", name: `header "x-client-request-id"`},
	{path: []string{"prompt_cache_key"}, name: `body_key "prompt_cache_key"`},
}

// read returns what the request says at the source, nil if it says nothing or nothing that counts: an empty value is an
// absent one, and bodies count on two endpoints only. The error is a ready 400 for a member written twice.
func (s *source) read(r *lb.Request) ([]byte, *openai.Error) {
	if s.path == nil {
		if r.Header == nil {
			return nil, nil
		}
		return bytes.Trim(r.Header.Peek(s.header), " \t"), nil // white space around a field is not part of it
	}
	if r.Call == nil || r.Endpoint == nil || !keyed(r.Endpoint) {
		return nil, nil
	}
	value, _, err := r.Call.String(s.path)
	return value, err
}

// keyed reports whether the bodies of an endpoint may name a session.
func keyed(e *openai.Endpoint) bool { return e.Name == "responses" || e.Name == "messages" }

// session is the identity of a session: 128 bits of SHA-256 over its key. The key may be of any length and anybody's
// choice, so nobody must be able to find two keys of one session: that would let a client take over the owner of
// somebody else's. The zero session is no session (no key is known that has that hash).
//
// Where the key was found is not part of the session, so that a client which sends it now in a header and now in the
// body stays where it is. The hash has no seed, so that several gateways agree.
type session struct{ hi, lo uint64 }

func sessionOf(key []byte) session {
	sum := sha256.Sum256(key)
	return session{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// find returns the session of a request and the position of the source that named it. The first source in the order
// written wins. The session is zero if there is none.
func find(sources []source, r *lb.Request) (s session, from int, err *openai.Error) {
	for i := range sources {
		key, err := sources[i].read(r)
		if err != nil {
			return session{}, 0, err
		}
		if len(key) > 0 {
			return sessionOf(key), i, nil
		}
	}
	return session{}, 0, nil
}

// parsePath splits a dotted path into member names. A dot after a backslash is part of a name, and so is a backslash
// after a backslash; any other backslash is itself.
func parsePath(text string) ([]string, error) {
	var path []string
	var name strings.Builder
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == '.':
			if name.Len() == 0 {
				return nil, errors.New("a member's name is empty; names are separated by single dots, and \\. is a dot within a name")
			}
			path = append(path, name.String())
			name.Reset()
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '.' || text[i+1] == '\\'):
			i++
			name.WriteByte(text[i])
		default:
			name.WriteByte(text[i])
		}
	}
	return path, nil
}

// headerName reports whether s can be the name of a header (a token of RFC 9110, section 5.6.2).
func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// secretive reports whether a header carries credentials: one may go by it, but not show it.
func secretive(header string) bool {
	switch strings.ToLower(header) {
	case "authorization", "proxy-authorization", "x-api-key", "api-key", "cookie":
		return true
	}
	return false
}
