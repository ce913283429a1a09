package builtin

import (
	"testing"

	"github.com/gpustack/gpustack-gateway/plugins"
)

func TestAll(t *testing.T) {
	if err := plugins.Check(All(nil)); err != nil {
		t.Error(err)
	}
}
