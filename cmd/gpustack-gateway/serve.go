package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

type serveCommand struct {
	Routes      string `help:"The routes file. It is read again whenever it changes, and at SIGHUP." required:"" type:"path" env:"GPUSTACK_GATEWAY_ROUTES" placeholder:"FILE"`
	Listen      string `help:"Address for clients." default:":8080" env:"GPUSTACK_GATEWAY_LISTEN" placeholder:"ADDRESS"`
	AdminListen string `help:"Address for health checks and operators." default:"127.0.0.1:9090" env:"GPUSTACK_GATEWAY_ADMIN_LISTEN" placeholder:"ADDRESS"`

	AdminTokenFile string `help:"File with the token that the admin address asks for. Needed where that is not on loopback. Read again at SIGHUP." type:"path" env:"GPUSTACK_GATEWAY_ADMIN_TOKEN_FILE" placeholder:"FILE"`

	TLSCert string `name:"tls-cert" help:"Certificate chain to show to clients, in PEM; without it they speak plain HTTP." type:"path" and:"tls" env:"GPUSTACK_GATEWAY_TLS_CERT" placeholder:"FILE"`
	TLSKey  string `name:"tls-key" help:"Its private key, in PEM." type:"path" and:"tls" env:"GPUSTACK_GATEWAY_TLS_KEY" placeholder:"FILE"`

	GracePeriod  time.Duration `help:"How long to go on listening after SIGTERM, so that whoever balances over gateways sees /readyz turn red." default:"5s" env:"GPUSTACK_GATEWAY_GRACE_PERIOD" placeholder:"DURATION"`
	DrainTimeout time.Duration `help:"How long running requests may take to finish after that; then they are cut off." default:"5m" env:"GPUSTACK_GATEWAY_DRAIN_TIMEOUT" placeholder:"DURATION"`

	logFlags
}

// Help is shown below the command's usage.
func (*serveCommand) Help() string {
	return `SIGTERM or SIGINT: /readyz turns red, new requests are served for the grace period, running ones until the drain timeout. A second one ends the process at once. SIGHUP reads the routes file, the certificate and the admin token again.`
}

// Run serves until ctx ends and the requests that then run have ended.
func (c *serveCommand) Run(ctx context.Context, p *process) error {
	log, flush := c.logger(p.stdout)
	defer flush()
	settings := settings{
		routes: c.Routes, lookupEnv: os.LookupEnv,
		grace: c.GracePeriod, drain: c.DrainTimeout,
		log: log, report: p.stderr, adminToken: c.AdminTokenFile,
	}
	if c.TLSCert != "" {
		settings.certificate = &certificate{certFile: c.TLSCert, keyFile: c.TLSKey}
	}
	var err error
	if settings.data, err = listen(ctx, c.Listen, "--listen"); err != nil {
		return err
	}
	if settings.admin, err = listen(ctx, c.AdminListen, "--admin-listen"); err != nil {
		_ = settings.data.Close()
		return err
	}
	s, err := newService(settings)
	if err != nil {
		_, _ = settings.data.Close(), settings.admin.Close()
		return err
	}
	return s.run(ctx, p)
}

// listen listens on the address that a flag says, and says what can be done if that does not work.
func listen(ctx context.Context, address, flag string) (net.Listener, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", address)
	var wrong *net.AddrError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w; %s takes another one", err, flag)
	case errors.As(err, &wrong):
		return nil, usagef("%s: %q is not an address such as 127.0.0.1:8080, or :8080 for all: %v", flag, address, wrong.Err)
	}
	return ln, err
}
