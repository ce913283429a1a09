package docstest_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// object is a part of a YAML document.
type object = map[string]any

// manifests returns the documents of a YAML file by kind and name.
func manifests(t *testing.T, name string) map[string]object {
	t.Helper()
	all := map[string]object{}
	decoder := yaml.NewDecoder(strings.NewReader(read(t, name)))
	for {
		var doc object
		if err := decoder.Decode(&doc); err != nil {
			if err.Error() == "EOF" {
				return all
			}
			t.Fatal(err)
		}
		all[text(t, doc, "kind")+"/"+text(t, doc, "metadata", "name")] = doc
	}
}

// in returns what stands in a document on a way of members and positions.
func in(t *testing.T, v any, way ...any) any {
	t.Helper()
	for _, step := range way {
		switch step := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				t.Fatalf("%v: nothing at %d", way, step)
			}
			v = l[step]
		}
	}
	if v == nil {
		t.Fatalf("nothing at %v", way)
	}
	return v
}

func text(t *testing.T, v any, way ...any) string {
	t.Helper()
	s, ok := in(t, v, way...).(string)
	if !ok {
		t.Fatalf("no text at %v", way)
	}
	return s
}

func list(t *testing.T, v any, way ...any) []any {
	t.Helper()
	l, ok := in(t, v, way...).([]any)
	if !ok {
		t.Fatalf("no list at %v", way)
	}
	return l
}

// span returns a duration that a gateway is told.
func span(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The unit waits for the gateway as long as its flags say it may take, and systemd has nothing to say against it.
func TestUnit(t *testing.T) {
	unit := read(t, "docs/deploy/gpustack-gateway.service")
	value := func(key string) string {
		match := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(unit)
		if match == nil {
			t.Fatalf("no %s", key)
		}
		return match[1]
	}
	start := value("ExecStart")
	after := func(name string) time.Duration {
		_, rest, _ := strings.Cut(start, name+" ")
		word, _, _ := strings.Cut(rest, " ")
		return span(t, word)
	}
	wait, _ := strconv.Atoi(value("TimeoutStopSec"))
	if takes := after("--grace-period") + after("--drain-timeout"); time.Duration(wait)*time.Second <= takes {
		t.Errorf("it is waited for %d s, and may take %v", wait, takes)
	}
	if tool, err := exec.LookPath("systemd-analyze"); err == nil {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		// Where the command is installed is the operator's.
		out, _ := exec.CommandContext(ctx, tool, "verify", root+"/docs/deploy/gpustack-gateway.service").CombinedOutput()
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if line != "" && !strings.Contains(line, "is not executable") {
				t.Errorf("%s", line)
			}
		}
	}
}

// The manifests fit each other and the gateway: variables, probes, ports, selectors, times, the routes file and what it
// names.
func TestManifests(t *testing.T) {
	all := manifests(t, "docs/deploy/kubernetes.yaml")
	routes := text(t, all["ConfigMap/gpustack-gateway-routes"], "data", "routes.json")
	load(t, "routes.json", routes)

	spec := in(t, all["Deployment/gpustack-gateway"], "spec", "template", "spec")
	container := in(t, spec, "containers", 0)
	env := map[string]string{}
	for _, e := range list(t, container, "env") {
		name := text(t, e, "name")
		env[name] = ""
		if v, ok := e.(object)["value"]; ok {
			env[name], _ = v.(string)
		}
	}
	for _, match := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(routes, -1) {
		if _, ok := env[match[1]]; !ok {
			t.Errorf("the routes file names %s, and the container has no such variable", match[1])
		}
	}
	takes := span(t, env["GPUSTACK_GATEWAY_GRACE_PERIOD"]) + span(t, env["GPUSTACK_GATEWAY_DRAIN_TIMEOUT"])
	if wait, _ := in(t, spec, "terminationGracePeriodSeconds").(int); time.Duration(wait)*time.Second <= takes {
		t.Errorf("it is waited for %d s, and may take %v", wait, takes)
	}

	ports := map[string]bool{}
	for _, p := range list(t, container, "ports") {
		ports[text(t, p, "name")] = true
	}
	for probe, path := range map[string]string{"readinessProbe": "/readyz", "livenessProbe": "/healthz"} {
		if got := text(t, container, probe, "httpGet", "path"); got != path || text(t, container, probe, "httpGet", "port") != "admin" || !ports["admin"] {
			t.Errorf("%s asks for %s", probe, got)
		}
	}
	labels := text(t, all["Deployment/gpustack-gateway"], "spec", "template", "metadata", "labels", "app.kubernetes.io/name")
	selectors := map[string][]any{
		"Deployment/gpustack-gateway":          {"spec", "selector", "matchLabels"},
		"PodDisruptionBudget/gpustack-gateway": {"spec", "selector", "matchLabels"},
		"Service/gpustack-gateway":             {"spec", "selector"},
		"Service/gpustack-gateway-admin":       {"spec", "selector"},
	}
	for name, way := range selectors {
		if got := text(t, in(t, all[name], way...), "app.kubernetes.io/name"); got != labels {
			t.Errorf("%s selects %s", name, got)
		}
		if kind, _, _ := strings.Cut(name, "/"); kind == "Service" && !ports[text(t, all[name], "spec", "ports", 0, "targetPort")] {
			t.Errorf("%s leads to no port", name)
		}
	}

	mounts := map[string]string{}
	for _, m := range list(t, container, "volumeMounts") {
		if m.(object)["subPath"] != nil {
			t.Error("what is mounted by a subPath does not change")
		}
		mounts[text(t, m, "mountPath")] = text(t, m, "name")
	}
	for _, variable := range []string{"GPUSTACK_GATEWAY_ROUTES", "GPUSTACK_GATEWAY_ADMIN_TOKEN_FILE"} {
		if mounts[filepath.Dir(env[variable])] == "" {
			t.Errorf("%s is not on a volume", env[variable])
		}
	}

	// The Secret is made by a command of the page, with every key that is asked for.
	page := read(t, "docs/deploy.md")
	for _, match := range regexp.MustCompile(`\bkey: ([\w-]+)`).FindAllStringSubmatch(read(t, "docs/deploy/kubernetes.yaml"), -1) {
		if !strings.Contains(page, "--from-literal="+match[1]+"=") {
			t.Errorf("docs/deploy.md makes no Secret with %s", match[1])
		}
	}

	monitor := manifests(t, "docs/deploy/servicemonitor.yaml")["ServiceMonitor/gpustack-gateway"]
	if label := text(t, monitor, "spec", "jobLabel"); text(t, all["Service/gpustack-gateway-admin"], "metadata", "labels", label) != "gpustack-gateway" {
		t.Error("the alert rules look for another job")
	}
	wants, _ := in(t, monitor, "spec", "selector", "matchLabels").(object)
	for name, value := range wants {
		if got := text(t, all["Service/gpustack-gateway-admin"], "metadata", "labels", name); got != value {
			t.Errorf("the monitor wants %s to be %v, and it is %s", name, value, got)
		}
	}
	if got := text(t, monitor, "spec", "endpoints", 0, "port"); got != text(t, all["Service/gpustack-gateway-admin"], "spec", "ports", 0, "name") {
		t.Errorf("the monitor asks the port %s", got)
	}
}
