package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/metrics.md lists every metric that the demo has after a request, with its labels, and nothing that is not there.
func TestMetricsAreDocumented(t *testing.T) {
	at, _ := runningDemo(t)
	if status, body := ask(t, http.DefaultClient, "POST", "http://"+at.data+"/v1/chat/completions", `{"model": "none"}`); status != 401 {
		t.Fatalf("%d %s", status, body)
	}
	_, scrape := ask(t, http.DefaultClient, "GET", "http://"+at.admin+"/metrics", "")
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = row[2]
	}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE ([a-z_]+) ([a-z]+)$`).FindAllStringSubmatch(scrape, -1) {
		name, kind := line[1], line[2]
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		if documented[name] != kind {
			t.Errorf("%s (%s) is not in docs/metrics.md, or as %q", name, kind, documented[name])
		}
	}
	source, err := os.ReadFile("../../internal/metrics/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	collector, err := os.ReadFile("../../gateway/admin/collector.go")
	if err != nil {
		t.Fatal(err)
	}
	for name := range documented {
		if !strings.Contains(string(source)+string(collector), `"`+strings.TrimPrefix(name, "gpustack_gateway_")+`"`) {
			t.Errorf("%s is documented but not in the code", name)
		}
	}
}
