package decisionservice

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/systemone"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is the client that production uses.
type wire struct{ *systemone.Client }

func (w wire) Ask(ctx context.Context, q Question) ([]byte, error) {
	return w.Client.Ask(ctx, systemone.Question(q))
}

// wired is a pool whose decision service listens at an address, and takes what the client says of each question.
func wired(tb testing.TB, endpoint, timeout string) (*lb.Pool, chan systemone.Event) {
	tb.Helper()
	events := make(chan systemone.Event, 1000)
	client := systemone.New(systemone.Config{Asked: func(e systemone.Event) {
		select {
		case events <- e:
		default: // a benchmark asks more than anybody reads
		}
	}})
	tb.Cleanup(client.Close)
	around := surroundings
	around.Providers = []plugins.Provider{{Name: "jev", Type: "systemone", Endpoint: endpoint}}
	s, err := plugins.ParseSpec(`{"provider": "jev", "model": "m", "criteria": {"qwen3-32b": "math"}, "timeout": "`+timeout+`"}`, around)
	if err != nil {
		tb.Fatal(err)
	}
	v := New(wire{client}).Build(s)
	if len(s.Findings()) > 0 {
		tb.Fatal(s.Findings())
	}
	return load(2, 2, append([]lb.Weighted{{Name: Name, Weight: 10, Voter: v}}, others()...)...), events
}

// C050: whatever the service does, the request is served by the other plugins' choice, and a label tells what it was.
func TestC050_RequestProceeds(t *testing.T) {
	late := make(chan struct{})
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	write := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
	good := answered(`"choice":"qwen3-32b"`)
	tests := []struct {
		name    string
		serve   http.HandlerFunc
		timeout string
		want    string // the label
	}{
		{"hangs", hang, "50ms", "timeout"},
		{"refuses", nil, "3s", "unreachable"},
		{"500", write(500, good), "3s", "failed"},
		{"422", write(422, `{"detail":[{"loc":["body"],"msg":"too many options","type":"x"}]}`), "3s", "rejected"},
		{"no JSON", write(200, "<html>"), "3s", "malformed"},
		{"an empty answer", write(200, ""), "3s", "malformed"},
		{"an unknown option", write(200, answered(`"choice":"qwen3"`)), "3s", "unknown_option"},
		{"a huge answer", write(200, good+strings.Repeat(" ", 10<<20)), "3s", "too_large"},
		{"an answer after the timeout", func(w http.ResponseWriter, _ *http.Request) { <-late; fmt.Fprint(w, good) }, "50ms", "timeout"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			endpoint := "http://" + unused(t)
			if test.serve != nil {
				s := httptest.NewServer(test.serve)
				defer s.Close()
				endpoint = s.URL
			}
			p, events := wired(t, endpoint, test.timeout)
			r := request(t, "a task", "session-1")
			l := send(t, p, r)
			if by := l.By(); by == Name {
				t.Error("the service decided")
			}
			l.Done(lb.Served, start)
			if strings.HasPrefix(test.name, "an answer after") {
				close(late)
			}
			e := next(t, events)
			if got := e.Label(); got != test.want {
				t.Errorf("counted as %q, want %q", got, test.want)
			}
			if got := reason(p, r); got != e.Err.Error() || !strings.HasPrefix(got, `decision service "jev": `) {
				t.Errorf("explained as %q", got)
			}
		})
	}
}

// next returns the next event.
func next(t *testing.T, events <-chan systemone.Event) systemone.Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was asked")
		panic("unreachable")
	}
}

// unused returns an address at which nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestC050_ServiceThatIsDownIsLeftAlone(t *testing.T) {
	p, events := wired(t, "http://"+unused(t), "3s")
	var got []systemone.Result
	for i := range 10 {
		send(t, p, request(t, fmt.Sprint("task ", i), ""))
		got = append(got, next(t, events).Result)
	}
	want := append(slices.Repeat([]systemone.Result{"unreachable"}, 3), slices.Repeat([]systemone.Result{"circuit_open"}, 7)...)
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A client that leaves takes its question back.
func TestPrepare_ClientLeaves(t *testing.T) {
	asked, given := make(chan bool), make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
		close(given)
	}))
	defer s.Close()
	p, events := wired(t, s.URL, "1h")
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	p.Prepare(ctx, request(t, "a task", ""), start)
	<-given
	if e := next(t, events); e.Result != systemone.Cancelled {
		t.Errorf("counted as %q", e.Result)
	}
}

func TestVerdict_OverTheWire(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		choice := "qwen3-0.6b"
		if strings.Contains(string(body), "Prove") {
			choice = "qwen3-32b"
		}
		fmt.Fprint(w, answered(`"type":"choice","choice":"`+choice+`","confidence":0.8`))
	}))
	defer s.Close()
	p, events := wired(t, s.URL, "3s")
	for range 2 { // asked, then remembered
		for text, model := range map[string]string{"Write a one-line greeting card.": "qwen3-0.6b",
			"Prove that there are infinitely many primes.": "qwen3-32b"} {
			l := send(t, p, request(t, text, "one-session"))
			if got := l.Candidate().Model; got != model {
				t.Errorf("%q went to %s", text, got)
			}
			l.Done(lb.Served, start)
		}
	}
	var got []systemone.Result
	for range 4 {
		got = append(got, next(t, events).Result)
	}
	if !slices.Equal(got, []systemone.Result{"answered", "answered", "cached", "cached"}) {
		t.Errorf("got %v", got)
	}
}

// A question that was asked before, from a fresh request to the note.
func BenchmarkPrepare_Cached(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, answered(`"type":"choice","choice":"qwen3-32b","probabilities":{"qwen3-0.6b":0.1,"qwen3-32b":0.9},"confidence":0.8`))
	}))
	defer s.Close()
	p, _ := wired(b, s.URL, "3s")
	for _, size := range []int{1 << 10, 32 << 10} {
		b.Run(fmt.Sprint(size, " bytes"), func(b *testing.B) {
			r := request(b, strings.Repeat("x", size), "")
			call, endpoint, header := r.Call, r.Endpoint, r.Header
			b.ReportAllocs()
			for b.Loop() {
				r.Reset()
				r.Call, r.Endpoint, r.Header = call, endpoint, header
				p.Prepare(b.Context(), r, start)
			}
		})
	}
}
