package gateway

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

// maxChains is how many responses are remembered: the last ones, about 15 MB of them.
const maxChains = 100_000

// chains remembers which instance made a response, since nobody else knows it: what goes on from it, reads it or deletes
// it has to go there. Ids are kept as hashes, so that the memory is bounded whatever upstreams call their responses.
type chains struct {
	mu    sync.Mutex
	links *simplelru.LRU[chain, link]
}

// chain is the hash of a response's id.
type chain [sha256.Size]byte

// link is where a response was made.
type link struct {
	route     string
	candidate uint64 // its key
	counted   bool   // its usage
}

func newChains() *chains {
	links, err := simplelru.NewLRU[chain, link](maxChains, nil)
	if err != nil {
		panic(err) // the size is a constant
	}
	return &chains{links: links}
}

func (c *chains) learn(id []byte, l link) chain {
	key := chain(sha256.Sum256(id))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links.Add(key, l)
	return key
}

// counts reports whether the usage of a response is still to be counted, once.
func (c *chains) counts(key chain) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, known := c.links.Peek(key)
	if !known || l.counted {
		return false
	}
	l.counted = true
	c.links.Add(key, l)
	return true
}

func (c *chains) find(id []byte) (link, bool) {
	key := chain(sha256.Sum256(id))
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.links.Get(key)
}

// keepToChain makes a request that goes on from a response go to the instance that made it. One that its caller may not
// know of is said not to exist.
func (x *exchange) keepToChain() *openai.Error {
	id := x.call.PreviousResponseID()
	if len(id) == 0 || x.endpoint.Name != "responses" {
		return nil
	}
	l, ok := x.gateway.chains.find(id)
	if !ok {
		return nil // made before this process, or long ago; whoever gets it will say what it thinks of it
	}
	if made := x.snapshot.Route([]byte(l.route)); made != nil && made != x.route && !x.snapshot.May(x.caller, made) {
		return &openai.Error{Status: fasthttp.StatusBadRequest, Type: "invalid_request_error", Code: "previous_response_not_found",
			Param: "previous_response_id", Message: fmt.Sprintf("There is no response %.100q to go on from.", id)}
	}
	x.request.KeepTo(l.candidate)
	return nil
}

// findResponse finds the route that made the response which the path names, and makes the request go to the instance
// that did. To somebody who may not use that route, the response looks as if it did not exist.
func (x *exchange) findResponse() bool {
	id := x.item
	for i, c := range id {
		if c == '/' {
			id = id[:i]
			break
		}
	}
	l, known := x.gateway.chains.find(id)
	r := x.snapshot.Route([]byte(l.route))
	switch {
	case known && r != nil && r.Public():
	case x.callerErr != nil || !x.presented:
		x.refuse(unauthorized(x.presented))
		return false
	case !known || r == nil || !x.snapshot.May(x.caller, r) || !plainPath(x.item):
		x.refuse(&openai.Error{Status: fasthttp.StatusNotFound, Type: "invalid_request_error", Code: "response_not_found",
			Message: fmt.Sprintf("There is no response %.100q.", id)})
		return false
	}
	x.route = r
	if r.Reason != "" {
		x.refuse(routeUnavailable(r))
		return false
	}
	x.chain = sha256.Sum256(id)
	x.request.KeepTo(l.candidate)
	return true
}

// plainPath reports whether a decoded path may be sent as it is, without anything in it being taken for something else.
func plainPath(path []byte) bool {
	for _, c := range path {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' && c != '.' && c != '/' {
			return false
		}
	}
	return true
}
