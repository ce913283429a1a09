package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// healthTimeout is how long a live gateway may take to say so.
const healthTimeout = 3 * time.Second

type healthCommand struct {
	Admin string `help:"The gateway's admin address, or its URL." default:"127.0.0.1:9090" env:"GPUSTACK_GATEWAY_ADMIN_LISTEN" placeholder:"ADDRESS"`
	Ready bool   `help:"Ask whether it takes new requests, too: a gateway that drains does not."`
}

// Run exits 0 if the gateway answers that it is well, and 1 otherwise.
func (c *healthCommand) Run(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, adminURL(c.Admin)+path, http.NoBody)
	if err != nil {
		return usagef("--admin: %q is not an address: %v", c.Admin, err)
	}
	// A client of its own: no proxy stands between a gateway and its health check.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", req.URL, answer.Status)
	}
	_, err = fmt.Fprintln(p.stdout, "ok")
	return err
}

// adminURL is the URL of an admin address, which may be written as one, or as host:port as serve takes it: a listener
// on all addresses is asked on loopback.
func adminURL(address string) string {
	if strings.Contains(address, "://") {
		return strings.TrimRight(address, "/")
	}
	return "http://" + callable(address)
}

// callable is the host:port at which a listener is reached from this machine: one on all addresses is so on loopback, be
// that IPv4 or IPv6.
func callable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
