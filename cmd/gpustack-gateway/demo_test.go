package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// running starts a command that serves, and returns where. It is stopped at the end of the test, unless the test does so
// by stop, and has to end well.
func running(t *testing.T, out *output, args ...string) (at addresses, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan addresses, 1)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, &process{stdin: strings.NewReader(""), stdout: out, stderr: out, started: func(a addresses) { started <- a }})
	}()
	var status int
	stopped := false
	stop = func() int {
		if !stopped {
			cancel()
			status, stopped = <-ended, true
		}
		return status
	}
	select {
	case at = <-started:
	case status = <-ended:
		cancel()
		t.Fatalf("%q ended with %d: %s", args, status, out.String())
	}
	t.Cleanup(func() {
		if status := stop(); status != exitOK {
			t.Errorf("%q ended with %d: %s", args, status, out.String())
		}
	})
	return at, stop
}

// runningDemo starts the demo on free ports.
func runningDemo(t *testing.T) (addresses, *output) {
	t.Helper()
	var out output
	at, _ := running(t, &out, "demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	return at, &out
}

// The commands that the demo prints work as printed, and the two prompts reach the small and the large model under one
// session.
func TestDemoPrintsCommandsThatWork(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl here")
	}
	_, out := runningDemo(t)
	commands := regexp.MustCompile(`(?m)^ +curl (.*)$`).FindAllStringSubmatch(out.String(), -1)
	if len(commands) != 3 {
		t.Fatalf("%d commands in %s", len(commands), out.String())
	}
	want := []string{
		"X-Gpustack-Target: qwen3-0.6b",
		"X-Gpustack-Target: qwen3-32b",
		`"plugin":"decision_service"`,
	}
	for i, command := range commands {
		got, err := exec.Command("sh", "-c", curl+" "+command[1]).CombinedOutput()
		if err != nil || !strings.Contains(string(got), want[i]) {
			t.Errorf("%s: %v\n%s", command[0], err, got)
		}
	}
}

func TestExplain(t *testing.T) {
	at, _ := runningDemo(t)
	body := writeFile(t, `{"model": "qwen3", "messages": [{"role": "user", "content": "Write a one-line greeting card."}]}`)
	status, stdout, stderr := command(t, "", "explain", "--admin", at.admin, "-H", "Session-Id: one", "--body", body, "--ask")
	for _, want := range []string{`Route "qwen3" (authed), by policy`, `session "one" from header "session-id"`, "decision_service", "qwen3-32b-1",
		`"jev" chose "qwen3-0.6b"`, "After it: "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("missing %q in\n%s", want, stdout)
		}
	}
	if status != exitOK || stderr != "" {
		t.Errorf("status %d, %s", status, stderr)
	}
	// Without --ask nobody is asked; a refusal is an explanation, too; the request may come by standard input.
	for _, test := range []struct{ body, want string }{
		{`{"model": "qwen3", "messages": []}`, "abstains"},
		{`{"model": "qwen3-split", "messages": []}`, "by target_weight"},
		{`{"model": "unknown", "messages": []}`, "It would be refused with status 404 (model_not_found)"},
		{`{"model": "qwen3", "model": "qwen3"}`, "It would be refused with status 400"},
		{`{`, "It would be refused with status 400"},
	} {
		status, stdout, _ := command(t, test.body, "explain", "--admin", "http://"+at.admin, "--body", "-")
		if status != exitOK || !strings.Contains(stdout, test.want) {
			t.Errorf("%s: status %d\n%s", test.body, status, stdout)
		}
	}
	if status, stdout, _ := command(t, `{"model": "qwen3"}`, "explain", "--admin", at.admin, "--body", "-", "--json"); status != exitOK || !strings.HasPrefix(stdout, `{"route":"qwen3"`) {
		t.Errorf("status %d\n%s", status, stdout)
	}
	for _, args := range [][]string{
		{"--admin", at.admin, "--body", filepath.Join(t.TempDir(), "missing")},
		{"--admin", at.admin, "--body", body, "-H", "no-colon"},
	} {
		if status, _, stderr := command(t, "", append([]string{"explain"}, args...)...); status != exitUsage || stderr == "" {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
	}
}

// For the default weights simulate prints the table of the design.
func TestSimulate(t *testing.T) {
	file := func(instances int, policies string) string {
		var all []string
		for i := range instances {
			all = append(all, fmt.Sprintf(`{"name": "i%d", "url": "http://10.0.0.%d:8000"}`, i, i+1))
		}
		return fmt.Sprintf(`{"models": [{"name": "m", "instances": [%s]}], "routes": [{"name": "r", "targets": [{"model": "m"}], "policies": %s}]}`,
			strings.Join(all, ", "), policies)
	}
	squeeze := func(s string) string { return regexp.MustCompile(` +`).ReplaceAllString(s, " ") }
	status, stdout, stderr := command(t, file(3, `{"session_affinity": {}, "least_inflight": {}}`), "simulate", "--routes", "-", "--route", "r")
	for _, row := range []string{
		"2 hold tie flip flip flip 2\n",
		"3 (this route) hold hold tie flip flip 3\n",
		"4 hold hold hold hold hold 6\n",
		"5 hold hold hold hold hold never\n",
	} {
		if !strings.Contains(squeeze(stdout), row) {
			t.Errorf("missing %q in\n%s%s", row, stdout, stderr)
		}
	}
	if status != exitOK {
		t.Errorf("status %d", status)
	}
	// 2:1 at 8 instances moves at 9.
	_, stdout, _ = command(t, file(8, `{"session_affinity": {}, "least_inflight": {"weight": 2}}`), "simulate", "--routes", "-", "--route", "r")
	if !strings.Contains(squeeze(stdout), "8 (this route) hold hold hold hold hold 9\n") {
		t.Errorf("%s", stdout)
	}
	for name, text := range map[string]string{
		"no policy":  file(2, `{}`),
		"no session": file(2, `{"least_inflight": {}}`),
		"not valid":  `{`,
	} {
		if status, _, stderr := command(t, text, "simulate", "--routes", "-", "--route", "r"); status != exitFailed || stderr == "" {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
	}
	if status, _, _ := command(t, file(2, `{}`), "simulate", "--routes", "-", "--route", "unknown"); status != exitUsage {
		t.Errorf("status %d", status)
	}
}
