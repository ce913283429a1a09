package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
)

func TestLogIsWrittenInBatches(t *testing.T) {
	var out output
	log, flush := logFlags{LogLevel: "info", LogFormat: "json"}.logger(&out)
	log.Info().Msg("one")
	log.Warn().Msg("two")
	if got := out.String(); !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("a warning is not written at once, with what came before: %q", got)
	}
	log.Info().Msg("three")
	gatewaytest.Eventually(t, "a line is written soon", func() bool { return strings.Contains(out.String(), "three") })
	log.Debug().Msg("four")
	log.Info().Msg("five")
	flush()
	if got := out.String(); strings.Contains(got, "four") || !strings.HasSuffix(got, "\"five\"}\n") || strings.Count(got, "\n") != 4 {
		t.Errorf("%q", got)
	}
}

// failing is a disk that is full at first.
type failing struct {
	output
	failures int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.failures > 0 {
		f.failures--
		return 0, errors.New("no space left")
	}
	return f.output.Write(p)
}

func TestLogGoesOnAfterAFailure(t *testing.T) {
	out := &failing{failures: 1}
	l := newLogWriter(out)
	for _, line := range []string{"lost\n", "kept\n"} {
		_, _ = l.Write([]byte(line))
	}
	if got := out.String(); got != "kept\n" {
		t.Errorf("%q", got)
	}
}
