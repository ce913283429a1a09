package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/apikey"
	"github.com/gpustack/gpustack-gateway/internal/atomicfile"
	"github.com/gpustack/gpustack-gateway/internal/jsonedit"
	"github.com/gpustack/gpustack-gateway/route"
)

type keyCommands struct {
	Create keyCreateCommand `cmd:"" help:"Make a new API key and print its secret, once."`
}

type keyCreateCommand struct {
	User    string `help:"Who the key belongs to; access is granted to users." required:"" placeholder:"NAME"`
	Name    string `help:"What the key is called in the log; by default the user with a few digits behind." placeholder:"NAME"`
	Expires string `help:"When it stops working: in so many hours, days or weeks (12h, 90d, 4w), or at a time (2027-06-30T00:00:00Z). By default never." placeholder:"WHEN"`
	Routes  string `help:"Add the key to this routes file. Without it, add the printed entry to api_keys yourself." type:"path" placeholder:"FILE"`
}

// keyEntry is an element of api_keys in the routes file.
type keyEntry struct {
	Name      string `json:"name"`
	User      string `json:"user"`
	SHA256    string `json:"sha256"`
	ExpiresAt string `json:"expires_at,omitempty"`
}

// Run makes a key. The secret is printed and kept nowhere: the file holds its digest.
func (c *keyCreateCommand) Run(p *process) error {
	expires, err := parseExpiry(c.Expires, time.Now())
	if err != nil {
		return err
	}
	id, secret := apikey.New()
	entry := keyEntry{Name: c.Name, User: c.User, SHA256: apikey.Digest(secret), ExpiresAt: expires}
	if entry.Name == "" {
		entry.Name = apikey.NameFor(c.User, id)
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if c.Routes != "" {
		if err := addToFile(c.Routes, text, p); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.stdout, "Secret, shown only now:\n  %s\n", secret)
	if c.Routes != "" {
		fmt.Fprintf(p.stdout, "Added to %s:\n  %s\n", c.Routes, text)
		return nil
	}
	fmt.Fprintf(p.stdout, "Entry for api_keys in the routes file:\n  %s\n", text)
	return nil
}

// addToFile adds a key's entry to a routes file, unless the file would not be one afterwards.
func addToFile(path string, entry []byte, p *process) error {
	return atomicfile.Edit(path, func(data []byte) ([]byte, error) {
		edited, err := jsonedit.Append(data, "api_keys", entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		// Whether the environment holds the providers' tokens is not this command's business.
		snapshot, problems := build(path, edited, func(string) (string, bool) { return "unknown", true })
		if snapshot != nil {
			return edited, nil
		}
		for _, problem := range problems {
			if problem.Level == route.FileError {
				fmt.Fprintln(p.stderr, problem)
			}
		}
		fmt.Fprintf(p.stderr, "gpustack-gateway: no key was added to %s, which could not be used with it\n", path)
		return nil, errReported
	})
}

// parseExpiry turns --expires into an RFC 3339 time, or "" for a key that does not expire.
func parseExpiry(when string, now time.Time) (string, error) {
	if when == "" {
		return "", nil
	}
	if at, err := time.Parse(time.RFC3339, when); err == nil {
		if !at.After(now) {
			return "", usagef("--expires: %s has passed", when)
		}
		return at.UTC().Format(time.RFC3339), nil
	}
	// A hundred years in the smallest unit, so that no sum overflows.
	const most = 100 * 365 * 24
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, known := units[when[len(when)-1]]
	n, err := strconv.Atoi(strings.TrimSpace(when[:len(when)-1]))
	if !known || err != nil || n < 1 || n > most {
		return "", usagef("--expires: %q is neither a number of hours, days or weeks, as in 12h, 90d or 4w, nor a time, as in 2027-06-30T00:00:00Z", when)
	}
	return now.Add(time.Duration(n) * unit).UTC().Format(time.RFC3339), nil
}
