package gateway_test

import (
	"bufio"
	"io"
	"net"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
)

// An upstream that falls silent is given up after the idle limit, or the limit on the first byte, although the client is
// sent heartbeats meanwhile.
func TestC109HeartbeatsDoNotHideASilence(t *testing.T) {
	for name, said := range map[string]string{"before the first event": "", "after an event": chunk(events("1"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := upstream(t, func(_ int, c *net.TCPConn) {
				r := bufio.NewReader(c)
				if read(r) != nil {
					io.WriteString(c, streamHead+said)
					read(r) // until the gateway closes it
				}
			})
			g := gatewaytest.Start(t, open(`"defaults": {"timeouts": {"first_byte": "300ms", "idle": "300ms"}}`, `"heartbeat": "10ms"`, url))
			if a := g.Post(chat, streamBody); a.Err == nil || a.Status != 200 {
				t.Errorf("%d %q, %v", a.Status, a.Body, a.Err)
			}
			if l := g.WaitRequests(1)[0]; l["outcome"] != "upstream_aborted" {
				t.Errorf("access log: %v", l)
			}
		})
	}
}
