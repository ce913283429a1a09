// Package fleetsim simulates fleets of engines behind gateways, for planning past one machine: how long clients wait for
// a first token, how much of the prompt caches is found again and how even the load is, by the size of the fleet, the
// way of balancing and the number of gateways.
//
// Who gets a request is decided by the packages that serve, lb and the plugins, with virtual time and seeded randomness
// handed in. Engines and clients are a model: see Engine and Agents for what it knows, docs/scaling.md for what it
// leaves out. Everything of one simulation happens on one goroutine, one event after the other, so that a run repeats
// exactly.
package fleetsim
