package admin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

const aTarget = `{"model": "large"}`

// An edit on disk between looking and writing is not overwritten, whoever notices it first.
func TestEditOnDiskBetweenGetAndPut(t *testing.T) {
	o := operate(t, aFile)
	seen := o.ask("GET", "/api/routes/plain", "").header.Get("ETag")
	edited := strings.Replace(aFile, `"two <models>"`, `"theirs"`, 1)
	o.put(edited)
	got := o.ask("POST", "/api/routes/plain/targets", aTarget, "If-Match", seen)
	if got.status != 412 || got.get("error", "code") != "stale" || o.text() != edited {
		t.Fatalf("status %d, %s\n%s", got.status, got.body, o.text())
	}
	// The answer has the version to go on from, and what serves is up to date.
	if now := o.ask("GET", "/api/routes", ""); now.header.Get("ETag") != got.header.Get("ETag") || now.get("routes", 0, "description") != "theirs" {
		t.Errorf("%s %s", got.header.Get("ETag"), now.body)
	}
	got = o.ask("POST", "/api/routes/plain/targets", aTarget, "If-Match", got.header.Get("ETag"))
	if got.status != 201 || !strings.Contains(o.text(), "theirs") || !strings.Contains(o.text(), `{ "model": "large" } ] }`) {
		t.Errorf("status %d, %s", got.status, o.text())
	}
}

func TestConditions(t *testing.T) {
	o := operate(t, aFile)
	etag := o.ask("GET", "/api/status", "").header.Get("ETag")
	put := func(match ...string) int {
		var headers []string
		for _, m := range match {
			headers = append(headers, "If-Match", m)
		}
		return o.ask("PUT", "/api/routes/plain/targets/0", `{"model": "small"}`, headers...).status
	}
	for _, test := range []struct {
		match  []string
		status int
	}{
		{nil, 428}, {[]string{""}, 428}, {[]string{etag}, 200}, {[]string{`"x", ` + etag}, 200}, {[]string{"*"}, 200},
		{[]string{`"x"`}, 412}, {[]string{"W/" + etag}, 412}, {[]string{strings.Trim(etag, `"`)}, 412},
	} {
		if got := put(test.match...); got != test.status {
			t.Errorf("%v: status %d", test.match, got)
		}
	}
	if o.text() != aFile { // which says what was put
		t.Errorf("the file is\n%s", o.text())
	}
}

// Of writers that have seen the same, one wins, and no edit is lost.
func TestWritersRace(t *testing.T) {
	o := operate(t, aFile)
	const rounds, writers = 6, 5
	for round := range rounds {
		etag := o.ask("GET", "/api/status", "").header.Get("ETag")
		statuses := make([]int, writers)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				body := fmt.Sprintf(`{"name": "m-%d-%d", "instances": []}`, round, i)
				statuses[i] = o.ask("POST", "/api/models", body, "If-Match", etag).status
			})
		}
		all.Wait()
		won := 0
		for i, status := range statuses {
			if status == 201 {
				won++
			} else if status != 412 {
				t.Errorf("status %d", status)
			}
			if written := strings.Contains(o.text(), `"m-`+strconv.Itoa(round)+`-`+strconv.Itoa(i)+`"`); written != (status == 201) {
				t.Errorf("writer %d was told %d, and written is %v", i, status, written)
			}
		}
		if won != 1 {
			t.Errorf("%d writers have won", won)
		}
	}
	if got := strings.Count(o.text(), `"m-`); got != rounds {
		t.Errorf("%d models were added", got)
	}
}

