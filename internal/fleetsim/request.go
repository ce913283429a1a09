package fleetsim

import "github.com/gpustack/gpustack-gateway/lb"

// request is one request from its client to the end of its answer.
type request struct {
	number  uint64 // in the order of arrival
	client  client
	session []byte // its key, nil for none
	last    int    // instance that had the session's last turn, -1 if there was none
	prompt  prompt
	answer  int // tokens, at least 1

	gateway *gateway
	lease   lb.Lease
	ticket  *lb.Ticket // while it waits at its gateway, because every instance is full
	arrived float64
	cached  int     // tokens of the prompt that its engine had
	ends    float64 // the step of its engine in which the answer ends
}

// client is who made a request, and is told of its end. It must not keep the request.
type client interface {
	answered(r *request, now float64)
}

// Peek implements lb.Header: the session key stands where the default chain looks first.
func (r *request) Peek(name string) []byte {
	if name == "session-id" {
		return r.session
	}
	return nil
}

// prompt is what a request asks an engine to read: a beginning that many prompts have in common, and the rest.
type prompt struct {
	common       uint64 // names the beginning
	commonTokens int
	own          uint64 // names the rest: a session's grows from turn to turn
	ownTokens    int
	known        int // of all tokens, those that some engine has seen before
}

func (p *prompt) tokens() int { return p.commonTokens + p.ownTokens }

// cached returns how many tokens from the prompt's start a cache has. The last one is always computed, for the answer's
// first token comes of it.
func (p *prompt) cached(c *cache) int {
	n := min(p.commonTokens, c.has(p.common))
	if n == p.commonTokens {
		n += min(p.ownTokens, c.has(p.own))
	}
	return min(n, p.tokens()-1)
}

// put puts the prompt, and what was answered to it, into a cache. The beginning comes last: it was used no earlier than
// what follows it, so it must not be evicted earlier.
func (p *prompt) put(c *cache, answer int) {
	c.put(p.own, p.ownTokens+answer)
	c.put(p.common, p.commonTokens)
}
