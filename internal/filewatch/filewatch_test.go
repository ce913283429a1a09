package filewatch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// how says by which means a change is noticed.
type how struct {
	name string
	set  func(*watch)
}

// Each alone must do.
var means = []how{
	{"events", func(w *watch) { w.poll = time.Hour }},
	{"poll", func(w *watch) {
		w.poll = 5 * time.Millisecond
		w.events = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
	}},
}

// start watches path and takes the first value.
func start(t *testing.T, path string, set func(*watch)) <-chan struct{} {
	t.Helper()
	w := newWatch(path)
	set(w)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.keep(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	expect(t, w.changed, "its start")
	return w.changed
}

func expect(t *testing.T, changed <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s was not noticed", what)
	}
}

// settle waits until no further value comes; events of one change may reach over the end of a burst.
func settle(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-time.After(3 * burst):
			return
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// relink points a link elsewhere in one step, as Kubernetes does.
func relink(t *testing.T, target, link string) {
	t.Helper()
	must(t, os.Symlink(target, link+".tmp"))
	must(t, os.Rename(link+".tmp", link))
}

// layout makes the file that is watched in dir and returns its path; change changes it, the n-th time.
type layout struct {
	name   string
	layout func(t *testing.T, dir string) string
	change func(t *testing.T, dir, path string, n int)
}

func plain(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "routes.json")
	write(t, path, "first")
	return path
}

func configMap(t *testing.T, dir string) string {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(dir, "..v0"), 0o700))
	write(t, filepath.Join(dir, "..v0", "routes.json"), "first")
	must(t, os.Symlink("..v0", filepath.Join(dir, "..data")))
	path := filepath.Join(dir, "routes.json")
	must(t, os.Symlink("..data/routes.json", path))
	return path
}

var layouts = []layout{
	{"written in place", plain, func(t *testing.T, _, path string, n int) {
		t.Helper()
		write(t, path, string(rune('a'+n))+" of another length"[:n+5])
	}},
	{"renamed over", plain, func(t *testing.T, _, path string, _ int) {
		t.Helper()
		write(t, path+".new", "other")
		must(t, os.Rename(path+".new", path))
	}},
	{"..data swapped", configMap, func(t *testing.T, dir, _ string, n int) {
		t.Helper()
		next := []string{"..v1", "..v2", "..v3"}[n]
		must(t, os.Mkdir(filepath.Join(dir, next), 0o700))
		write(t, filepath.Join(dir, next, "routes.json"), "other")
		relink(t, next, filepath.Join(dir, "..data"))
	}},
	{"retargeted into another directory", func(t *testing.T, dir string) string {
		t.Helper()
		for _, d := range []string{"d0", "d1", "d2", "d3"} {
			must(t, os.Mkdir(filepath.Join(dir, d), 0o700))
			write(t, filepath.Join(dir, d, "routes.json"), "in "+d)
		}
		path := filepath.Join(dir, "routes.json")
		must(t, os.Symlink(filepath.Join(dir, "d0", "routes.json"), path))
		return path
	}, func(t *testing.T, dir, path string, n int) {
		t.Helper()
		relink(t, filepath.Join([]string{dir + "/d1", "d2", dir + "/d3"}[n], "routes.json"), path)
	}},
	{"written behind a swapped ..data", func(t *testing.T, dir string) string {
		t.Helper()
		path := configMap(t, dir)
		must(t, os.Mkdir(filepath.Join(dir, "..v1"), 0o700))
		write(t, filepath.Join(dir, "..v1", "routes.json"), "second")
		return path
	}, func(t *testing.T, dir, path string, n int) {
		t.Helper()
		if n == 0 {
			relink(t, "..v1", filepath.Join(dir, "..data"))
			return
		}
		write(t, path, []string{"", "third", "the fourth"}[n])
	}},
	{"a linked directory on the way", func(t *testing.T, dir string) string {
		t.Helper()
		for _, d := range []string{"d0", "d1", "d2", "d3"} {
			must(t, os.Mkdir(filepath.Join(dir, d), 0o700))
			write(t, filepath.Join(dir, d, "routes.json"), "in "+d)
		}
		must(t, os.Symlink("d0", filepath.Join(dir, "etc")))
		return filepath.Join(dir, "etc", "routes.json")
	}, func(t *testing.T, dir, _ string, n int) {
		t.Helper()
		relink(t, []string{"d1", "d2", "d3"}[n], filepath.Join(dir, "etc"))
	}},
}

// TestC059EveryWayToChange changes the file three times each, since a watch that is lost shows at the second.
func TestC059EveryWayToChange(t *testing.T) {
	t.Parallel()
	for _, by := range means {
		for _, l := range layouts {
			t.Run(by.name+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := l.layout(t, dir)
				changed := start(t, path, by.set)
				for n := range 3 {
					l.change(t, dir, path, n)
					expect(t, changed, l.name)
					settle(changed)
				}
			})
		}
	}
}

