package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// commandBlocks returns the commands of a page of the documentation, block by block: those that say no language.
func commandBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, match := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if match[1] == "" {
			blocks = append(blocks, match[2])
		}
	}
	return blocks
}

// The commands of docs/admin-api.md work as they stand there.
func TestCommandsOfTheAdminPage(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl here")
	}
	at, _ := runningDemo(t)
	dir := t.TempDir()
	run := 0
	for _, block := range commandBlocks(t, "admin-api.md") {
		if strings.Contains(block, "serve") {
			continue // TestAdminTokenFile
		}
		command := exec.Command("sh", "-e", "-c", strings.ReplaceAll(block, "127.0.0.1:9090", at.admin))
		command.Dir = dir
		got, err := command.CombinedOutput()
		if err != nil || strings.Contains(string(got), `"error":`) || len(got) == 0 {
			t.Errorf("%s\n%v\n%s", block, err, got)
		}
		run++
	}
	if run < 7 {
		t.Errorf("only %d blocks of commands were found", run)
	}
}

// On any other address than loopback there has to be a token, which is asked for and can be exchanged.
func TestAdminTokenFile(t *testing.T) {
	routes := writeFile(t, `{"routes": []}`)
	status, _, stderr := command(t, "", "serve", "--routes", routes, "--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0")
	if status != exitUsage || !strings.Contains(stderr, "--admin-token-file") {
		t.Errorf("without a token: status %d, %s", status, stderr)
	}
	if status, _, stderr = command(t, "", "demo", "--listen", "127.0.0.1:0", "--admin-listen", ":0"); status != exitUsage {
		t.Errorf("demo without a token: status %d, %s", status, stderr)
	}
	token := filepath.Join(t.TempDir(), "admin-token")
	serve := []string{"serve", "--routes", routes, "--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0", "--grace-period", "0s", "--admin-token-file", token}
	if status, _, stderr = command(t, "", serve...); status != exitFailed || !strings.Contains(stderr, "admin token") {
		t.Errorf("without a file: status %d, %s", status, stderr)
	}
	if err := os.WriteFile(token, []byte("0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out output
	at, _ := running(t, &out, serve...)
	_, port, _ := strings.Cut(at.admin, "]:")
	gateway := "127.0.0.1:" + port
	if status, body := ask(t, http.DefaultClient, "GET", "http://"+gateway+"/api/status", ""); status != 401 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := ask(t, http.DefaultClient, "GET", "http://"+gateway+"/healthz", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	// The line of the documentation, and the gateway's own command.
	block := commandBlocks(t, "admin-api.md")[0]
	line := block[strings.Index(block, "curl"):]
	curl := exec.Command("sh", "-e", "-c", strings.ReplaceAll(line, "gateway:9090", gateway))
	curl.Dir = filepath.Dir(token)
	if got, err := curl.CombinedOutput(); err != nil || !strings.Contains(string(got), `"generation":1`) {
		t.Errorf("%s: %v\n%s", line, err, got)
	}
	explain := []string{"explain", "--admin", gateway, "--body", "-"}
	if status, _, stderr = command(t, `{"model": "x"}`, explain...); status != exitFailed || !strings.Contains(stderr, "token") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if status, _, stderr = command(t, `{"model": "x"}`, append(explain, "--admin-token-file", token)...); status != exitOK {
		t.Errorf("status %d, %s", status, stderr)
	}
	if strings.Contains(out.String(), "0123456789abcdef") {
		t.Error("the log has the token")
	}
}

// What the admin API says is what passes, and what it writes is what serves: a route is changed over the API while
// requests run, and the next request goes by it.
func TestAdminFollowsTraffic(t *testing.T) {
	one, two := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{})
	routes := writeFile(t, fmt.Sprintf(`{
  "models": [
    { "name": "one", "instances": [ { "name": "one-1", "url": %q } ] },
    { "name": "two", "instances": [ { "name": "two-1", "url": %q } ] }
  ],
  "routes": [
    { "name": "m", "access_policy": "public", "targets": [ { "model": "one", "weight": 1 }, { "model": "two", "weight": 3 } ] }
  ]
}
`, one.URL(), two.URL()))
	var out output
	at, _ := running(t, &out, serveArgs(routes)...)
	pass := func(n int) {
		t.Helper()
		for range n {
			if status, body := ask(t, http.DefaultClient, "POST", "http://"+at.data+"/v1/chat/completions", hello); status != 200 {
				t.Fatalf("%d %s", status, body)
			}
		}
	}
	type view struct {
		Requests int64 `json:"requests"`
		Targets  []struct {
			Share float64 `json:"share"`
		} `json:"targets"`
	}
	look := func() (v view) {
		t.Helper()
		_, body := ask(t, http.DefaultClient, "GET", "http://"+at.admin+"/api/routes/m", "")
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(body)
		}
		return v
	}
	pass(8)
	gatewaytest.Eventually(t, "the requests are counted", func() bool { return look().Requests == 8 })
	if v := look(); v.Targets[0].Share != .25 || v.Targets[1].Share != .75 {
		t.Errorf("%+v", v)
	}
	_, body := ask(t, http.DefaultClient, "GET", "http://"+at.admin+"/api/live?limit=1", "")
	for _, want := range []string{`"route":"m"`, `"route_by":"target_weight"`, `"outcome":"ok"`, `"status":200`, `"attempts":1`, `"request_id":"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "hello") {
		t.Errorf("%s", body)
	}

	req, err := http.NewRequest(http.MethodDelete, "http://"+at.admin+"/api/routes/m/targets/0", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("If-Match", "*")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(err, resp)
	}
	resp.Body.Close()
	before := len(one.Requests())
	pass(4)
	if n := len(one.Requests()); n != before {
		t.Errorf("%d requests went to the target that is gone", n-before)
	}
	gatewaytest.Eventually(t, "the log says who had the file read", func() bool {
		return strings.Contains(out.String(), `"cause":"admin"`) && strings.Contains(out.String(), `"generation":2`)
	})
}
