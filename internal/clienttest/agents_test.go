package clienttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
)

// agent is a coding agent, run without a terminal.
type agent struct {
	name    string
	session string // header by which it names its session
	binary  string // below agents/node_modules
	files   map[string]string
	env     []string
	first   []string // arguments of the first turn, and of one that goes on from it
	second  []string
}

func agents(url string) []agent {
	return []agent{
		{
			name: "codex", session: "session-id", binary: "@openai/codex/bin/codex.js",
			files: map[string]string{"codex/config.toml": fmt.Sprintf("model = \"agent\"\nmodel_provider = \"gateway\"\n"+
				"[model_providers.gateway]\nname = \"gateway\"\nbase_url = \"%s/v1\"\nenv_key = \"GATEWAY_KEY\"\nwire_api = \"responses\"\n", url)},
			env:    []string{"CODEX_HOME=HOME/codex", "GATEWAY_KEY=" + key},
			first:  []string{"exec", "--skip-git-repo-check", "--sandbox", "read-only", "say hi"},
			second: []string{"exec", "resume", "--last", "--skip-git-repo-check", "say hi again"},
		},
		{
			name: "claude", session: "X-Claude-Code-Session-Id", binary: "@anthropic-ai/claude-code-linux-x64/claude",
			env: []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_AUTH_TOKEN=" + key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1"},
			first:  []string{"-p", "say hi", "--model", "agent"},
			second: []string{"-p", "say hi again", "--model", "agent", "--continue"},
		},
		{
			name: "opencode", session: "x-session-id", binary: "opencode-linux-x64/bin/opencode",
			files: map[string]string{"opencode.json": fmt.Sprintf(`{"provider": {"gateway": {"npm": "@ai-sdk/openai-compatible", "name": "gateway",
				"options": {"baseURL": "%s/v1", "apiKey": %q}, "models": {"agent": {"name": "agent"}}}}, "model": "gateway/agent", "small_model": "gateway/agent"}`, url, key)},
			env:    []string{"OPENCODE_CONFIG=HOME/opencode.json", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"},
			first:  []string{"run", "say hi"},
			second: []string{"run", "--continue", "say hi again"},
		},
	}
}

// Coding agents get their answers through the gateway, and both turns of a session reach one instance. It is opt-in, for
// the agents take about 1 GB.
func TestAgents(t *testing.T) {
	if os.Getenv("GATEWAY_TEST_AGENTS") == "" {
		t.Skip("set GATEWAY_TEST_AGENTS=1, or run make test-agents")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	install(t)
	f := &file{}
	var engines []*sim.Engine
	var instances []string
	for i := range 4 {
		e, err := sim.Start("127.0.0.1:0", sim.Options{Behaviour: sim.Behaviour{Text: "The answer is forty-two."}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		engines = append(engines, e)
		instances = append(instances, fmt.Sprintf(`{"name": "i%d", "url": %q}`, i, e.URL()))
	}
	f.models = []string{fmt.Sprintf(`{"name": "agent", "instances": [%s]}`, strings.Join(instances, ", "))}
	f.routes = []string{`{"name": "agent", "targets": [{"model": "agent"}], "policies": {"least_inflight": {}, "session_affinity": {"session_keys": [
		{"header": "session-id"}, {"header": "x-claude-code-session-id"}, {"header": "x-session-id"}]}}}`}
	g := gatewaytest.Start(t, f.text(), gatewaytest.Kinds(sessionaffinity.New(), leastinflight.New()))
	for _, a := range agents(g.URL) {
		t.Run(a.name, func(t *testing.T) {
			home := t.TempDir()
			for name, text := range a.files {
				path := filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			a.turn(t, node, home, a.first)
			a.turn(t, node, home, a.second)
			a.sessions(t, engines)
		})
	}
}

// install installs the agents, unless they are there.
func install(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("agents/node_modules/opencode-ai"); err == nil {
		return
	}
	cmd := exec.Command("npm", "install", "--no-package-lock", "--silent")
	cmd.Dir = "agents"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
}

// turn runs the agent once, which has to say what the model said.
func (a *agent) turn(t *testing.T, node, home string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	binary, err := filepath.Abs(filepath.Join("agents", "node_modules", a.binary))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(binary) == ".js" {
		args, binary = append([]string{binary}, args...), node
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for _, e := range a.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "HOME/", home+"/"))
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "forty-two") {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// sessions checks that every session which the agent named is at one engine, and that one of them has two turns.
func (a *agent) sessions(t *testing.T, engines []*sim.Engine) {
	t.Helper()
	at := map[string]int{}
	turns := map[string]int{}
	for i, e := range engines {
		for _, r := range e.Requests() {
			id := r.Get(a.session)
			if id == "" {
				continue
			}
			if first, known := at[id]; known && first != i {
				t.Errorf("session %s is at engines %d and %d", id, first, i)
			}
			at[id] = i
			turns[id]++
		}
	}
	most := 0
	for _, n := range turns {
		most = max(most, n)
	}
	if most < 2 {
		t.Errorf("no session had two turns: %v", turns)
	}
}
