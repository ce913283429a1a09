// Package atomicfile replaces a file by another version of it in one step: whoever reads it finds the one or the other,
// and never a part.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

var (
	// ErrReadOnly is why a file can't be replaced where it stands, whoever tries again.
	ErrReadOnly = errors.New("the file can't be replaced")
	// ErrChanged is why a file was not replaced: somebody else has changed it since it was read.
	ErrChanged = errors.New("the file has been changed meanwhile")
)

// Edit replaces a file by what edit makes of it, with the same mode and owner. Where the path is a symbolic link, the file
// behind it is replaced. The error is edit's own, or says why the file can't be read or replaced: it is ErrChanged or
// ErrReadOnly if one of them is the reason. Whatever goes wrong, the file is as it was.
func Edit(path string, edit func([]byte) ([]byte, error)) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	was, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data, err := edit(was)
	if err != nil {
		return err
	}
	return replace(path, was, data, info)
}

// replace puts data in the place of a file that still is what it was.
func replace(path string, was, data []byte, like fs.FileInfo) error {
	dir := filepath.Dir(path)
	temporary, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return why(path, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // it is gone already if all went well
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(like.Mode().Perm())
	}
	if err == nil {
		err = keepOwner(temporary, like)
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return why(path, err)
	}
	// What is left of the race with somebody who knows nothing of it are the microseconds from here to the rename.
	is, err := os.ReadFile(path) //nolint:gosec // the operator says which file
	switch {
	case err != nil:
		return err
	case !bytes.Equal(is, was):
		return fmt.Errorf("%s: %w", path, ErrChanged)
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return why(path, err)
	}
	sync(dir)
	return nil
}

// keepOwner gives a file the owner of another one.
func keepOwner(file *os.File, like fs.FileInfo) error {
	wanted, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	given, ok := info.Sys().(*syscall.Stat_t)
	if !ok || given.Uid == wanted.Uid && given.Gid == wanted.Gid {
		return nil
	}
	if err := file.Chown(int(wanted.Uid), int(wanted.Gid)); err != nil {
		return fmt.Errorf("its owner can't be kept: %w", err)
	}
	return nil
}

// why says of a failure whether it would be the same again.
func why(path string, err error) error {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%w: %s is mounted by itself; mount its directory instead", ErrReadOnly, path)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %s is mounted read-only, as a ConfigMap is", ErrReadOnly, filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: the gateway's user may not write to %s, or not keep the owner of %s",
			ErrReadOnly, filepath.Dir(path), path)
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

// sync makes a rename outlive a power failure, where the file system can do that.
func sync(dir string) {
	if d, err := os.Open(dir); err == nil { //nolint:gosec // as above
		_ = d.Sync()
		_ = d.Close()
	}
}

// Check tells without writing why a file can't be replaced, as far as that can be told. The error is ErrReadOnly, or that
// there is no file.
func Check(path string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := unix.Faccessat(unix.AT_FDCWD, filepath.Dir(path), unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return why(path, err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() != 0 && int(owner.Uid) != os.Geteuid() {
		return why(path, fs.ErrPermission)
	}
	return nil
}
