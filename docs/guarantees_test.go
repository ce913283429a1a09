// Package docs has no code, only the tests that hold the pages to what is there.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var named = regexp.MustCompile("`([a-z0-9/-]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// Every promise names the tests that show it, and they exist.
func TestGuaranteesAreShown(t *testing.T) {
	page, err := os.ReadFile("guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{} // the tests of a package
	source := func(dir string) string {
		if text, ok := sources[dir]; ok {
			return text
		}
		var all strings.Builder
		files, _ := filepath.Glob(filepath.Join("..", dir, "*_test.go")) // the pattern is well-formed
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		sources[dir] = all.String()
		return sources[dir]
	}
	rows := 0
	for i, line := range strings.Split(string(page), "\n") {
		tests := named.FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") && !strings.HasSuffix(line, "| shown by |") {
			if rows++; len(tests) == 0 {
				t.Errorf("line %d names no test", i+1)
			}
		}
		for _, m := range tests {
			if !strings.Contains(source(m[1]), "\nfunc "+m[2]+"(") {
				t.Errorf("line %d: there is no %s in %s", i+1, m[2], m[1])
			}
		}
	}
	if rows < 60 {
		t.Errorf("only %d promises were found", rows)
	}
}
