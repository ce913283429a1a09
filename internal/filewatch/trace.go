package filewatch

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a way may have, as many as Linux follows.
const maxLinks = 40

// trace follows the absolute path the way the system does and returns the names on it that decide where it leads, by
// the real directory they are in: each symbolic link, and the file itself, or the first name that does not exist.
func trace(path string) map[string][]string {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	names := make(map[string][]string)
	dir, rest := root, steps(path[len(filepath.VolumeName(path)):])
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir = filepath.Dir(dir)
			continue
		}
		full := filepath.Join(dir, name)
		target, err := os.Readlink(full)
		if err != nil { // not a link, or not there
			if _, err = os.Lstat(full); err != nil || len(rest) == 0 {
				names[dir] = append(names[dir], name)
				return names
			}
			dir = full
			continue
		}
		names[dir] = append(names[dir], name)
		if links++; links > maxLinks {
			return names
		}
		if filepath.IsAbs(target) {
			dir = root
		}
		rest = append(steps(target), rest...)
	}
	return names
}

// steps splits a path into its names; "." and doubled separators are none.
func steps(path string) []string {
	var out []string
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if name != "" && name != "." {
			out = append(out, name)
		}
	}
	return out
}
