package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is the clients.
type load struct {
	base   string
	client *http.Client
	sent   atomic.Int64
	whole  atomic.Int64 // answers with status 200, read to their end
	other  atomic.Int64 // other statuses
	cut    atomic.Int64 // answers that broke off
	left   atomic.Int64 // clients that left
	none   atomic.Int64 // no answer at all
}

func newLoad(addr string) *load {
	return &load{base: "http://" + addr, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true}}}
}

// fill makes n responses, as fast as it goes.
func (l *load) fill(ctx context.Context, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				l.ask(ctx, "/v1/responses", `{"model": "split", "input": "x"}`, "X-Fill", "1")
			}
		})
	}
	all.Wait()
	for _, n := range []*atomic.Int64{&l.sent, &l.whole, &l.other, &l.cut, &l.left, &l.none} {
		n.Store(0)
	}
}

// steady sends so many requests a second until ctx ends, whatever becomes of them, and waits for those that run.
func (l *load) steady(ctx context.Context, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var all sync.WaitGroup
	for {
		select {
		case <-ctx.Done():
			all.Wait()
			l.client.CloseIdleConnections()
			return
		case <-tick.C:
			all.Go(l.one)
		}
	}
}

// one is one request of the mix. Who asks for what, and leaves, follows from nothing but chance.
func (l *load) one() {
	ctx := context.Background()
	if draw(20) == 0 { // this client leaves
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(draw(200))*time.Millisecond)
		defer cancel()
	}
	model := []string{"split", "sessions", "safe"}[draw(3)]
	padding := strings.Repeat("x", draw(4000))
	if draw(100) == 0 {
		padding = strings.Repeat("y", 1<<20)
	}
	path, content := "/v1/chat/completions", `"messages": [{"role": "user", "content": %q}]`
	switch draw(3) {
	case 0:
		path, content = "/v1/responses", `"input": %q`
	case 1:
		path, content = "/v1/messages", `"max_tokens": 100, `+content
	}
	body := fmt.Sprintf(`{"model": %q, "stream": %t, `+content+`}`, model, draw(3) > 0, padding)
	l.ask(ctx, path, body, "Session-Id", fmt.Sprintf("session-%d", draw(1000)))
}

// draw returns a number below n.
func draw(n int) int { return rand.IntN(n) }

// ask sends a request and reads the answer.
func (l *load) ask(ctx context.Context, path, body, header, value string) {
	l.sent.Add(1)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the addresses are ours
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(header, value)
	resp, err := l.client.Do(req)
	if err != nil {
		l.count(ctx, &l.none)
		return
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	_, err = io.Copy(io.Discard, resp.Body)
	switch {
	case err != nil:
		l.count(ctx, &l.cut)
	case resp.StatusCode == http.StatusOK:
		l.whole.Add(1)
	default:
		l.other.Add(1)
	}
}

func (l *load) count(ctx context.Context, failed *atomic.Int64) {
	if ctx.Err() != nil {
		failed = &l.left
	}
	failed.Add(1)
}

func (l *load) report() {
	fmt.Printf("clients: %d requests; %d answered 200 to the end, %d answered otherwise, %d cut, %d clients left, %d without any answer\n",
		l.sent.Load(), l.whole.Load(), l.other.Load(), l.cut.Load(), l.left.Load(), l.none.Load())
}
