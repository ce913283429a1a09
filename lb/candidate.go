package lb

import (
	"crypto/sha256"
	"encoding/binary"
)

// Candidate is one way to serve a route: an instance reached as one target. Immutable.
type Candidate struct {
	Target   int    // position among the pool's targets
	Instance string // name of the instance; a provider's name for a provider
	Model    string // name of the model; the name a decision service chooses among
	Key      uint64 // hash of (target, instance), made once when built; see CandidateKey
	Limit    int64  // max_inflight of the engine; 0 is unlimited
	Exempt   bool   // a provider: never ejected
	Engine   *Engine
}

// CandidateKey returns the identity of a candidate for rendezvous hashing. It is the same in every process and
// release, because it decides which instance has a session's warm cache. The target's length is hashed as well, so
// that ("a", "bc") and ("ab", "c") differ; SHA-256 keeps near-identical names far apart.
func CandidateKey(target, instance string) uint64 {
	text := binary.BigEndian.AppendUint64(nil, uint64(len(target)))
	text = append(append(text, target...), instance...)
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:])
}
