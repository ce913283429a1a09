package docstest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bin is where the gateway is, as bin/gpustack-gateway.
var bin string

// TestMain builds the gateway once for all tests.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "docstest-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		bin = dir
		//nolint:gosec,noctx // the arguments are ours, and nothing ends it but its end
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "gpustack-gateway"), root+"/cmd/gpustack-gateway").CombinedOutput()
		if err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// The quickstart's commands work as they stand, one after the other, in the way without GPUs.
func TestQuickstart(t *testing.T) {
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool + " here")
		}
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(bin, "bin"), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{}
	for _, usual := range []string{"8080", "9090", "8090", "9091"} {
		ports[usual] = freePort(t)
	}
	_, blocks := split(read(t, "docs/quickstart.md"))
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	for _, b := range blocks {
		switch {
		case b.language != "", strings.Contains(b.text, "make build"), strings.Contains(b.text, "8001"):
			continue // what is shown only; what this test has done; what needs GPUs
		case strings.Contains(b.text, "gateway demo"), strings.Contains(b.text, "gateway serve"):
			admin := "9091"
			if strings.Contains(b.text, "serve") {
				admin = "9090"
			}
			script.WriteString(strings.TrimSpace(b.text) + " >>background.log 2>&1 &\n" +
				"for i in $(seq 200); do curl -sf -o ready http://127.0.0.1:" + admin + "/readyz && break; sleep 0.05; done\n")
		default:
			script.WriteString(b.text)
		}
	}
	text := script.String()
	for usual, port := range ports {
		text = strings.ReplaceAll(text, "127.0.0.1:"+usual, "127.0.0.1:"+port)
	}
	// On their usual addresses, which the quickstart does not write, serve and explain would meet others' gateways.
	text = strings.ReplaceAll(text, "gateway serve ", "gateway serve --listen 127.0.0.1:"+ports["8080"]+" --admin-listen 127.0.0.1:"+ports["9090"]+" ")
	text = strings.ReplaceAll(text, "gateway explain ", "gateway explain --admin 127.0.0.1:"+ports["9090"]+" ")

	cmd := exec.CommandContext(t.Context(), "sh", "-c", text) //nolint:gosec // the page is ours
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		background, _ := os.ReadFile(filepath.Join(dir, "background.log"))
		t.Fatalf("%v\n%s\n%s\n%s", err, text, out, background)
	}
	for _, want := range []string{
		`gpustack_[0-9a-f]{16}_[0-9a-f]{32}`,
		`qwen3  policy    2           0          authed`,
		`(?s)HTTP/1.1 200 OK.*X-Gpustack-Instance: qwen3-0.6b-[12]`,
		`data: \[DONE\]`,
		`(?s)HTTP/1.1 401 .*invalid_api_key`,
		`session "one" from header "session-id"`,
		`this route\) +hold +tie +flip`,
		`"state":"drained"`,
		`"name":"qwen3-0.6b-1".*"state":"up"`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	// What the page shows of check is what check prints.
	for _, b := range blocks {
		if b.language == "text" && !strings.Contains(string(out), b.text) {
			t.Errorf("nothing printed\n%s", b.text)
		}
	}
}
