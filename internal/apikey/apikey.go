// Package apikey makes the secrets of API keys.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// New returns a new key's secret, and the public part of it, 16 hexadecimal digits. 128 random bits keep the secret from
// being guessed, which is why a plain digest of it is enough in the routes file.
func New() (id, secret string) {
	var random [24]byte
	_, _ = rand.Read(random[:]) // it never fails
	id = hex.EncodeToString(random[:8])
	return id, "gpustack_" + id + "_" + hex.EncodeToString(random[8:])
}

// NameFor returns what a key of a user is called that was not given a name.
func NameFor(user, id string) string { return user + "-" + id[:6] }

// Digest returns the SHA-256 of a secret in hexadecimal, as the routes file holds it.
func Digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
