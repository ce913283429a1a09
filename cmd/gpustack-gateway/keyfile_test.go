package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestAppendKey(t *testing.T) {
	const entry = `{"name":"new"}`
	for _, test := range []struct{ name, file, want string }{
		{"an empty object", `{}`,
			"{\n  \"api_keys\": [\n    {\"name\":\"new\"}\n  ]\n}"},
		{"no keys yet", "{\n  \"routes\": []\n}\n",
			"{\n  \"routes\": [],\n  \"api_keys\": [\n    {\"name\":\"new\"}\n  ]\n}\n"},
		{"an empty array", `{"api_keys": []}`,
			"{\"api_keys\": [\n    {\"name\":\"new\"}\n  ]}"},
		{"one line for all", `{"api_keys": [{"name":"a"}, {"name":"b"}], "routes": []}`,
			`{"api_keys": [{"name":"a"}, {"name":"b"}, {"name":"new"}], "routes": []}`},
		{"one line each", "{\"api_keys\": [\n\t{\"name\":\"a\"},\n\t{\"name\":\"b\"}\n]}",
			"{\"api_keys\": [\n\t{\"name\":\"a\"},\n\t{\"name\":\"b\"},\n\t{\"name\":\"new\"}\n]}"},
		{"the first of several lines", "{\"api_keys\": [\n    {\"name\":\"a\"}\n  ]}",
			"{\"api_keys\": [\n    {\"name\":\"a\"},\n    {\"name\":\"new\"}\n  ]}"},
		{"a nested member of the same name", `{"defaults": {"api_keys": [1]}, "api_keys": [{"name":"]"}]}`,
			`{"defaults": {"api_keys": [1]}, "api_keys": [{"name":"]"},{"name":"new"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := appendKey([]byte(test.file), []byte(entry))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if !json.Valid(got) {
				t.Error("not JSON any more")
			}
		})
	}
	for _, file := range []string{``, `[]`, `{"api_keys": {}}`, `{"api_keys": [`, `{"routes"`, `{"routes": [] "x"}`} {
		if got, err := appendKey([]byte(file), []byte(entry)); err == nil {
			t.Errorf("%q became %q", file, got)
		}
	}
}

func TestEditFile(t *testing.T) {
	dir := t.TempDir()
	behind := filepath.Join(dir, "behind.json")
	link := filepath.Join(dir, "routes.json")
	if err := os.WriteFile(behind, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(behind, link); err != nil {
		t.Fatal(err)
	}
	err := editFile(link, func(data []byte) ([]byte, error) { return append(data, " and new"...), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(behind); string(got) != "old and new" {
		t.Errorf("the file holds %q", got)
	}
	info, err := os.Lstat(behind)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v: it is to stay", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no more: %v, %v", info, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("something was left behind: %v", entries)
	}
}

func TestEditFileRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "routes.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := editFile(path, func([]byte) ([]byte, error) { return nil, errReported }); err == nil {
		t.Fatal("no error")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q", got)
	}
}
