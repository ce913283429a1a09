package gateway_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// Test that a client which leaves just as its connection to an upstream is made costs nothing but its own request,
// however the two events fall together. (A context that had forgotten why it ended once took the process down here.)
func TestClientLeavesWhileConnecting(t *testing.T) {
	e := engine(t, sim.Behaviour{ExtraHeader: []sim.Field{{Name: "Connection", Value: "close"}}}) // each request dials
	g := gatewaytest.Start(t, open("", "", e.URL()))
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			c, err := net.Dial("tcp", g.Addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			io.WriteString(c, post(chat, chatBody))
			if i%2 == 0 {
				c.Read(make([]byte, 1))
			}
		})
	}
	wg.Wait()
	g.Idle()
}
