package main

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/gpustack/gpustack-gateway/gateway/admin"
	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/internal/systemone"
	"github.com/gpustack/gpustack-gateway/plugins/decisionservice"
)

// asker lets the decision policy ask through the one client of the process.
type asker struct{ client *systemone.Client }

// Ask implements decisionservice.Asker.
func (a asker) Ask(ctx context.Context, q decisionservice.Question) ([]byte, error) {
	return a.client.Ask(ctx, systemone.Question(q))
}

// newDecisionClient returns a client whose calls are counted. What goes wrong with one question is for those who debug;
// that a service is left alone, or asked again, is for every operator.
func newDecisionClient(m *metrics.Metrics, log zerolog.Logger) *systemone.Client {
	return systemone.New(systemone.Config{
		Asked: func(e systemone.Event) {
			m.Decision(e.Service, e.Label(), e.Took)
			if e.Err != nil {
				log.Debug().Str("provider", e.Service).Str("result", string(e.Result)).Dur("took_ms", e.Took).AnErr("cause", e.Err).
					Msg("a decision service gave no verdict, the other policies decide")
			}
		},
		Switched: func(s systemone.ServiceState) {
			event := log.Warn()
			if s.Circuit == systemone.Closed {
				event = log.Info()
			}
			event.Str("provider", s.Service).Str("circuit", string(s.Circuit)).Int("failures", s.Failures).Msg("a decision service's circuit has switched")
		},
	})
}

// openCircuits tells which providers are left alone at this moment.
func openCircuits(c *systemone.Client) map[string]bool {
	open := map[string]bool{}
	for _, s := range c.States() {
		open[s.Service] = open[s.Service] || s.Circuit == systemone.Open
	}
	return open
}

// circuits tells what is known of the decision services that were asked.
func circuits(c *systemone.Client) []admin.Circuit {
	var list []admin.Circuit
	for _, s := range c.States() {
		circuit := admin.Circuit{Provider: s.Service, State: string(s.Circuit), Failures: s.Failures}
		if !s.Until.IsZero() {
			circuit.Until = &s.Until
		}
		list = append(list, circuit)
	}
	return list
}
