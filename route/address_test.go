package route

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, test := range []struct {
		url  string
		want Address // with base as BasePath
		id   string
	}{
		{"http://10.0.0.11:8000", Address{"10.0.0.11:8000", false, "10.0.0.11:8000", ""}, "http://10.0.0.11:8000"},
		{"http://10.0.0.11:8000/", Address{"10.0.0.11:8000", false, "10.0.0.11:8000", ""}, "http://10.0.0.11:8000"},
		{"http://10.0.0.11:8000/v1/", Address{"10.0.0.11:8000", false, "10.0.0.11:8000", "/v1"}, "http://10.0.0.11:8000"},
		{"HTTP://Engine:80", Address{"engine:80", false, "engine", ""}, "http://engine"},
		{"http://engine:0080", Address{"engine:80", false, "engine", ""}, "http://engine"},
		{"http://engine:443", Address{"engine:443", false, "engine:443", ""}, "http://engine:443"},
		{"https://API.Example/Path/", Address{"api.example:443", true, "api.example", "/Path"}, "https://api.example/Path"},
		{"https://api.example:443/a%2Fb", Address{"api.example:443", true, "api.example", "/a%2Fb"}, "https://api.example/a%2Fb"},
		{"https://api.example:8443/a b", Address{"api.example:8443", true, "api.example:8443", "/a%20b"}, "https://api.example:8443/a%20b"},
		{"http://[::1]:8000/v1", Address{"[::1]:8000", false, "[::1]:8000", "/v1"}, "http://[::1]:8000"},
		{"http://[FE80::1]", Address{"[fe80::1]:80", false, "[fe80::1]", ""}, "http://[fe80::1]"},
		{"http://under_score.svc", Address{"under_score.svc:80", false, "under_score.svc", ""}, "http://under_score.svc"},
	} {
		got, base, err := parseURL(test.url)
		got.BasePath = base
		if err != nil || got != test.want || identity(got, base) != test.id {
			t.Errorf("%s: got %+v, %q, %v", test.url, got, identity(got, base), err)
		}
	}
}

func TestParseURLProblems(t *testing.T) {
	for url, want := range map[string]string{
		"":                          "begins with http",
		"10.0.0.11:8000":            "not a URL such as",
		"engine:8000":               "begins with http",
		"//engine:8000":             "begins with http",
		"ftp://engine":              "begins with http",
		"http:engine":               "without a host",
		"http://":                   "without a host",
		"http:///v1":                "without a host",
		"http://:8000":              "without a host",
		"http://user:secret@engine": "user name or password",
		"http://engine/v1?a=b":      "query",
		"http://engine?":            "query",
		"http://engine/#":           "fragment",
		"http://engine/#x":          "fragment",
		"http://engine:":            "port",
		"http://engine:0":           "port",
		"http://engine:65536":       "port",
		"http://engine:http":        "not a URL",
		"http://engine/\r\nx":       "not a URL",
		"http://eng ine":            "not a URL",
		"http://motör":              "ASCII",
		"http://mot%C3%B6r":         "ASCII",
		"http://a,b":                "ASCII",
		"http://[fe80::1%25eth0]":   "IPv6",
		"http://[1.2.3.4]":          "not a URL",
		"http://engine/a/../b":      "dot segment",
		"http://engine/..":          "dot segment",
		"http://engine/a//b":        "dot segment",
		"http://%41":                "not a URL",
	} {
		a, _, err := parseURL(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v; want %q", url, a, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
