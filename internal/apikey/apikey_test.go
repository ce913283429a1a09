package apikey_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/apikey"
)

func TestNew(t *testing.T) {
	id, secret := apikey.New()
	if !regexp.MustCompile(`^gpustack_[0-9a-f]{16}_[0-9a-f]{32}$`).MatchString(secret) || !strings.Contains(secret, id) {
		t.Errorf("%s %s", id, secret)
	}
	if _, other := apikey.New(); other == secret {
		t.Error("the same once more")
	}
	if name := apikey.NameFor("alice", "0123456789abcdef"); name != "alice-012345" {
		t.Error(name)
	}
}

// The digest is what sha256sum prints.
func TestDigest(t *testing.T) {
	if got := apikey.Digest("demo"); got != "2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea" {
		t.Error(got)
	}
}
