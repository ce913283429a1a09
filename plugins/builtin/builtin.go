// Package builtin is the list of the policy plugins that the gateway has.
package builtin

import (
	"github.com/gpustack/gpustack-gateway/plugins"
	"github.com/gpustack/gpustack-gateway/plugins/decisionservice"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
)

// All returns every plugin, a line each, with what they remember for the life of the process still empty. asker is how
// decision services are asked; nil will do where configurations are only checked. Each of moved is told the route of a
// session that goes elsewhere than to its owner.
func All(asker decisionservice.Asker, moved ...func(route string)) []plugins.Kind {
	return []plugins.Kind{
		sessionaffinity.New(moved...),
		leastinflight.New(),
		decisionservice.New(asker),
	}
}
