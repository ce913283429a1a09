package load_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) load.Target {
	t.Helper()
	e, err := engine.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return load.Target{Addr: e.Addrs()[0]}
}

// closed loads the target for long enough that something is answered, however slow the machine is at the moment.
func closed(target load.Target, r *load.Request, d time.Duration) load.Result {
	for ; ; d *= 2 {
		if res := load.Closed(target, r, 4, d); res.Requests+res.Errors > 0 || d > 10*time.Second {
			return res
		}
	}
}

// Answers of every kind and size come whole, by requests of every size.
func TestClosedReadsEveryAnswer(t *testing.T) {
	target := start(t)
	for _, order := range []engine.Order{
		{}, {Bytes: 1 << 10}, {Bytes: 256 << 10}, {Bytes: 1 << 10, First: time.Millisecond},
		{Events: 1}, {Events: 64}, {Events: 3, Every: 5 * time.Millisecond},
	} {
		for _, body := range []int{0, 2 << 10, 32 << 10, 1 << 20} {
			res := closed(target, load.NewRequest(target, "m", body, order), 20*time.Millisecond)
			if err := res.Err(); err != nil {
				t.Errorf("%+v, %d bytes: %v", order, body, err)
			}
			if res.Events != order.Events*res.Requests {
				t.Errorf("%+v, %d bytes: %d events in %d answers", order, body, res.Events, res.Requests)
			}
		}
	}
}

func TestPacedKeepsTheRate(t *testing.T) {
	target := start(t)
	res := load.Paced(target, load.NewRequest(target, "m", 2<<10, engine.Order{Bytes: 1 << 10}), 4, 400, 250*time.Millisecond)
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	if res.Requests != 100 || len(res.Waits) != 100 {
		t.Errorf("%d requests, %d times to the first byte, want 100 of both", res.Requests, len(res.Waits))
	}
}

// What does not answer with 200, or not at all, is an error and no figure.
func TestErrorsAreCounted(t *testing.T) {
	target := start(t)
	silent := load.NewRequest(target, "m", 0, engine.Order{Bytes: 1 << 10})
	target.Addr = "127.0.0.1:1"
	if res := load.Closed(target, silent, 2, 10*time.Millisecond); res.Err() == nil || res.Errors != 2 {
		t.Errorf("%d errors: %v", res.Errors, res.Err())
	}
}

func TestStreamsEndByThemselves(t *testing.T) {
	target := start(t)
	s, err := load.Open(target, load.NewRequest(target, "m", 2<<10, engine.Order{Events: 20, Every: 5 * time.Millisecond}), 30)
	if err != nil {
		t.Fatal(err)
	}
	s.Record()
	sum, err := s.Wait()
	if err != nil || sum.Lost != 0 || sum.Events != 600 {
		t.Errorf("%d events, %d lost: %v", sum.Events, sum.Lost, err)
	}
	if len(sum.Gaps) == 0 {
		t.Error("no gap was noted")
	}
}

func TestStreamsAreClosed(t *testing.T) {
	target := start(t)
	request := load.NewRequest(target, "m", 2<<10, engine.Order{Events: -1, Every: time.Millisecond})
	s, err := load.Open(target, request, 20)
	if err == nil {
		err = s.More(target, request, 10)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Events(); n < 30 {
		t.Errorf("%d events have come on 30 streams", n)
	}
	if sum, err := s.Close(); err != nil || sum.Lost != 0 {
		t.Errorf("%d lost: %v", sum.Lost, err)
	}
}