func TestC059DeletedAndCreated(t *testing.T) {
	t.Parallel()
	for _, by := range means {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			path := plain(t, t.TempDir())
			changed := start(t, path, by.set)
			for range 2 {
				must(t, os.Remove(path))
				expect(t, changed, "the removal")
				settle(changed)
				write(t, path, "back again")
				expect(t, changed, "the return")
				settle(changed)
			}
		})
	}
}

func TestFileThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	for _, by := range means {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "etc", "gateway", "routes.json")
			changed := start(t, path, by.set)
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			write(t, path, "here")
			expect(t, changed, "the new file")
			settle(changed)
			write(t, path, "here with more in it")
			expect(t, changed, "a write to the new file")
		})
	}
}

func TestDirectoryRemovedAndRecreated(t *testing.T) {
	t.Parallel()
	for _, by := range means {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "etc")
			must(t, os.Mkdir(dir, 0o700))
			path := plain(t, dir)
			changed := start(t, path, by.set)
			for range 2 {
				must(t, os.RemoveAll(dir))
				expect(t, changed, "the removal of the directory")
				settle(changed)
				must(t, os.Mkdir(dir, 0o700))
				settle(changed)
				write(t, path, "back")
				expect(t, changed, "the file in the new directory")
				settle(changed)
			}
		})
	}
}

func TestOtherFilesAreNotTold(t *testing.T) {
	dir := t.TempDir()
	path := configMap(t, dir)
	changed := start(t, path, means[0].set)
	for range 10 {
		write(t, filepath.Join(dir, "other"), "x")
		write(t, filepath.Join(dir, "..v0", "other"), "x")
	}
	select {
	case <-changed:
		t.Fatal("a neighbour's change was told")
	case <-time.After(4 * burst):
	}
}

// TestNobodyListens: the watch goes on while a value lies around.
func TestNobodyListens(t *testing.T) {
	path := plain(t, t.TempDir())
	changed := start(t, path, means[0].set)
	for n := range 5 {
		write(t, path, "0123456789"[:n])
		time.Sleep(burst)
	}
	settle(changed)
	write(t, path, "another")
	expect(t, changed, "the change after them")
}

// TestC123Watcher: a fault in the watcher costs one round of it.
func TestC123Watcher(t *testing.T) {
	path := plain(t, t.TempDir())
	fault := make(chan struct{}, 1)
	changed := start(t, path, func(w *watch) {
		w.poll = 5 * time.Millisecond
		w.stat = func(name string) (fs.FileInfo, error) {
			select {
			case <-fault:
				panic("fault in the watcher")
			default:
				return os.Stat(name)
			}
		}
	})
	for n := range 3 {
		fault <- struct{}{}
		expect(t, changed, "that it started again")
		settle(changed)
		write(t, path, "0123456789"[:n])
		expect(t, changed, "a change after the fault")
		settle(changed)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	path := plain(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	changed := Watch(ctx, path)
	expect(t, changed, "its start")
	cancel()
	select {
	case _, open := <-changed:
		t.Fatalf("the channel is not silent, open: %t", open)
	case <-time.After(2 * burst):
	}
}

func TestTrace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.MkdirAll(at("a/b"), 0o700))
	write(t, at("a/b/file"), "x")
	for link, target := range map[string]string{
		"direct": "a/b/file", "up": "a/b/../../a/./b/file", "absolute": at("a/b/file"), "chain": "direct",
		"loop": "loop", "dangling": "nowhere/file", "dir": "a/b",
	} {
		must(t, os.Symlink(target, at(link)))
	}
	for path, want := range map[string]map[string][]string{
		"a/b/file":         {at("a/b"): {"file"}},
		"a//b/../b/./file": {at("a/b"): {"file"}},
		"direct":           {dir: {"direct"}, at("a/b"): {"file"}},
		"up":               {dir: {"up"}, at("a/b"): {"file"}},
		"absolute":         {dir: {"absolute"}, at("a/b"): {"file"}},
		"chain":            {dir: {"chain", "direct"}, at("a/b"): {"file"}},
		"dir/file":         {dir: {"dir"}, at("a/b"): {"file"}},
		"dangling":         {dir: {"dangling", "nowhere"}},
		"x/y/z":            {dir: {"x"}},
		"a/b/file/z":       {at("a/b/file"): {"z"}},
	} {
		if got := trace(dir + "/" + path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if got := trace(at("loop")); len(got[dir]) != maxLinks+1 {
		t.Errorf("a loop was followed %d times", len(got[dir]))
	}
}
