package route

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const anAccessFile = `{
	"models": [ { "name": "m", "instances": [ { "name": "m-1", "url": "http://10.0.0.1:8000" } ] } ],
	"routes": [
		{ "name": "open", "access_policy": "public", "targets": [ { "model": "m" } ] },
		{ "name": "keyed", "targets": [ { "model": "m" } ] },
		{ "name": "authed", "access_policy": "authed", "targets": [ { "model": "m" } ] },
		{ "name": "alice-only", "access_policy": "allowed_users", "allowed_users": [ "alice" ], "targets": [ { "model": "m" } ] },
		{ "name": "nobody", "access_policy": "allowed_users", "targets": [ { "model": "m" } ] },
		{ "name": "unusable", "targets": [] }
	],
	"api_keys": [
		{ "name": "alice-1", "user": "alice", "sha256": "%x", "expires_at": "2027-06-30T00:00:00+02:00" },
		{ "name": "alice-2", "user": "alice", "sha256": "%X", "allowed_routes": [ "keyed", "alice-only" ] },
		{ "name": "bob", "user": "bob", "sha256": "%x", "allowed_routes": [ "alice-only", "nobody", "authed" ] },
		{ "name": "nothing", "user": "alice", "sha256": "%x", "allowed_routes": [] },
		{ "name": "Alice", "user": "Alice", "sha256": "%x" }
	]
}`

func accessFile() string {
	digest := func(s string) any { return sha256.Sum256([]byte(s)) }
	return fmt.Sprintf(anAccessFile, digest("a1"), digest("a2"), digest("b"), digest("none"), digest("A"))
}

func TestAccess(t *testing.T) {
	s := mustBuild(t, accessFile(), testOptions())
	now := time.Date(2027, 6, 29, 21, 59, 59, 0, time.UTC)
	for _, test := range []struct{ secret, name, user, may string }{
		{"", "", "", "open"},
		{"a1", "alice-1", "alice", "open keyed authed alice-only unusable"},
		{"a2", "alice-2", "alice", "open keyed alice-only"},
		{"b", "bob", "bob", "open authed"},
		{"none", "nothing", "alice", "open"},
		{"A", "Alice", "Alice", "open keyed authed unusable"},
	} {
		c, err := s.Caller([]byte(test.secret), now)
		if err != nil || c.Name() != test.name || c.User() != test.user {
			t.Errorf("%q is %q of %q, %v", test.secret, c.Name(), c.User(), err)
		}
		var may []string
		for _, r := range s.Routes() {
			if s.May(c, r) {
				may = append(may, r.Name)
			}
		}
		if got := strings.Join(may, " "); got != test.may {
			t.Errorf("%q may use %s, want %s", test.secret, got, test.may)
		}
	}
	for _, secret := range []string{"a", "a1 ", "alice", "\x00", strings.Repeat("x", 1<<20)} {
		if c, err := s.Caller([]byte(secret), now); !errors.Is(err, ErrKey) || c != (Caller{}) {
			t.Errorf("%.20q: %v, %v", secret, c, err)
		}
	}
	if _, err := s.Caller([]byte("a1"), now.Add(time.Second)); !errors.Is(err, ErrKey) {
		t.Errorf("the key is valid when it expires: %v", err)
	}
}

func TestRouteLookup(t *testing.T) {
	s := mustBuild(t, accessFile(), testOptions())
	for _, r := range s.Routes() {
		if s.Route([]byte(r.Name)) != r {
			t.Errorf("%s is not found", r.Name)
		}
	}
	for _, name := range []string{"", "Open", "open ", "ope", "open/x"} {
		if r := s.Route([]byte(name)); r != nil {
			t.Errorf("%q is %q", name, r.Name)
		}
	}
	if !s.Route([]byte("open")).Public() || s.Route([]byte("keyed")).Public() {
		t.Error("Public is wrong")
	}
}

