package docstest_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// source returns the code of the program, without its tests.
func source(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"cmd", "gateway", "internal", "lb", "openai", "plugins", "route"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(name string, _ fs.DirEntry, err error) error {
			if path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
				all.WriteString(read(t, name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

var (
	quoted = regexp.MustCompile("`([^`]+)`|\"([^\"]+)\"")
	gap    = regexp.MustCompile(`\.\.\.|\b[A-Z]{3,}\b`)
	// What others say: the system, Go's libraries, TLS.
	foreign = []string{"connection refused", "i/o timeout", "no such host", "address already in use", "permission denied",
		"too many open files", "connection reset"}
)

// What the first column of troubleshooting quotes is what the program says, and every error that clients may get is
// there.
func TestTroubleshooting(t *testing.T) {
	code, page := source(t), read(t, "docs/troubleshooting.md")
	known := func(s string) bool {
		s = strings.TrimPrefix(s, "gpustack_gateway_")
		for _, f := range foreign {
			s = strings.ReplaceAll(s, f, "...")
		}
		for _, piece := range gap.Split(s, -1) {
			if piece = strings.Trim(piece, " :;,."); piece != "" && !strings.Contains(code, piece) {
				return false
			}
		}
		return true
	}
	rows := 0
	for _, match := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(page, -1) {
		if match[1] == "what you see" || strings.Contains(match[1], "---") {
			continue
		}
		rows++
		for _, q := range quoted.FindAllStringSubmatch(match[1], -1) {
			if said := q[1] + q[2]; !known(said) {
				t.Errorf("nothing in the program says %q", said)
			}
		}
	}
	if rows < 25 {
		t.Errorf("only %d rows were found", rows)
	}
	_, table, _ := strings.Cut(read(t, "docs/api.md"), "## Errors")
	for _, match := range regexp.MustCompile(`(?m)^\| \d+ \| ([^|]+) \|`).FindAllStringSubmatch(table, -1) {
		for _, q := range quoted.FindAllStringSubmatch(match[1], -1) {
			if !strings.Contains(page, "`"+q[1]+"`") {
				t.Errorf("troubleshooting does not know the error %s", q[1])
			}
		}
	}
}
