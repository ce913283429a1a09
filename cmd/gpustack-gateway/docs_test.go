package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// asCommand is the variable by which a test has its own binary be the command.
const asCommand = "GATEWAY_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

var (
	invocation = regexp.MustCompile(`gpustack-gateway ((?:key )?[a-z]+)\b([^` + "`" + `\n|;)]*)`)
	sentence   = regexp.MustCompile(`[.,:]\s.*$`)
	flagOf     = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*)`)
	variable   = regexp.MustCompile(`\bGPUSTACK_GATEWAY_[A-Z_]+\b`)
)

// Every command that the documentation tells to type exists, with the flags that it is given, and so do the variables,
// in the unit and the manifests as well.
func TestCommandsOfThePages(t *testing.T) {
	known := map[string]string{}
	for _, name := range []string{"serve", "check", "schema", "key create", "explain", "simulate", "demo", "health", "version"} {
		status, stdout, stderr := command(t, "", append(strings.Fields(name), "--help")...)
		if status != exitOK {
			t.Fatal(stderr)
		}
		known[name] = stdout
	}
	flags, variables := 0, 0
	look := func(name, text string) {
		for _, match := range invocation.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
			given := flagOf.FindAllStringSubmatch(sentence.ReplaceAllString(match[2], ""), -1)
			usage, ok := known[match[1]]
			if !ok && len(given) > 0 {
				t.Errorf("%s: there is no command %q", name, match[1])
			}
			for _, flag := range given {
				flags++
				if ok && !regexp.MustCompile(` `+flag[1]+`\b`).MatchString(usage) {
					t.Errorf("%s: %s has no flag %s", name, match[1], flag[1])
				}
			}
		}
		for _, v := range variable.FindAllString(text, -1) {
			variables++
			if v != "GPUSTACK_GATEWAY_" && !strings.Contains(known["serve"], "$"+v) {
				t.Errorf("%s: there is no variable %s", name, v)
			}
		}
	}
	root := os.DirFS(filepath.Join("..", ".."))
	for _, dir := range []string{"README.md", "Dockerfile", "docs"} {
		err := fs.WalkDir(root, dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(root, name)
			look(name, string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if flags < 15 || variables < 15 {
		t.Errorf("only %d flags and %d variables were found", flags, variables)
	}
}

// The quickstart's commands work as they stand, one after the other, in the way without GPUs.
func TestQuickstart(t *testing.T) {
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool + " here")
		}
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	wrapper := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, self)
	if err := os.WriteFile(filepath.Join(dir, "bin", "gpustack-gateway"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", quickstart(t))
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	if err != nil {
		background, _ := os.ReadFile(filepath.Join(dir, "background.log"))
		t.Fatalf("%v\n%s\n%s", err, out, background)
	}
	for _, want := range []string{
		`gpustack_[0-9a-f]{16}_[0-9a-f]{32}`,
		`qwen3  policy    2           0          authed`, // as the page shows it
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
}

// quickstart returns the page's commands as one script, on ports of its own.
func quickstart(t *testing.T) string {
	t.Helper()
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	blocks := 0
	for _, block := range commandBlocks(t, "quickstart.md") {
		blocks++
		switch {
		case strings.Contains(block, "make build"), strings.Contains(block, "8001"):
			continue // there is a command already; what needs GPUs
		case strings.Contains(block, "gateway demo"), strings.Contains(block, "gateway serve"):
			admin := "9091"
			if strings.Contains(block, "serve") {
				admin = "9090"
			}
			script.WriteString(strings.TrimSpace(block) + " >>background.log 2>&1 &\n" +
				"for i in $(seq 600); do curl -sf -o ready http://127.0.0.1:" + admin + "/readyz && break; sleep 0.05; done\n")
		default:
			script.WriteString(block)
		}
	}
	if blocks < 10 {
		t.Fatalf("only %d blocks of commands were found", blocks)
	}
	text := script.String()
	// On their usual addresses, which the page does not write, serve and explain would meet somebody else's gateway.
	text = strings.ReplaceAll(text, "gateway serve ", "gateway serve --listen 127.0.0.1:8080 --admin-listen 127.0.0.1:9090 --grace-period 0s ")
	text = strings.ReplaceAll(text, "gateway explain ", "gateway explain --admin 127.0.0.1:9090 ")
	for _, usual := range []string{"8080", "9090", "8090", "9091"} {
		text = strings.ReplaceAll(text, "127.0.0.1:"+usual, "127.0.0.1:"+freePort(t))
	}
	return text
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}