// Writers that don't mind what there is all get their way, one after the other, beside somebody who looks.
func TestWritersInTurn(t *testing.T) {
	o := operate(t, aFile)
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				for _, path := range []string{"/api/routes", "/api/models", "/api/status"} {
					if got := o.ask("GET", path, ""); got.status != 200 {
						t.Errorf("%s: %d", path, got.status)
					}
				}
			}
		}
	})
	for i := range 20 {
		writers.Go(func() {
			if got := o.ask("POST", "/api/models", fmt.Sprintf(`{"name": "m-%d", "instances": []}`, i), "If-Match", "*"); got.status != 201 {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if got := len(strings.Split(o.text(), `"m-`)) - 1; got != 20 {
		t.Errorf("%d models were added", got)
	}
}

// A file that somebody has edited into something that can't be used is not edited further, and is shown as what it is.
func TestC060_BrokenOnDisk(t *testing.T) {
	for name, broken := range map[string]string{
		"not JSON":       aFile[:len(aFile)/2],
		"a wrong target": strings.Replace(aFile, `[ { "model": "small" } ]`, `[ { "model": "none" } ]`, 1),
		"empty":          "",
	} {
		t.Run(name, func(t *testing.T) {
			o := operate(t, aFile)
			seen := o.ask("GET", "/api/status", "").header.Get("ETag")
			o.put(broken)
			got := o.ask("POST", "/api/routes/plain/targets", aTarget, "If-Match", seen)
			if got.status != 409 || got.get("error", "code") != "file_refused" || got.get("error", "problems", 0, "message") == "<nil>" {
				t.Errorf("status %d, %s", got.status, got.body)
			}
			if o.text() != broken {
				t.Error("the file was written")
			}
			status := o.ask("GET", "/api/status", "")
			if status.get("file", "in_use") != "false" || status.get("last_reload", "result") != "refused" || status.get("last_reload", "problems", 0, "line") == "<nil>" {
				t.Errorf("%s", status.body)
			}
			if o.ask("GET", "/api/routes", "").header.Get("ETag") != seen {
				t.Error("what is shown is not what serves")
			}
			o.put(aFile)
			if got := o.ask("POST", "/api/routes/plain/targets", aTarget, "If-Match", seen); got.status != 201 {
				t.Errorf("after the repair: %d, %s", got.status, got.body)
			}
		})
	}
}

func TestFileGone(t *testing.T) {
	o := operate(t, aFile)
	if status := o.ask("GET", "/api/status", ""); status.get("file", "writable") != "true" {
		t.Errorf("%s", status.body)
	}
	seen := o.ask("GET", "/api/status", "").header.Get("ETag")
	if err := os.Remove(o.file); err != nil {
		t.Fatal(err)
	}
	got := o.ask("DELETE", "/api/routes/plain", "", "If-Match", seen)
	if got.status != 409 || got.get("error", "code") != "file_refused" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	status := o.ask("GET", "/api/status", "")
	if status.get("file", "writable") != "false" || status.get("last_reload", "result") != "unreadable" {
		t.Errorf("%s", status.body)
	}
}

// configMap lays a routes file out as Kubernetes does with a ConfigMap: behind two symbolic links, in a directory that
// takes nothing new. It returns the path that the gateway is given.
func configMap(t *testing.T, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "configmap") //nolint:usetesting // t.TempDir is in a directory that only we may enter
	if err != nil {
		t.Fatal(err)
	}
	version := filepath.Join(dir, "..2026_11_30")
	t.Cleanup(func() {
		_ = os.Chmod(version, 0o700)
		_ = os.RemoveAll(dir)
	})
	if err := os.Mkdir(version, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(version, "routes.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"..data": "..2026_11_30", "routes.json": "..data/routes.json"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{version: 0o555, dir: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "routes.json")
}

// A ConfigMap can't be written, and that is said before and after one has tried.
func TestReadOnlyFile(t *testing.T) {
	o := operateOn(t, configMap(t, aFile))
	if os.Geteuid() == 0 { // who may write everywhere
		if err := syscall.Seteuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Seteuid(0) }()
	}
	status := o.ask("GET", "/api/status", "")
	if status.get("file", "writable") != "false" || !strings.Contains(status.get("file", "reason"), "may not write") {
		t.Errorf("%s", status.body)
	}
	if got := o.write("POST", "/api/routes/plain/targets?dry_run=true", aTarget); got.status != 200 {
		t.Errorf("dry: %d, %s", got.status, got.body)
	}
	got := o.write("POST", "/api/routes/plain/targets", aTarget)
	if got.status != 409 || got.get("error", "code") != "read_only" || !strings.Contains(got.get("error", "message"), "may not write") {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if o.text() != aFile || o.table.Load().Generation != 1 {
		t.Error("something was changed")
	}
}

// Behind a symbolic link it is the file that is replaced, and not the link.
func TestFileBehindALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "behind.json"), []byte(aFile), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "routes.json")
	if err := os.Symlink("behind.json", link); err != nil {
		t.Fatal(err)
	}
	o := operateOn(t, link)
	if status := o.ask("GET", "/api/status", ""); status.get("file", "writable") != "true" {
		t.Errorf("%s", status.body)
	}
	if got := o.write("POST", "/api/routes/plain/targets", aTarget); got.status != 201 {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if to, err := os.Readlink(link); err != nil || to != "behind.json" {
		t.Errorf("%s, %v", to, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("something was left behind: %v", entries)
	}
}

// A dry run says what a change would do, and does nothing.
func TestDryRun(t *testing.T) {
	o := operate(t, aFile)
	mixed := `{"name": "plain", "targets": [{"model": "small", "weight": 1}, {"model": "large"}]}`
	got := o.ask("PUT", "/api/routes/plain?dry_run=true", mixed)
	if got.status != 200 || got.get("usable") != "false" || got.get("problems", 0, "field") != "targets" || got.get("route_by") != "target_weight" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	got = o.ask("POST", "/api/routes?dry_run=true", `{"name": "new", "targets": [{"model": "small"}], "policies": {"least_inflight": {}}}`)
	if got.status != 200 || got.get("usable") != "true" || got.get("route_by") != "policy" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if got = o.ask("DELETE", "/api/keys/laptop?dry_run=true", ""); got.status != 200 || got.get("usable") != "<nil>" {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if got = o.ask("DELETE", "/api/models/small?dry_run=true", ""); got.status != 422 {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if got = o.ask("DELETE", "/api/keys/laptop?dry_run=true", "", "If-Match", `"old"`); got.status != 412 {
		t.Errorf("status %d, %s", got.status, got.body)
	}
	if o.text() != aFile || o.table.Load().Generation != 1 {
		t.Error("something was changed")
	}
}
