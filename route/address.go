package route

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Address is where an upstream listens, as its URL says.
type Address struct {
	Host      string // host:port to dial; the port is always there
	TLS       bool
	Authority string // value of the Host header: without a default port
	BasePath  string // goes before the endpoint's path: "/v1" if the URL had no path; never with a slash at its end
}

// defaultBase is the path of an upstream whose URL has none.
const defaultBase = "/v1"

// parseURL reads the URL of an engine or a provider. base is its path, without a slash at its end and "" if it has none.
// The error says of the URL what is wrong with it.
func parseURL(text string) (a Address, base string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return a, "", errors.New("is not a URL such as http://10.0.0.11:8000")
	}
	switch strings.ToLower(u.Scheme) {
	case "http":
	case "https":
		a.TLS = true
	default:
		return a, "", errors.New("is not a URL that begins with http:// or https://")
	}
	switch {
	case u.Opaque != "" || u.Host == "":
		return a, "", errors.New("is a URL without a host")
	case u.User != nil:
		return a, "", errors.New("is a URL with a user name or password in it")
	case u.RawQuery != "" || u.ForceQuery:
		return a, "", errors.New("is a URL with a query (?)")
	case strings.Contains(text, "#"):
		return a, "", errors.New("is a URL with a fragment (#)")
	}
	host, err := hostOf(u)
	if err != nil {
		return a, "", err
	}
	port := u.Port()
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) || strings.HasSuffix(u.Host, ":") {
		return a, "", errors.New("is a URL whose port is not from 1 to 65535")
	}
	standard := "80"
	if a.TLS {
		standard = "443"
	}
	port = strings.TrimLeft(port, "0")
	a.Authority = host
	if strings.Contains(host, ":") {
		a.Authority = "[" + host + "]"
	}
	if port == "" {
		port = standard
	}
	if port != standard {
		a.Authority = net.JoinHostPort(host, port)
	}
	a.Host = net.JoinHostPort(host, port)
	base = strings.TrimRight(u.EscapedPath(), "/")
	if strings.Contains(base+"/", "/../") || strings.Contains(base+"/", "/./") || strings.Contains(base, "//") {
		return a, "", errors.New("is a URL whose path has an empty or a dot segment")
	}
	return a, base, nil
}

// hostOf returns the host in lower case, an IPv6 address without its brackets.
func hostOf(u *url.URL) (string, error) {
	host := strings.ToLower(u.Hostname())
	if strings.HasPrefix(u.Host, "[") {
		if ip, err := netip.ParseAddr(host); err != nil || ip.Zone() != "" || !ip.Is6() {
			return "", errors.New("is a URL whose host, in brackets, is not an IPv6 address")
		}
		return host, nil
	}
	for _, c := range []byte(host) {
		if c != '-' && c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return "", errors.New("is a URL whose host is not a name of ASCII letters, digits, dots and hyphens, nor an IP address")
		}
	}
	if host == "" {
		return "", errors.New("is a URL without a host")
	}
	return host, nil
}

// origin returns the URL without its path.
func (a Address) origin() string {
	if a.TLS {
		return "https://" + a.Authority
	}
	return "http://" + a.Authority
}

// identity returns what an engine or provider is known by: two URLs are one if requests go to the same place.
func identity(a Address, base string) string {
	if base == defaultBase {
		base = ""
	}
	return a.origin() + base
}
