package gateway_test

import (
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/race"
)

// allocations returns how many allocations the process makes for one call, once it runs.
func allocations(t *testing.T, c *repeater) (count, bytes float64) {
	t.Helper()
	const n = 2000
	for range 100 {
		c.call(t)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would empty the pools
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		c.call(t)
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n
}

// A request over kept connections costs next to no allocations, whatever its size, and a stream none for its events: one
// small one is the HTTP server's, which reads the first byte of a request by itself, and one more its writer of chunks.
// The access log is on.
func TestAllocationsPerRequest(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	answer := whole("Content-Type: application/json\r\n", completion)
	for _, c := range []struct {
		name    string
		pieces  []string
		request string
		end     func([]byte) bool
		bound   float64
	}{
		{"chat", []string{answer}, post(chat, padBody(false, 100)), bodyEnd, 2},
		{"chat of 32 KB", []string{answer}, post(chat, padBody(false, 32<<10)), bodyEnd, 2},
		{"stream of 64 events", event64(), post(chat, padBody(true, 100)), chunksEnd, 3},
	} {
		url := replier(t, c.pieces...)
		direct, _ := allocations(t, newRepeater(t, url[len("http://"):], c.request, c.end))
		g := gatewaytest.Start(t, open("", "", url), gatewaytest.LogTo(io.Discard))
		count, size := allocations(t, newRepeater(t, g.Addr, c.request, c.end))
		t.Logf("%s: %.2f allocations of %.0f bytes in all (%.2f without the gateway)", c.name, count, size, direct)
		if count-direct > c.bound {
			t.Errorf("%s: %.2f allocations, %.0f are allowed", c.name, count-direct, c.bound)
		}
	}
}
