package route

import (
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

// Test that what every request asks of a snapshot allocates nothing.
func TestAllocLookups(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	s := mustBuild(t, accessFile(), testOptions())
	names := [][]byte{[]byte("alice-only"), []byte("a name that no route of the file has"), nil}
	secrets := [][]byte{[]byte("a1"), []byte("a2"), []byte("an unknown secret, longer than a block of SHA-256 is, as keys may be"), nil}
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	allocs := testing.AllocsPerRun(100, func() {
		for _, secret := range secrets {
			c, _ := s.Caller(secret, now)
			for _, name := range names {
				if r := s.Route(name); r != nil && s.May(c, r) {
					_ = r.Public()
				}
			}
			_, _ = c.Name(), c.User()
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
