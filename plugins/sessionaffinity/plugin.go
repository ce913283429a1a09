// Package sessionaffinity is the policy session_affinity: requests of one session go to the instance that has its
// prompt cache.
//
// A request names its session by the first of a chain of keys. Candidates are ranked by rendezvous hashing of session
// and candidate, and score 1, 1/2, 1/4, ... by rank; the first is the session's owner. When load, an ejection or a drain
// moves a session, the instance that got it has the warm cache from then on: it becomes the owner, the others following
// in hash order, until the session rests for an hour. Such moves are all that is remembered.
package sessionaffinity

import (
	"fmt"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// Name is the policy's name in the routes file.
const Name = "session_affinity"

const schema = `{
  "type": "object",
  "description": "Sends the requests of one session to the instance that has its prompt cache.",
  "properties": {
    "session_keys": {
      "description": "Where a request names its session; the first that is there and not empty wins. Default: the header session-id, the header x-client-request-id, the body key prompt_cache_key.",
      "type": "array",
      "minItems": 1,
      "items": {
        "oneOf": [
          {
            "type": "object",
            "properties": {
              "header": { "description": "A request header, in any case.", "type": "string", "pattern": "^[!#$%&'*+.^_` + "`" + `|~0-9A-Za-z-]+$" }
            },
            "required": ["header"],
            "additionalProperties": false
          },
          {
            "type": "object",
            "properties": {
              "body_key": { "description": "A dotted path into the JSON body of /responses or /messages; a dot within a name is written \\\\.", "type": "string", "minLength": 1 }
            },
            "required": ["body_key"],
            "additionalProperties": false
          }
        ]
      }
    }
  }
}`

// New returns the kind. What it remembers of sessions it remembers for as long as the kind is used, over all routes and
// reloads. Each of moved is told the route of a session that goes elsewhere than to its owner, and must not wait.
func New(moved ...func(route string)) plugins.Kind {
	m := newMemory(capacity)
	return plugins.Kind{
		Name:   Name,
		Weight: 1,
		Schema: schema,
		Build: func(s *plugins.Spec) lb.Voter {
			var c config
			if !s.Decode(&c) {
				return nil
			}
			return &voter{sources: c.sources(s.Problemf), memory: m, moved: moved}
		},
	}
}

type config struct {
	SessionKeys []sessionKey `json:"session_keys"`
}

type sessionKey struct {
	Header  *string `json:"header"`
	BodyKey *string `json:"body_key"`
}

// sources returns the chain that is configured, and reports what is wrong with it.
func (c *config) sources(problemf func(path, format string, args ...any)) []source {
	if c.SessionKeys == nil {
		return defaultKeys
	}
	if len(c.SessionKeys) == 0 {
		problemf("session_keys", "is empty; leave it out for the default keys, or name at least one")
	}
	var chain []source
	for i, k := range c.SessionKeys {
		at := fmt.Sprintf("session_keys[%d]", i)
		switch {
		case (k.Header == nil) == (k.BodyKey == nil):
			problemf(at, "must have exactly one of header and body_key")
		case k.Header != nil:
			if !headerName(*k.Header) {
				problemf(at+".header", "%.60q can't be the name of a header; letters, digits and - are usual", *k.Header)
			}
			chain = append(chain, source{header: *k.Header, name: fmt.Sprintf("header %q", *k.Header)})
		default:
			path, err := parsePath(*k.BodyKey)
			if err != nil {
				problemf(at+".body_key", "%.60q: %v", *k.BodyKey, err)
			}
			chain = append(chain, source{path: path, name: fmt.Sprintf("body_key %q", *k.BodyKey)})
		}
	}
	return chain
}
