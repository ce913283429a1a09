// Package consoletest uses the console as an operator does: in a browser, before a gateway that runs as the real command,
// with its routes file on disk. The browser is Debian's chromium, driven by playwright-core; console.test.mjs says what
// is done and seen. With CONSOLE_SCREENSHOTS naming a folder, a picture of each page is put there.
package consoletest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tools are the programs that the test needs. Where one is missing the test is skipped; on the checks' machines that is a
// failure.
type tools struct{ node, chromium string }

func needTools(t *testing.T) tools {
	t.Helper()
	var found tools
	var err error
	if found.node, err = exec.LookPath("node"); err == nil {
		found.chromium, err = exec.LookPath("chromium")
	}
	if err == nil {
		_, err = os.Stat("node_modules/.package-lock.json")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the browser or its driver is not installed: %v", err)
		}
		t.Skipf("the browser or its driver is not installed (apt-get install chromium; make browser): %v", err)
	}
	return found
}

// binary builds the command, and returns where it is.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gpustack-gateway")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/gpustack-gateway").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// running is a gateway, with simulated engines behind it.
type running struct{ data, admin, routes string }

// demo starts the command's demo on free ports, and stops it at the end of the test.
func demo(t *testing.T) running {
	t.Helper()
	cmd := exec.Command(binary(t), "demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serving, all := make(chan running, 1), make(chan string, 1)
	go follow(out, serving, all)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		said := <-all
		if err := cmd.Wait(); err != nil {
			t.Errorf("the demo ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the demo said:\n%s", said)
		}
	})
	select {
	case r := <-serving:
		return r
	case <-time.After(time.Minute):
		t.Fatal("the demo does not serve")
		return running{}
	}
}

// follow reads what the demo says to its end, and tells where it serves as soon as it has said that.
func follow(out io.Reader, serving chan<- running, all chan<- string) {
	var said strings.Builder
	var r running
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		said.WriteString(line + "\n")
		if _, rest, ok := strings.Cut(line, "The routes file is "); ok {
			r.routes, _, _ = strings.Cut(rest, ":")
		}
		var event struct{ Message, Listen, Admin string }
		if json.Unmarshal([]byte(line), &event) == nil && event.Message == "serving" {
			r.data, r.admin = "http://"+event.Listen, "http://"+event.Admin
			serving <- r
		}
	}
	all <- said.String()
}

func TestConsole(t *testing.T) {
	found := needTools(t)
	gateway := demo(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, found.node, "--test", "--test-reporter=spec", "console.test.mjs")
	cmd.Env = append(os.Environ(), "CHROMIUM="+found.chromium, "GATEWAY_URL="+gateway.data, "ADMIN_URL="+gateway.admin,
		"ROUTES_FILE="+gateway.routes, "GATEWAY_KEY=demo")
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
