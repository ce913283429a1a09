package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// endedView is a request that has ended.
type endedView struct {
	Number    uint64      `json:"number"` // grows by one with every request of the process
	Time      time.Time   `json:"time"`
	ID        string      `json:"request_id"`
	Endpoint  string      `json:"endpoint,omitempty"`
	Key       string      `json:"key,omitempty"`
	Route     string      `json:"route,omitempty"`
	RouteBy   string      `json:"route_by,omitempty"`
	Target    string      `json:"target,omitempty"`
	Instance  string      `json:"instance,omitempty"`
	Model     string      `json:"model,omitempty"` // as the upstream was asked for it
	DecidedBy string      `json:"decided_by,omitempty"`
	Status    int         `json:"status"`
	Outcome   string      `json:"outcome"`
	Attempts  int         `json:"attempts"`
	Fallback  bool        `json:"fallback"`
	Stream    bool        `json:"stream"`
	FirstByte *float64    `json:"first_byte_ms"` // null if there was none
	Total     float64     `json:"total_ms"`
	Tokens    *tokensView `json:"tokens"` // null if the answer said nothing of them
}

type tokensView struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Cached    int64 `json:"cached"`
	Reasoning int64 `json:"reasoning"`
}

func (e *ended) view() endedView {
	v := endedView{Number: e.number, Time: e.time, ID: string(e.id[:e.idLength]), Endpoint: e.endpoint, Key: e.key,
		Route: e.route, RouteBy: e.routeBy, Target: e.target, Instance: e.instance, Model: e.model, DecidedBy: e.decidedBy, Status: e.status,
		Outcome: e.outcome, Attempts: e.attempts, Fallback: e.fallback, Stream: e.stream, Total: ms(e.total)}
	if e.firstByte > 0 {
		first := ms(e.firstByte)
		v.FirstByte = &first
	}
	if t := e.tokens; t.Input+t.Output+t.Cached+t.Reasoning > 0 {
		v.Tokens = &tokensView{t.Input, t.Output, t.Cached, t.Reasoning}
	}
	return v
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

const (
	lookEvery   = 250 * time.Millisecond // how often a stream looks for what is new
	silence     = 15 * time.Second       // after which it says that it is still there
	mostStreams = 32
)

// live answers with the requests that ended last, or, to whoever asks for events, with those that end from now on.
func (a *admin) live(w http.ResponseWriter, r *http.Request) {
	after, limit := uint64(0), remembered
	query := r.URL.Query()
	var err error
	if v := query.Get("after"); v != "" {
		if after, err = strconv.ParseUint(v, 10, 64); err != nil {
			fail(w, http.StatusBadRequest, "after is the number of a request, not "+quote(v))
			return
		}
	}
	if v := query.Get("limit"); v != "" {
		if limit, err = strconv.Atoi(v); err != nil || limit < 0 {
			fail(w, http.StatusBadRequest, "limit is a number of requests, not "+quote(v))
			return
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		a.stream(w, r, after, limit)
		return
	}
	requests, last := a.Recent.since(after, limit)
	answer := struct {
		Last     uint64      `json:"last"` // number of the last request, to ask for those after it
		Requests []endedView `json:"requests"`
	}{last, []endedView{}}
	for i := range requests {
		answer.Requests = append(answer.Requests, requests[i].view())
	}
	write(w, http.StatusOK, answer)
}

// stream sends requests as they end, each as an event whose id is its number. What comes faster than a reader reads is
// left out.
func (a *admin) stream(w http.ResponseWriter, r *http.Request, after uint64, limit int) {
	if a.streams.Add(1) > mostStreams {
		a.streams.Add(-1)
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("there are %d streams already", mostStreams))
		return
	}
	defer a.streams.Add(-1)
	if id, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = id
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	look, said := time.NewTicker(lookEvery), time.Now()
	defer look.Stop()
	for {
		requests, last := a.Recent.since(after, limit)
		after, limit = last, remembered
		_ = out.SetWriteDeadline(time.Now().Add(2 * silence))
		for i := range requests {
			text, err := json.Marshal(requests[i].view())
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", requests[i].number, text); err != nil {
				return
			}
		}
		if len(requests) == 0 && time.Since(said) >= silence {
			if _, err := fmt.Fprint(w, ": nothing new\n\n"); err != nil {
				return
			}
			said = time.Now()
		}
		if len(requests) > 0 {
			said = time.Now()
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-look.C:
		}
	}
}
