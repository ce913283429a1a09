// Package docstest_test keeps the documentation true: what it links to is there, what it names exists, what it shows as a
// routes file is one, and what it tells to type works.
package docstest_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages returns the names of all pages.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// block is a fenced block of a page.
type block struct {
	language string // what stands behind the fence
	text     string
	line     int // of the page, where the text begins
}

var fence = regexp.MustCompile("^ *```(.*)$")

// split returns a page's text without its fenced blocks, line for line, and the blocks.
func split(page string) (prose string, blocks []block) {
	var out strings.Builder
	var open *block
	for i, line := range strings.SplitAfter(page, "\n") {
		match := fence.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case match != nil && open == nil:
			open = &block{language: match[1], line: i + 2}
		case match != nil:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line
		default:
			out.WriteString(line)
			continue
		}
		out.WriteString("\n")
	}
	return out.String(), blocks
}

var (
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// anchors returns what a page can be entered at: its headings, as the places that show Markdown name them.
func anchors(page string) map[string]bool {
	prose, _ := split(page)
	known := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(prose, -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, linkText.ReplaceAllString(match[1], "$1"))
		for n, base := 1, slug; known[slug]; n++ {
			slug = base + "-" + strconv.Itoa(n)
		}
		known[slug] = true
	}
	return known
}

// Every link between pages leads somewhere, to the heading that it names.
func TestLinks(t *testing.T) {
	count := 0
	for _, name := range pages(t) {
		prose, _ := split(read(t, name))
		for _, match := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			count++
			file, anchor, _ := strings.Cut(match[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s: %v", name, match[1], err)
			} else if anchor != "" && !anchors(read(t, target))[anchor] {
				t.Errorf("%s: %s: there is no such heading", name, match[1])
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d links were found", count)
	}
}

// Every page can be found from the first one.
func TestEveryPageIsLinked(t *testing.T) {
	first := read(t, "README.md")
	for _, name := range pages(t) {
		if name != "README.md" && !strings.Contains(first, "("+name+")") {
			t.Errorf("README.md does not link %s", name)
		}
	}
}
