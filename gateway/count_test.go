package gateway_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// An attempt that follows a failed one is counted by what came of itself.
func TestAttemptsAreCountedByTheirOwnResult(t *testing.T) {
	dead, alive := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Refuse}}), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open(`"defaults": {"health": {"unhealthy_threshold": 0}}`, "", dead.URL(), alive.URL()))
	for range 4 { // every other one begins with the dead one
		if a := g.Post(chat, chatBody); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	g.WaitRequests(4)
	w := httptest.NewRecorder()
	g.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`attempts_total{result="answered",route="m",target="m",target_instance="m-1"} 0`,
		`attempts_total{result="answered",route="m",target="m",target_instance="m-2"} 4`,
		`attempts_total{result="unreachable",route="m",target="m",target_instance="m-2"} 0`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
