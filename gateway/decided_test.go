package gateway_test

import (
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
)

// A request that nobody was asked for says nothing of who decided, whatever the one before it was decided by.
func TestNobodyDecidesARefusedRequest(t *testing.T) {
	g := gatewaytest.Start(t, balanced(cluster(t, 2), 2, `"policies": {"session_affinity": {}}`), kinds())
	for range 8 {
		if a := g.Post(chat, chatBody, "session-id", "one"); a.Status != 200 {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		if a := g.Post(chat, `{"model": "unknown", "messages": []}`); a.Status != 401 {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
	}
	g.Idle()
	for _, line := range g.Requests() {
		by, decided := line["decided_by"]
		if refused := line["status"] == float64(401); decided == refused {
			t.Errorf("status %v, decided by %v", line["status"], by)
		}
	}
}
