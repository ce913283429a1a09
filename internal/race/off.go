//go:build !race

// Package race tells whether the race detector is on: it allocates, so tests that count allocations are skipped under
// it.
package race

// Enabled is true in a build with -race.
const Enabled = false
