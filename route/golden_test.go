package route

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testdata = "../testdata/routes"

var update = flag.Bool("update", false, "write what comes out as what is expected")

// TestGolden loads every file of testdata/routes and compares what is reported with the text beside it. A new mistake is
// a new file; go test ./route -run Golden -update writes what is reported now.
func TestGolden(t *testing.T) {
	for _, file := range files(t, "good", "bad") {
		good := filepath.Base(filepath.Dir(file)) == "good"
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, problems := Load(filepath.Base(file), data, testOptions())
			got := report(s, problems)
			beside := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				if err := os.WriteFile(beside, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(beside)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if good != (s != nil && !strings.Contains(got, "unusable: ")) {
				t.Error("this is not where the file belongs")
			}
			if strings.Contains(got, "hunter2") || strings.Contains(got, "sk-") {
				t.Error("a secret shows")
			}
			for _, p := range problems {
				if p.Line < 1 || p.Column < 1 || p.File == "" || p.Message == "" {
					t.Errorf("problem without a place: %+v", p)
				}
			}
		})
	}
}

// files returns the routes files of some folders.
func files(tb testing.TB, folders ...string) []string {
	tb.Helper()
	var all []string
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(testdata, folder, "*.json"))
		if err != nil || len(files) == 0 {
			tb.Fatalf("no files in %s: %v", folder, err)
		}
		all = append(all, files...)
	}
	return all
}
