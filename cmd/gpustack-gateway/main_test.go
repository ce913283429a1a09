package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// output is a writer that a test may read while a command writes to it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command runs one command line to its end.
func command(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errors output
	status = run(t.Context(), args, &process{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errors})
	return status, out.String(), errors.String()
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "routes.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"-h"}, {"serve", "--help"}, {"key", "create", "--help"}, {"demo", "--help"}} {
		status, stdout, stderr := command(t, "", args...)
		if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "Usage: gpustack-gateway") {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
	_, stdout, _ := command(t, "")
	for _, name := range []string{"serve", "check", "schema", "key", "demo", "health", "version"} {
		if !strings.Contains(stdout, "\n  "+name) {
			t.Errorf("the help does not tell of %s:\n%s", name, stdout)
		}
	}
	_, stdout, _ = command(t, "", "serve", "--help")
	for _, name := range []string{"ROUTES", "LISTEN", "ADMIN_LISTEN", "LOG_LEVEL", "LOG_FORMAT"} {
		if !strings.Contains(stdout, "$GPUSTACK_GATEWAY_"+name) {
			t.Errorf("the help does not tell of GPUSTACK_GATEWAY_%s:\n%s", name, stdout)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"}, {"serve"}, {"serve", "--routes"}, {"check"}, {"check", "one", "two"}, {"key", "create"},
		{"serve", "--routes", "x", "--log-level", "loud"},
		{"serve", "--routes", "x", "--tls-cert", "only-half"},
		{"serve", "--routes", "x", "--drain-timeout", "soon"},
		{"check", filepath.Join(t.TempDir(), "missing.json")},
		{"key", "create", "--user", "alice", "--expires", "soon"},
		{"key", "create", "--user", "alice", "--expires", "2001-01-01T00:00:00Z"},
	} {
		status, stdout, stderr := command(t, "", args...)
		if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "gpustack-gateway: ") {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	status, stdout, _ := command(t, "", "version")
	if status != exitOK || !strings.HasPrefix(stdout, "gpustack-gateway ") || strings.Count(stdout, "\n") != 1 {
		t.Errorf("status %d, %q", status, stdout)
	}
}

func TestSchema(t *testing.T) {
	status, stdout, _ := command(t, "", "schema")
	if status != exitOK || !strings.Contains(stdout, "session_affinity") || !strings.Contains(stdout, "fallback_status_codes") {
		t.Errorf("status %d, %.200q", status, stdout)
	}
}
