package docstest_test

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// metric is what docs/metrics.md says of one; a test of the gateway compares that with what it counts.
type metric struct {
	kind   string
	labels []string
}

func documented(t *testing.T) map[string]metric {
	t.Helper()
	all := map[string]metric{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\w+) \\|([^|]*)\\|").FindAllStringSubmatch(read(t, "docs/metrics.md"), -1) {
		m := metric{kind: match[2]}
		for _, label := range strings.Split(match[3], ",") {
			m.labels = append(m.labels, strings.Trim(label, " `"))
		}
		all[match[1]] = m
	}
	if len(all) < 20 {
		t.Fatalf("only %d metrics were found", len(all))
	}
	return all
}

var (
	series   = regexp.MustCompile(`\b((?:gpustack_gateway|gen_ai|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
	selects  = regexp.MustCompile(`(\w+) *(?:=~|!~|!=|=) *"`)
	grouping = regexp.MustCompile(`\b(?:by|on|group_left) \(([^)]*)\)`)
	suffix   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// What Prometheus adds to each series.
var scraped = []string{"job", "instance", "le"}

// checkQuery checks that a query names metrics and labels that there are, and returns the metrics.
func checkQuery(t *testing.T, at, query string, all map[string]metric) (used []string) {
	t.Helper()
	labels := slices.Clone(scraped)
	for _, match := range series.FindAllStringSubmatch(query, -1) {
		name := match[1]
		if strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "go_") {
			continue // client_golang's own
		}
		m, ok := all[name]
		base := suffix.ReplaceAllString(name, "")
		if h, histogram := all[base]; !ok && histogram && h.kind == "histogram" {
			name, m, ok = base, h, true
		} else if m.kind == "histogram" {
			t.Errorf("%s: %s is a histogram", at, name)
		}
		if !ok {
			t.Errorf("%s: there is no metric %s", at, name)
		}
		used = append(used, name)
		labels = append(labels, m.labels...)
		for _, selected := range selects.FindAllStringSubmatch(match[2], -1) {
			if l := selected[1]; !slices.Contains(m.labels, l) && !slices.Contains(scraped, l) {
				t.Errorf("%s: %s has no label %s", at, name, l)
			}
		}
	}
	for _, match := range grouping.FindAllStringSubmatch(query, -1) {
		for _, l := range strings.Split(match[1], ",") {
			if l = strings.TrimSpace(l); l != "" && !slices.Contains(labels, l) {
				t.Errorf("%s: no metric of %s has a label %s", at, query, l)
			}
		}
	}
	return used
}

// panel is a part of a dashboard.
type panel struct {
	ID         int                      `json:"id"`
	Type       string                   `json:"type"`
	Title      string                   `json:"title"`
	GridPos    struct{ X, Y, W, H int } `json:"gridPos"`
	Targets    []struct{ Expr string }  `json:"targets"`
	Datasource struct{ UID string }     `json:"datasource"`
	Panels     []panel                  `json:"panels"`
}

// The dashboard shows every metric and asks for none that there is not, by its own data source, and no panel lies on
// another.
func TestDashboard(t *testing.T) {
	var board struct {
		Panels     []panel
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "docs/grafana-dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	all := documented(t)
	shown, ids, taken := map[string]bool{}, map[int]bool{}, map[[2]int]string{}
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			checkQuery(t, "variable "+v.Name, v.Definition, all)
		}
	}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d (%s): its id is taken, or it has no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x > 23 {
					t.Fatalf("%s lies on %q, or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%s asks %q", p.Title, p.Datasource.UID)
		}
		for _, target := range p.Targets {
			for _, name := range checkQuery(t, p.Title, target.Expr, all) {
				shown[name] = true
			}
		}
	}
	for name := range all {
		if !shown[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// Alert rules ask for metrics that there are, and link to headings that there are.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Expr        string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "docs/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	all, known := documented(t), anchors(read(t, "docs/troubleshooting.md"))
	count := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			count++
			checkQuery(t, rule.Alert, rule.Expr, all)
			_, anchor, ok := strings.Cut(rule.Annotations["runbook_url"], "/docs/troubleshooting.md#")
			if !ok || !known[anchor] {
				t.Errorf("%s: troubleshooting has no heading %q", rule.Alert, anchor)
			}
			if s := rule.Labels["severity"]; s != "critical" && s != "warning" || rule.Annotations["summary"] == "" {
				t.Errorf("%s: severity %q, summary %q", rule.Alert, s, rule.Annotations["summary"])
			}
		}
	}
	if count < 10 {
		t.Errorf("only %d rules were found", count)
	}
	if tool, err := exec.LookPath("promtool"); err == nil { // Prometheus' own, where it is installed
		out, err := exec.CommandContext(t.Context(), tool, "test", "rules", "testdata/alerts.test.yaml").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
