// Package clienttest drives a running gateway with the official clients: what they make of its answers is what counts.
// The clients are npm packages, installed by `make clients`; each file *.test.mjs is run by node against a gateway that
// is started here, before simulated engines and before an upstream that nobody here wrote.
package clienttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// key is what the clients present.
const key = "client-test-key"

// needClients skips a test where the clients are not installed. On the checks' machines that is a failure.
func needClients(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("node_modules/.package-lock.json")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the clients are not installed: %v", err)
		}
		t.Skip("the clients are not installed: run make clients")
	}
	return node
}

// start starts an engine.
func start(t *testing.T, o sim.Options) string {
	t.Helper()
	e, err := sim.Start("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e.URL()
}

// mock starts the upstream that nobody here wrote, with its own flags, and returns its URL.
func mock(t *testing.T, node string, flags ...string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close() // it takes a number only, and somebody else is not likely to take this one meanwhile
	args := append([]string{"node_modules/.bin/llmock", "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-f", "aimock.json", "-c", "7", "--log-level", "warn"}, flags...)
	cmd := exec.Command(node, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		if t.Failed() {
			t.Logf("%v:\n%s", args, out.String())
		}
	})
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	ready(t, url+"/ready")
	return url
}

// ready waits until an upstream answers.
func ready(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		resp, err := http.DefaultClient.Do(req)
		cancel()
		if err == nil {
			resp.Body.Close()
			http.DefaultClient.CloseIdleConnections()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not answer: %v", url, err)
		}
	}
}

// file builds a routes file out of a model and a route for each name.
type file struct{ models, routes, more []string }

func (f *file) add(name, url, route string) {
	f.models = append(f.models, fmt.Sprintf(`{"name": %q, "instances": [{"name": "%s-1", "url": %q}]}`, name, name, url))
	f.routes = append(f.routes, fmt.Sprintf(`{"name": %q, "targets": [{"model": %q}]%s}`, name, name, route))
}

func (f *file) text() string {
	digest := sha256.Sum256([]byte(key))
	return fmt.Sprintf(`{"models": [%s], "routes": [%s], "api_keys": [{"name": "clients", "user": "alice", "sha256": %q}]%s}`,
		strings.Join(f.models, ", "), strings.Join(f.routes, ", "), hex.EncodeToString(digest[:]), strings.Join(f.more, ""))
}

// engines adds the simulated engines that the client tests name.
func (f *file) engines(t *testing.T) {
	t.Helper()
	good := start(t, sim.Options{})
	f.add("chat", good, "")
	f.routes = append(f.routes,
		`{"name": "org/chat", "targets": [{"model": "chat"}]}`,
		`{"name": "private", "access_policy": "allowed_users", "allowed_users": ["bob"], "targets": [{"model": "chat"}]}`,
		`{"name": "mixed", "targets": [{"model": "chat", "weight": 1}, {"model": "cut"}]}`)
	f.add("cut", start(t, sim.Options{Behaviour: sim.Behaviour{Tokens: 20, Fault: sim.Fault{Kind: sim.CloseAfterEvents, After: 3}}}), "")
	soon := []sim.Field{{Name: "Retry-After", Value: "1"}}
	f.add("limited", start(t, sim.Options{Behaviour: sim.Behaviour{Status: 429, Header: soon}}), "")
	f.add("busy", start(t, sim.Options{Behaviour: sim.Behaviour{Status: 503, Header: soon}}), "")
	var asked atomic.Int64
	f.add("limited-once", start(t, sim.Options{Hook: func(*sim.Request) sim.Behaviour {
		if asked.Add(1) == 1 {
			return sim.Behaviour{Status: 429, Header: soon}
		}
		return sim.Behaviour{}
	}}), "")
}

// run runs one file of client tests.
func run(t *testing.T, node, script string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--test", "--test-reporter=spec", script)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", filepath.Base(script), err, out)
	}
}

func TestOfficialClients(t *testing.T) {
	node := needClients(t)
	f := &file{}
	f.engines(t)
	g := gatewaytest.Start(t, f.text())
	for _, script := range []string{"openai.test.mjs", "anthropic.test.mjs"} {
		t.Run(script, func(t *testing.T) { run(t, node, script, "GATEWAY_URL="+g.URL, "GATEWAY_KEY="+key) })
	}
}

// The upstream is npm's @copilotkit/aimock, with and without its chaos flags.
func TestForeignUpstream(t *testing.T) {
	node := needClients(t)
	f := &file{}
	f.add("aimock", mock(t, node), "")
	for name, flag := range map[string]string{"drop": "--chaos-drop", "malformed": "--chaos-malformed", "disconnect": "--chaos-disconnect", "ratelimit": "--chaos-ratelimit"} {
		f.add("aimock-"+name, mock(t, node, flag, "1"), "")
	}
	g := gatewaytest.Start(t, f.text())
	run(t, node, "aimock.test.mjs", "GATEWAY_URL="+g.URL, "GATEWAY_KEY="+key)
}

// The official decision client judges the simulated service directly, and through the gateway, where a decision model is
// a route like any other. The prefix of the provider's path is kept.
func TestDecisionClient(t *testing.T) {
	node := needClients(t)
	d, err := sim.StartDecision("127.0.0.1:0", sim.DecisionOptions{Key: "decision-key"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	f := &file{
		routes: []string{`{"name": "jev", "targets": [{"provider": "jev", "overridden_model_name": "jev-latest"}]}`},
		more:   []string{fmt.Sprintf(`, "providers": [{"name": "jev", "type": "typesafe", "endpoint": "%s/api", "api_token": "decision-key"}]`, d.URL())},
	}
	g := gatewaytest.Start(t, f.text())
	run(t, node, "typesafe.test.mjs", "GATEWAY_URL="+g.URL, "GATEWAY_KEY="+key, "DECISION_URL="+d.URL(), "DECISION_KEY=decision-key")
	for _, r := range d.Requests() {
		if path := r.Path(); path != "/v1/systemone" && path != "/api/v1/systemone" {
			t.Errorf("the service was asked %s", path)
		}
	}
	if n := len(d.Requests()); n == 0 {
		t.Error("the service was not asked")
	}
}
