package peer_test

import (
	"net"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
	"github.com/gpustack/gpustack-gateway/internal/bench/peer"
)

// closed loads the target for long enough that something is answered, however slow the machine is at the moment.
func closed(target load.Target, r *load.Request, d time.Duration) load.Result {
	for ; ; d *= 2 {
		if res := load.Closed(target, r, 4, d); res.Requests+res.Errors > 0 || d > 10*time.Second {
			return res
		}
	}
}

// Both pass on every answer that is measured.
func TestPeersForward(t *testing.T) {
	e, err := engine.Start(3)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, serve := range map[string]func(net.Listener, []string) error{"fasthttp": peer.Fasthttp, "net/http": peer.NetHTTP} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = serve(ln, e.Addrs()) }()
		target := load.Target{Addr: ln.Addr().String()}
		for _, order := range []engine.Order{{Bytes: 1 << 10}, {Bytes: 256 << 10}, {Events: 64}, {Events: 5, Every: 5 * time.Millisecond}} {
			for _, body := range []int{2 << 10, 1 << 20} {
				res := closed(target, load.NewRequest(target, "m", body, order), 50*time.Millisecond)
				if err := res.Err(); err != nil {
					t.Errorf("%s: %+v, %d bytes: %v", name, order, body, err)
				}
			}
		}
		_ = ln.Close()
	}
}
