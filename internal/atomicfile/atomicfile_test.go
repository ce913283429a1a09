package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/atomicfile"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Mode, owner and links stay, and nothing is left behind.
func TestEdit(t *testing.T) {
	dir := t.TempDir()
	behind, link := filepath.Join(dir, "behind.json"), filepath.Join(dir, "routes.json")
	write(t, behind, "old", 0o640)
	if os.Geteuid() == 0 {
		if err := os.Chown(behind, 1234, 4321); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("behind.json", link); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Edit(link, func(data []byte) ([]byte, error) { return append(data, " and new"...), nil }); err != nil {
		t.Fatal(err)
	}
	if got := read(t, behind); got != "old and new" {
		t.Errorf("the file holds %q", got)
	}
	info, err := os.Lstat(behind)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 && (owner.Uid != 1234 || owner.Gid != 4321) {
		t.Errorf("owner %d:%d", owner.Uid, owner.Gid)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no more: %v, %v", info, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("something was left behind: %v", entries)
	}
}

func TestEditRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.json")
	write(t, path, "old", 0o600)
	no := errors.New("no")
	if err := atomicfile.Edit(path, func([]byte) ([]byte, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("the file holds %q", got)
	}
	if err := atomicfile.Edit(path+".none", func([]byte) ([]byte, error) { return nil, nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Somebody else's change is not overwritten.
func TestEditOfWhatHasChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.json")
	write(t, path, "old", 0o600)
	err := atomicfile.Edit(path, func([]byte) ([]byte, error) {
		write(t, path, "theirs", 0o600)
		return []byte("ours"), nil
	})
	if !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("%v", err)
	}
	if got := read(t, path); got != "theirs" {
		t.Errorf("the file holds %q", got)
	}
}

// A reader sees one version or the other, whole.
func TestEditIsAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.json")
	long := func(c byte) []byte {
		b := make([]byte, 1<<16)
		for i := range b {
			b[i] = c
		}
		return b
	}
	write(t, path, string(long('a')), 0o600)
	done := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			data, err := os.ReadFile(path)
			if err != nil || len(data) != 1<<16 || data[0] != data[len(data)-1] {
				t.Errorf("%d bytes, %v", len(data), err)
				return
			}
		}
	})
	for i := range 50 {
		if err := atomicfile.Edit(path, func([]byte) ([]byte, error) { return long('a' + byte(i%26)), nil }); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
}

// Where the directory takes nothing new, that is told before and after one has tried.
func TestReadOnly(t *testing.T) {
	dir, err := os.MkdirTemp("", "atomicfile") //nolint:usetesting // t.TempDir is in a directory that only we may enter
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "routes.json")
	write(t, path, "old", 0o644)
	if err := atomicfile.Check(path); err != nil {
		t.Errorf("%v", err)
	}
	if os.Geteuid() == 0 { // who may write everywhere
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Seteuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Seteuid(0) }()
	} else {
		defer func() { _ = os.Chmod(dir, 0o700) }()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.Check(path); !errors.Is(err, atomicfile.ErrReadOnly) {
		t.Errorf("%v", err)
	}
	err = atomicfile.Edit(path, func([]byte) ([]byte, error) { return []byte("new"), nil })
	if !errors.Is(err, atomicfile.ErrReadOnly) || read(t, path) != "old" {
		t.Errorf("%v", err)
	}
}
