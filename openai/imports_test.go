package openai

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What decides is apart from what waits: these packages are told the time and handed what they read, so that a test can
// tell and hand them anything.
func TestImports(t *testing.T) {
	const own = "github.com/gpustack/gpustack-gateway/"
	forbidden := map[string]string{
		"net":                         "sockets are the gateway's",
		"net/http":                    "sockets are the gateway's",
		"github.com/valyala/fasthttp": "HTTP is the gateway's",
		"github.com/rs/zerolog":       "what happened is told by a result, not by a line of a log",
		"log":                         "what happened is told by a result, not by a line of a log",
		"log/slog":                    "what happened is told by a result, not by a line of a log",
		"os":                          "files and the environment are the command's",
		"os/exec":                     "nothing is run",
		"syscall":                     "nothing is asked of the kernel",
		"unsafe":                      "nothing here is worth it",
	}
	tests := []struct {
		dir   string
		mayBe []string // packages of this module that it may import
		clock bool     // may ask for the time
	}{
		{"internal/jsonscan", nil, false},
		{"openai", []string{"internal/jsonscan"}, false},
		{"lb", []string{"openai"}, false},
		{"plugins", []string{"plugins", "lb", "openai", "internal/jsontree", "internal/jsonscan", "internal/secret"}, true},
	}
	for _, test := range tests {
		t.Run(test.dir, func(t *testing.T) {
			files := sources(t, filepath.Join("..", test.dir))
			if len(files) == 0 {
				t.Fatal("no files")
			}
			for name, file := range files {
				for _, spec := range file.Imports {
					path, _ := strconv.Unquote(spec.Path.Value)
					if why, bad := forbidden[path]; bad {
						t.Errorf("%s imports %s: %s", name, path, why)
					}
					if p, ours := strings.CutPrefix(path, own); ours && !slices.ContainsFunc(test.mayBe, func(may string) bool {
						return p == may || strings.HasPrefix(p, may+"/")
					}) {
						t.Errorf("%s imports %s, which is not below it", name, p)
					}
				}
				if !test.clock && asksTheTime(file) {
					t.Errorf("%s asks for the time", name)
				}
			}
		})
	}
}

// sources parses the files of a directory and those below it, without the tests.
func sources(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// asksTheTime reports whether a file uses the clock or a timer.
func asksTheTime(file *ast.File) (asks bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
				asks = asks || slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, sel.Sel.Name)
			}
		}
		return true
	})
	return asks
}
