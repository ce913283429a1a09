package systemone

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// The memory for answers is bounded both ways: what is asked is the choice of clients, how long an answer is that of a
// service.
const (
	maxEntries = 4096
	maxBytes   = 16 << 20
)

// cache remembers good answers, least recently used first to go. How long one is good is up to who asks.
type cache struct {
	lru   *simplelru.LRU[digest, entry]
	limit int // bytes of answers
	bytes int
}

type entry struct {
	answer []byte
	since  time.Time
}

func newCache(entries, limit int) *cache {
	c := &cache{limit: limit}
	c.lru = newLRU(entries, func(_ digest, e entry) { c.bytes -= len(e.answer) })
	return c
}

func newLRU[K comparable, V any](size int, evicted func(K, V)) *simplelru.LRU[K, V] {
	l, err := simplelru.NewLRU(size, evicted)
	if err != nil {
		panic(err) // a size that is not positive
	}
	return l
}

// get returns the answer to a question if it is younger than keep.
func (c *cache) get(question digest, keep time.Duration, now time.Time) (answer []byte, ok bool) {
	if keep <= 0 {
		return nil, false
	}
	e, ok := c.lru.Get(question)
	if !ok || now.Sub(e.since) >= keep {
		return nil, false
	}
	return e.answer, true
}

// add remembers an answer.
func (c *cache) add(question digest, answer []byte, now time.Time) {
	c.lru.Remove(question)
	c.lru.Add(question, entry{answer, now})
	for c.bytes += len(answer); c.bytes > c.limit; {
		c.lru.RemoveOldest()
	}
}
