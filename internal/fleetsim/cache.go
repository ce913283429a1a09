package fleetsim

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// cache is an engine's prompt cache: of each prompt that it has seen, how many tokens from its start are still there. A
// prompt is named by a number, its session's for example. When it is full, the prompt that was not used for the longest
// time loses tokens from its end, as a cache of blocks does.
type cache struct {
	room    int // tokens
	used    int
	prompts *simplelru.LRU[uint64, *int]
}

func newCache(room int) *cache {
	lru, err := simplelru.NewLRU[uint64, *int](math.MaxInt, nil)
	if err != nil {
		panic(err) // a size that is not positive
	}
	return &cache{room: room, prompts: lru}
}

// has returns how many tokens of a prompt are there.
func (c *cache) has(prompt uint64) int {
	if tokens, ok := c.prompts.Peek(prompt); ok {
		return *tokens
	}
	return 0
}

// put says that tokens of a prompt were just computed or used.
func (c *cache) put(prompt uint64, tokens int) {
	if tokens <= 0 {
		return
	}
	has, ok := c.prompts.Get(prompt)
	if !ok {
		has = new(int)
		c.prompts.Add(prompt, has)
	}
	if tokens > *has {
		c.used += tokens - *has
		*has = tokens
	}
	for c.used > c.room {
		oldest, has, _ := c.prompts.GetOldest()
		cut := min(*has, c.used-c.room)
		*has -= cut
		c.used -= cut
		if *has == 0 {
			c.prompts.Remove(oldest)
		}
	}
}
