package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// appendKey returns the text of a routes file with one more element at the end of api_keys. Nothing else of the text
// changes, so that an operator's own layout stays.
func appendKey(data, entry []byte) ([]byte, error) {
	keys, err := findKeys(data)
	if err != nil {
		return nil, err
	}
	switch {
	case !keys.found && keys.empty:
		return splice(data, keys.at, "\n  \"api_keys\": [\n    "+string(entry)+"\n  ]\n"), nil
	case !keys.found:
		return splice(data, keys.at, ",\n  \"api_keys\": [\n    "+string(entry)+"\n  ]"), nil
	case keys.empty:
		return splice(data, keys.at, "\n    "+string(entry)+"\n  "), nil
	default:
		return splice(data, keys.at, ","+keys.space+string(entry)), nil
	}
}

// keysPlace says where a new element of api_keys goes.
type keysPlace struct {
	found bool   // the file has api_keys
	empty bool   // no element of it, or without it no member of the file, stands before at
	at    int    // offset to insert at
	space string // what stands between two elements, after the comma
}

// findKeys walks the top level of a routes file. Its error says that the text is not a JSON object with, if at all, an
// array of api_keys.
func findKeys(data []byte) (keysPlace, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := expect(dec, '{', "the file is not a JSON object"); err != nil {
		return keysPlace{}, err
	}
	end := keysPlace{empty: true, at: int(dec.InputOffset())}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return keysPlace{}, err
		}
		if name == "api_keys" {
			return findLastKey(dec, data)
		}
		if err := skip(dec); err != nil {
			return keysPlace{}, err
		}
		end.empty, end.at = false, int(dec.InputOffset())
	}
	_, err := dec.Token() // the closing brace
	return end, err
}

func findLastKey(dec *json.Decoder, data []byte) (keysPlace, error) {
	if err := expect(dec, '[', "api_keys is not an array"); err != nil {
		return keysPlace{}, err
	}
	place := keysPlace{found: true, empty: true, at: int(dec.InputOffset())}
	for dec.More() {
		from := place.at
		if err := skip(dec); err != nil {
			return keysPlace{}, err
		}
		place.empty, place.at = false, int(dec.InputOffset())
		between := strings.TrimLeft(string(data[from:place.at]), ",")
		place.space = between[:len(between)-len(strings.TrimLeft(between, " \t\r\n"))]
	}
	_, err := dec.Token() // the closing bracket
	return place, err
}

// expect reads one token, which has to be the given delimiter.
func expect(dec *json.Decoder, want json.Delim, otherwise string) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if token != want {
		return errors.New(otherwise)
	}
	return nil
}

// skip reads one value.
func skip(dec *json.Decoder) error {
	var value json.RawMessage
	return dec.Decode(&value)
}

func splice(data []byte, at int, text string) []byte {
	out := make([]byte, 0, len(data)+len(text))
	out = append(out, data[:at]...)
	out = append(out, text...)
	return append(out, data[at:]...)
}

// editFile replaces a file by what edit makes of it, in one step and with the same mode and owner. Where the path is a
// symbolic link, the file behind it is replaced.
func editFile(path string, edit func([]byte) ([]byte, error)) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if data, err = edit(data); err != nil {
		return err
	}
	if err := replace(path, data, info); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

func replace(path string, data []byte, like fs.FileInfo) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // it is gone already if all went well
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(like.Mode().Perm())
	}
	if owner, ok := like.Sys().(*syscall.Stat_t); ok && err == nil && os.Geteuid() == 0 {
		err = temporary.Chown(int(owner.Uid), int(owner.Gid))
	}
	if err == nil {
		err = temporary.Sync()
	}
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
