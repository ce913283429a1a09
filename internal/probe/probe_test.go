package probe

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type result struct {
	engine string
	err    error
}

func TestProber(t *testing.T) {
	var status atomic.Int64
	status.Store(503)
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		case "/away":
			http.Redirect(w, r, "/health", http.StatusFound)
		default:
			w.WriteHeader(int(status.Load()))
		}
	}))
	defer s.Close()
	defer close(hang)
	results := make(chan result, 1000)
	p := New(nil, func(engine string, err error) { results <- result{engine, err} })
	defer p.Close()
	next := func(engine string, well bool) {
		t.Helper()
		for {
			select {
			case r := <-results:
				if r.engine == engine && (r.err == nil) == well {
					return
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("no result of %s with well = %v", engine, well)
			}
		}
	}
	engine := Check{Engine: "a", URL: s.URL + "/health", Interval: 5 * time.Millisecond}
	p.Set([]Check{engine})
	next("a", false)
	status.Store(200)
	next("a", true)
	status.Store(500)
	next("a", false)
	p.Set([]Check{{Engine: "b", URL: s.URL + "/hang", Interval: 20 * time.Millisecond}})
	next("b", false)
	p.Set([]Check{{Engine: "c", URL: s.URL + "/away", Interval: time.Hour}})
	next("c", false)
	p.Set([]Check{{Engine: "d", URL: "http://127.0.0.1:1/", Interval: time.Hour}})
	next("d", false)
}

func TestProberKeepsUnchangedChecks(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	results := make(chan result, 10)
	p := New(nil, func(engine string, err error) { results <- result{engine, err} })
	c := Check{Engine: "a", URL: s.URL, Interval: time.Hour}
	for range 10 {
		p.Set([]Check{c})
	}
	<-results
	p.Set(nil)
	p.Close()
	p.Set([]Check{c})
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
