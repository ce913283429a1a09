package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/apikey"
	"time"
)

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for when, want := range map[string]string{
		"":                          "",
		"12h":                       "2026-02-01T00:00:00Z",
		"90d":                       "2026-05-01T12:00:00Z",
		"4w":                        "2026-02-28T12:00:00Z",
		"2027-06-30T00:00:00Z":      "2027-06-30T00:00:00Z",
		"2027-06-30T02:00:00+02:00": "2027-06-30T00:00:00Z",
	} {
		if got, err := parseExpiry(when, now); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", when, got, err, want)
		}
	}
	for _, when := range []string{"d", "0d", "-1d", "1.5d", "90", "90m", "never", "99999999999999999999d", "9999999w", "2026-01-31T12:00:00Z", "2027-06-30"} {
		if got, err := parseExpiry(when, now); err == nil {
			t.Errorf("%q: %q", when, got)
		}
	}
}

var secretForm = regexp.MustCompile(`(?m)^  (gpustack_[0-9a-f]{16}_[0-9a-f]{32})$`)

func TestKeyCreatePrints(t *testing.T) {
	status, stdout, stderr := command(t, "", "key", "create", "--user", "alice", "--expires", "90d")
	secret := secretForm.FindStringSubmatch(stdout)
	if status != exitOK || secret == nil || stderr != "" {
		t.Fatalf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	var entry keyEntry
	if err := json.Unmarshal([]byte(stdout[strings.Index(stdout, "{"):]), &entry); err != nil {
		t.Fatal(err)
	}
	if entry.User != "alice" || !strings.HasPrefix(entry.Name, "alice-") || entry.SHA256 != apikey.Digest(secret[1]) || entry.ExpiresAt == "" {
		t.Errorf("entry %+v", entry)
	}
	if _, again, _ := command(t, "", "key", "create", "--user", "alice"); strings.Contains(again, secret[1]) {
		t.Error("two keys share a secret")
	}
}

const oneRoute = `{
  "models": [{"name": "m", "instances": [{"name": "m-1", "url": "http://127.0.0.1:1"}]}],
  "providers": [{"name": "p", "type": "openai", "endpoint": "https://p.example/v1", "api_token": "${A_TOKEN_NOBODY_SET}"}],
  "routes": [{"name": "r", "targets": [{"model": "m"}]}],
  "api_keys": [
    {"name": "first", "user": "bob", "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}
  ]
}
`

func TestKeyCreateAddsToFile(t *testing.T) {
	path := writeFile(t, oneRoute)
	status, stdout, stderr := command(t, "", "key", "create", "--user", "alice", "--name", "laptop", "--routes", path)
	secret := secretForm.FindStringSubmatch(stdout)
	if status != exitOK || secret == nil {
		t.Fatalf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Keys []keyEntry `json:"api_keys"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	want := keyEntry{Name: "laptop", User: "alice", SHA256: apikey.Digest(secret[1])}
	if len(file.Keys) != 2 || file.Keys[1] != want {
		t.Errorf("keys %+v, want %+v behind the first", file.Keys, want)
	}
	if strings.Contains(string(data), secret[1]) {
		t.Error("the secret is in the file")
	}
}

func TestKeyCreateRefusesToSpoilTheFile(t *testing.T) {
	for name, test := range map[string]struct{ file, keyName string }{
		"the name is taken":    {oneRoute, "first"},
		"it was broken before": {strings.Replace(oneRoute, `"routes"`, `"rotes"`, 1), "second"},
		"it is not JSON":       {"{", "second"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, test.file)
			status, stdout, stderr := command(t, "", "key", "create", "--user", "alice", "--name", test.keyName, "--routes", path)
			if status != exitFailed || stdout != "" || stderr == "" {
				t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
			if data, _ := os.ReadFile(path); string(data) != test.file {
				t.Errorf("the file has changed: %s", data)
			}
		})
	}
}
