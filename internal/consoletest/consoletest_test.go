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
	if os.Getenv("CONSOLE_TEST") == "" && os.Getenv("CONSOLE_SCREENSHOTS") == "" {
		t.Skip("set CONSOLE_TEST=1, or run make test-console")
	}
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
type running struct{ data, admin string }

// gateway runs the command, which listens on free ports, and stops it at the end of the test.
func gateway(t *testing.T, command string, args ...string) running {
	t.Helper()
	args = append(args, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	cmd := exec.Command(command, args...)
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
			t.Errorf("%v ended with %v", args, err)
		}
		if t.Failed() {
			t.Logf("%v said:\n%s", args, said)
		}
	})
	select {
	case r := <-serving:
		return r
	case <-time.After(time.Minute):
		t.Fatalf("%v does not serve", args)
		return running{}
	}
}

// follow reads what the command says to its end, and tells where it serves as soon as it has said that.
func follow(out io.Reader, serving chan<- running, all chan<- string) {
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		var event struct{ Message, Listen, Admin string }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Message == "serving" {
			serving <- running{"http://" + event.Listen, "http://" + event.Admin}
		}
	}
	all <- said.String()
}

// run runs a file of tests.
func (tools tools) run(t *testing.T, g running, script string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tools.node, "--test", "--test-reporter=spec", script)
	cmd.Env = append(os.Environ(), "CHROMIUM="+tools.chromium, "GATEWAY_URL="+g.data, "ADMIN_URL="+g.admin)
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
}

func TestConsole(t *testing.T) {
	tools := needTools(t)
	g := gateway(t, binary(t), "demo")
	for _, script := range []string{"console.test.mjs", "pages.test.mjs", "access.test.mjs"} {
		t.Run(script, func(t *testing.T) { tools.run(t, g, script, "GATEWAY_KEY=demo") })
	}
}

func TestConsoleWithToken(t *testing.T) {
	tools := needTools(t)
	dir, token := t.TempDir(), "a-token-that-is-long-enough"
	for name, text := range map[string]string{"routes.json": `{"routes": []}`, "token": token + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := gateway(t, binary(t), "serve", "--grace-period", "0s", "--routes", filepath.Join(dir, "routes.json"),
		"--admin-token-file", filepath.Join(dir, "token"))
	tools.run(t, g, "token.test.mjs", "ADMIN_TOKEN="+token)
}

// Only where it is asked for, since the pictures are committed and differ from run to run.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("CONSOLE_SCREENSHOTS")
	if folder == "" {
		t.Skip("make screenshots takes them")
	}
	tools := needTools(t)
	tools.run(t, gateway(t, binary(t), "demo"), "screenshots.test.mjs", "GATEWAY_KEY=demo")
}