func TestAddresses(t *testing.T) {
	s := mustBuild(t, `{
		"models": [
			{ "name": "a", "instances": [ { "name": "1", "url": "http://h:8000" }, { "name": "2", "url": "http://h:8000/v1/" } ] },
			{ "name": "b", "instances": [ { "name": "1", "url": "https://h" } ] },
			{ "name": "fallback", "instances": [ { "name": "1", "url": "http://f" } ] },
			{ "name": "unused", "instances": [ { "name": "1", "url": "http://unused" } ] },
			{ "name": "broken", "instances": [ { "name": "1", "url": "http://broken" } ] }
		],
		"providers": [
			{ "name": "jev", "type": "typesafe", "endpoint": "https://jev.example" },
			{ "name": "dec", "type": "systemone", "endpoint": "https://dec.example/api" }
		],
		"routes": [
			{ "name": "r", "targets": [ { "model": "a" }, { "model": "b" }, { "model": "fallback", "fallback_status_codes": [ "5xx" ] } ],
				"policies": { "decision_service": { "provider": "jev", "model": "x", "criteria": { "a": "small" } } } },
			{ "name": "again", "targets": [ { "model": "b" }, { "provider": "dec", "overridden_model_name": "x" } ] },
			{ "name": "unusable", "targets": [ { "model": "broken", "weight": 1 }, { "model": "a" } ] }
		]
	}`, testOptions())
	var got []string
	for _, a := range s.Addresses() {
		got = append(got, a.origin()+a.BasePath+" "+a.Host)
	}
	want := []string{"http://h:8000/v1 h:8000", "https://h/v1 h:443", "http://f/v1 f:80", "https://dec.example/api/v1 dec.example:443"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCredentials(t *testing.T) {
	const file = `{ "providers": [ { "name": "p", "type": %q, "endpoint": %q, "api_token": %q } ],
		"routes": [ { "name": "r", "targets": [ { "provider": "p", "overridden_model_name": "m" } ] } ] }`
	for _, test := range []struct{ kind, endpoint, token, base, header, credential string }{
		{"openai", "https://h", "sk-1", "/v1", "Authorization", "Bearer sk-1"},
		{"openai", "https://h/", "${DEEPSEEK_API_KEY}", "/v1", "Authorization", "Bearer sk-deepseek"},
		{"openai", "https://h/api/paas/v4/", "$HOME", "/api/paas/v4", "Authorization", "Bearer $HOME"},
		{"anthropic", "https://h", "sk-1", "/v1", "x-api-key", "sk-1"},
		{"anthropic", "https://h/anthropic", "sk-1", "/anthropic", "x-api-key", "sk-1"},
		{"typesafe", "https://h", "sk-1", "/v1", "Authorization", "Bearer sk-1"},
		{"systemone", "https://h/api", "sk-1", "/api/v1", "Authorization", "Bearer sk-1"},
	} {
		s := mustBuild(t, fmt.Sprintf(file, test.kind, test.endpoint, test.token), testOptions())
		u := s.Routes()[0].Upstreams[0]
		if u.Address.BasePath != test.base || u.Header != test.header || u.Credential.Reveal() != test.credential {
			t.Errorf("%+v: got base %q, header %q, credential %q", test, u.Address.BasePath, u.Header, u.Credential.Reveal())
		}
		if strings.Contains(fmt.Sprintf("%+v %#v", *s.Routes()[0], u), "sk-") {
			t.Error("the credential shows")
		}
	}
}

func TestPublic(t *testing.T) {
	const file = `{ "models": [ { "name": "m", "instances": [] } ], "routes": [ { "name": "a", "targets": [ { "model": "m" } ] },
		{ "name": "b", "access_policy": %q, "targets": [ { "model": "m" } ] }, { "name": "c", "targets": [ { "model": "m" } ] } ] }`
	for access, want := range map[string]bool{"public": true, "authed": false, "allowed_users": false} {
		if s := mustBuild(t, fmt.Sprintf(file, access), testOptions()); s.Public != want {
			t.Errorf("%s: got %v", access, s.Public)
		}
	}
}

func TestMaxBodyBytes(t *testing.T) {
	const file = `{ "models": [ { "name": "m", "instances": [] } ], "routes": [ %s ], "defaults": { "max_body_bytes": 50 } }`
	route := func(name, more string) string {
		return fmt.Sprintf(`{ "name": %q, "targets": [ { "model": "m" } ] %s }`, name, more)
	}
	for _, test := range []struct {
		routes string
		want   int64
	}{
		{"", 50},
		{route("a", ""), 50},
		{route("a", `, "max_body_bytes": 10`), 10},
		{route("a", `, "max_body_bytes": 100`) + "," + route("b", ""), 100},
		{route("a", `, "max_body_bytes": 0`) + "," + route("b", ""), 0},
	} {
		if s := mustBuild(t, fmt.Sprintf(file, test.routes), testOptions()); s.MaxBodyBytes != test.want {
			t.Errorf("%s: got %d", test.routes, s.MaxBodyBytes)
		}
	}
}
