package systemone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// held is a service that holds every question until it is told what to do with it.
type held struct {
	url     string
	asked   chan string   // takes each question
	left    chan bool     // takes each question that was given up
	release chan struct{} // lets one be answered
}

func newHeld(tb testing.TB) *held {
	tb.Helper()
	h := &held{asked: make(chan string, 1000), left: make(chan bool, 1000), release: make(chan struct{}, 1000)}
	h.url = serve(tb, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.asked <- string(body)
		select {
		case <-h.release:
			fmt.Fprint(w, answer)
		case <-r.Context().Done():
			h.left <- true
		}
	})
	return h
}

// until waits until something is so.
func until(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); runtime.Gosched() {
		if time.Now().After(deadline) {
			tb.Fatalf("not in time: %s", what)
		}
	}
}

// waiting returns how many wait for calls.
func (b *bench) waiting() (n int) {
	b.Client.mu.Lock()
	defer b.Client.mu.Unlock()
	for _, w := range b.calls {
		n += w.waiters
	}
	return n
}

func TestSharing_EqualQuestionsAreOneCall(t *testing.T) {
	h, b := newHeld(t), newBench(t)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			q := about(h.url, "x")
			q.Keep = 0
			if got, err := b.Ask(t.Context(), q); string(got) != answer || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	until(t, "100 wait", func() bool { return b.waiting() == 100 })
	h.release <- struct{}{}
	wg.Wait()
	if len(h.asked) != 1 || b.count(Answered) != 1 || b.count(Shared) != 99 {
		t.Errorf("%d calls, %d answered, %d shared", len(h.asked), b.count(Answered), b.count(Shared))
	}
}

func TestSharing_DifferentQuestionsAreNot(t *testing.T) {
	h, b := newHeld(t), newBench(t)
	q := about(h.url, "x")
	questions := []Question{q, q, q, q, q}
	questions[1].Body = []byte("y")
	questions[2].Token = token("other")
	questions[3].Endpoint += "/api"
	questions[4].Timeout += time.Second // who is willing to wait longer may still get an answer
	var wg sync.WaitGroup
	for _, q := range questions {
		wg.Go(func() { _, _ = b.Ask(t.Context(), q) })
	}
	until(t, "all are asked", func() bool { return len(h.asked) == len(questions) })
	for range questions {
		h.release <- struct{}{}
	}
	wg.Wait()
	if n := b.count(Answered); n != len(questions) {
		t.Errorf("%d answered", n)
	}
}

func TestSharing_EndsWithTheLastWhoWaits(t *testing.T) {
	h, b := newHeld(t), newBench(t)
	first, leave := context.WithCancel(t.Context())
	second, leaveToo := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	buffer := []byte("x")
	q := about(h.url, "")
	q.Body = buffer
	for i, ctx := range []context.Context{first, second} {
		go func() {
			_, err := b.Ask(ctx, q)
			ended <- err
		}()
		until(t, "it waits", func() bool { return b.waiting() == i+1 })
	}
	leave()
	<-ended
	buffer[0] = '!' // is the caller's again
	if got := <-h.asked; got != "x" {
		t.Errorf("asked %q", got)
	}
	if b.waiting() != 1 || len(h.left) != 0 {
		t.Fatal("the call ended with the first who left")
	}
	leaveToo()
	var fault *Error
	if err := <-ended; !errors.As(err, &fault) || fault.Result != Cancelled {
		t.Errorf("got %v", err)
	}
	<-h.left
	if b.count(Cancelled) != 2 || b.States()[0].Failures != 0 {
		t.Errorf("%d cancelled, %+v", b.count(Cancelled), b.States())
	}
	h.release <- struct{}{} // who comes now asks anew
	b.expect(about(h.url, "x"), Answered)
}

func TestCache(t *testing.T) {
	var asked atomic.Int32
	var bad atomic.Bool
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if bad.Load() {
			fmt.Fprint(w, "nonsense")
			return
		}
		fmt.Fprint(w, answer)
	})
	b := newBench(t)
	q := about(url, "x")
	patient, never := q, q
	patient.Keep, never.Keep = time.Hour, 0
	patient.Timeout = time.Hour // how long one waits is no part of a remembered question
	steps := []struct {
		after time.Duration
		q     Question
		want  Result
	}{
		{0, never, Answered}, // leaves nothing
		{0, q, Answered},
		{0, q, Cached},
		{59 * time.Second, q, Cached},
		{0, never, Answered}, // takes nothing
		{time.Second, q, Answered},
		{time.Minute, patient, Cached},
		{0, about(url, "y"), Answered},
		{time.Hour, patient, Answered},
	}
	for i, step := range steps {
		b.clock.advance(step.after)
		if got, err := b.Ask(t.Context(), step.q); err != nil || string(got) != answer {
			t.Fatalf("step %d: %q, %v", i, got, err)
		}
		if got := b.events[len(b.events)-1].Result; got != step.want {
			t.Fatalf("step %d: %s, want %s", i, got, step.want)
		}
	}
	bad.Store(true)
	asked.Store(0)
	for range 2 {
		b.expect(about(url, "z"), Malformed)
	}
	b.expect(patient, Cached)
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times for an answer that is not believed", n)
	}
}

func TestCache_IsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	c := newCache(10, 1000)
	held := func() (n, bytes int) {
		for _, e := range c.lru.Values() {
			bytes += len(e.answer)
		}
		return c.lru.Len(), bytes
	}
	for i := range 5000 {
		c.add(digest{byte(i % 50), byte(i % 7)}, []byte(strings.Repeat("x", i*37%400)), now)
		n, bytes := held()
		if bytes != c.bytes || bytes > 1000 || n > 10 {
			t.Fatalf("%d entries of %d bytes, counted as %d", n, bytes, c.bytes)
		}
	}
	c.add(digest{1}, make([]byte, 1001), now)
	if n, bytes := held(); n != 0 || bytes != 0 || c.bytes != 0 {
		t.Errorf("%d entries of %d bytes after one that is too large", n, bytes)
	}
}

func TestServices_AreBounded(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
	b := newBench(t)
	for i := range maxServices + 10 {
		b.expect(about(fmt.Sprint(url, "/", i), "x"), Answered)
	}
	states := b.States()
	if len(states) != maxServices || !slices.ContainsFunc(states, func(s ServiceState) bool { return strings.HasSuffix(s.Endpoint, "/265") }) {
		t.Errorf("%d services", len(states))
	}
	b.clock.advance(forgotten)
	b.expect(about(url+"/5", "y"), Answered)
	if states = b.States(); len(states) != 1 {
		t.Errorf("%d services an hour later", len(states))
	}
}

func BenchmarkAsk_Cached(b *testing.B) {
	url := serve(b, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			c := New(Config{})
			defer c.Close()
			q := about(url, strings.Repeat("x", size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Ask(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
