package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// quick is a scenario that takes no time to speak of.
const quick = `{"instances": [1, 2], "warm_up": "1m", "measure": "1m", "repeat": 1,
	"strategies": [{"by": "round_robin"}, {"session_affinity": 1, "least_inflight": 1}]}`

func TestSimulateFleet(t *testing.T) {
	status, stdout, stderr := command(t, quick, "simulate", "--fleet", "-")
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	for _, part := range []string{"INSTANCES", "TTFT P99", "round robin", "both 1:1"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("%q is missing in\n%s", part, stdout)
		}
	}

	dir := filepath.Join(t.TempDir(), "plots", "new")
	status, again, _ := command(t, quick, "simulate", "--fleet", "-", "--svg", dir)
	if status != exitOK || again != stdout {
		t.Errorf("status %d; the same again is\n%s\nnot\n%s", status, again, stdout)
	}
	file := filepath.Join(t.TempDir(), "my.fleet.json")
	if err := os.WriteFile(file, []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := command(t, "", "simulate", "--fleet", file, "--svg", dir); status != exitOK {
		t.Errorf("status %d, %s", status, stderr)
	}
	for _, name := range []string{"stdin.svg", "my.fleet.svg"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasPrefix(string(text), "<svg ") {
			t.Errorf("%s: %v, %.60s", name, err, text)
		}
	}
}

func TestSimulateFleetRefuses(t *testing.T) {
	status, stdout, stderr := command(t, "{\"instances\": [8],\n \"gateways\": [0]}", "simulate", "--fleet", "-")
	if status != exitFailed || stdout != "" || !strings.HasPrefix(stderr, "stdin:2:15: gateways[0]: 0 is not in the range from 1 to 16\n") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	occupied := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{},
		{"--routes", "routes.json"},
		{"--route", "chat"},
		{"--svg", "plots"},
		{"--fleet", "-", "--route", "chat"},
		{"--fleet", "-", "--routes", "routes.json"},
		{"--fleet", "-", "--svg", occupied},
		{"--fleet", filepath.Join(t.TempDir(), "missing.json")},
	} {
		status, stdout, stderr := command(t, quick, append([]string{"simulate"}, args...)...)
		if status != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "gpustack-gateway: ") {
			t.Errorf("%q: status %d, %s%s", args, status, stdout, stderr)
		}
	}
}
