package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/gateway/admin"
	"github.com/gpustack/gpustack-gateway/internal/filewatch"
	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/internal/systemone"
	"github.com/gpustack/gpustack-gateway/internal/tracing"
	"github.com/gpustack/gpustack-gateway/internal/upstream"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/route"
)

// settings are what a running gateway is made from.
type settings struct {
	routes      string // path of the routes file
	lookupEnv   func(string) (string, bool)
	data, admin net.Listener // closed by the service
	adminToken  string       // path of the file with it; "" is none
	certificate *certificate // nil: plain HTTP
	grace       time.Duration
	drain       time.Duration
	log         zerolog.Logger
	report      io.Writer // takes the problems of a routes file that the gateway cannot start with
}

// service is a gateway with everything that it needs around it. It is the only place where all the parts meet.
type service struct {
	settings
	metrics  *metrics.Metrics
	tracer   *tracing.Tracer
	decide   *systemone.Client
	fleet    *lb.Fleet
	probes   *probes
	table    *route.Table
	upstream *upstream.Client
	recent   *admin.Recent
	token    *admin.Token // nil: none
	gateway  *gateway.Gateway
	operator *http.Server
}

// newService builds a gateway and loads its routes. With a routes file that cannot be used it reports every problem and
// returns errReported.
func newService(c settings) (*service, error) {
	s := &service{settings: c, recent: admin.NewRecent(), metrics: metrics.New(buildVersion()), upstream: upstream.NewClient(nil), fleet: lb.NewFleet(rand.Uint64)}
	s.decide = newDecisionClient(s.metrics, c.log)
	s.probes = newProbes(c.log)
	s.table = route.NewTable(c.routes, route.Options{
		Kinds:     builtin.All(asker{s.decide}, s.metrics.Moved),
		Fleet:     s.fleet,
		Rand:      rand.Uint64,
		LookupEnv: c.lookupEnv,
		OnSwap:    s.retain,
	})
	err := s.openToken()
	if err == nil {
		err = s.load()
	}
	if err == nil {
		err = s.openTracer()
	}
	if err == nil {
		s.gateway, err = s.newGateway()
	}
	if err != nil {
		s.upstream.Close()
		s.decide.Close()
		s.probes.prober.Close()
		return nil, err
	}
	s.metrics.Add(&admin.Live{Table: s.table, Fleet: s.fleet, Active: s.gateway.Active, Clients: s.gateway.Clients,
		Circuits: func() map[string]bool { return openCircuits(s.decide) }})
	s.operator = admin.Server(s.newAdmin())
	return s, nil
}

// openTracer makes requests be traced if the environment names a collector.
func (s *service) openTracer() error {
	wanted, err := tracing.Wanted(s.lookupEnv)
	if err == nil && wanted {
		s.tracer, err = tracing.New(context.Background(), buildVersion(), func(err error) {
			s.log.Warn().Err(err).Msg("spans could not be sent")
		})
	}
	return err
}

// closeTracer sends the spans that are still held, if the collector takes them soon.
func (s *service) closeTracer() {
	if s.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.tracer.Close(ctx); err != nil {
		s.log.Warn().Err(err).Msg("the last spans could not be sent")
	}
}

// openToken reads the token of the admin address, which it may do without on loopback only.
func (s *service) openToken() (err error) {
	if s.adminToken != "" {
		if s.token, err = admin.OpenToken(s.adminToken); err != nil {
			return fmt.Errorf("cannot use the admin token: %w", err)
		}
		return nil
	}
	if s.admin != nil && !admin.Loopback(s.admin.Addr()) {
		return usagef("the admin address %s can be reached from other machines, so it has to ask for a token: --admin-token-file FILE", s.admin.Addr())
	}
	return nil
}

// load reads the routes file for the first time, where every problem of the file is a reason not to start.
func (s *service) load() error {
	_, problems, err := s.table.Reload()
	if err != nil {
		return fmt.Errorf("cannot read the routes file: %w", err)
	}
	if s.table.Load() == nil {
		for _, problem := range problems {
			fmt.Fprintln(s.report, problem)
		}
		fmt.Fprintf(s.report, "gpustack-gateway: the routes file cannot be used\n")
		return errReported
	}
	s.logProblems(problems)
	s.metrics.Reload(s.table.Load().Generation, metrics.Loaded, time.Now())
	return nil
}

func (s *service) newGateway() (*gateway.Gateway, error) {
	c := gateway.Config{Table: s.table, Log: s.log, Rand: rand.Uint64, Metrics: s.metrics, Tracer: s.tracer, Upstream: s.upstream, Observe: s.recent.Observe}
	if s.certificate != nil {
		if _, err := s.certificate.load(); err != nil {
			return nil, fmt.Errorf("cannot use the certificate: %w", err)
		}
		c.TLS = s.certificate.config()
	}
	return gateway.New(c)
}

func (s *service) newAdmin() http.Handler {
	return admin.New(admin.Config{
		Ready: func() bool { return !s.gateway.Draining() },
		Table: s.table, Fleet: s.fleet, Metrics: s.metrics.Handler(), Log: s.log, Version: buildVersion(),
		Active: s.gateway.Active, Clients: s.gateway.Clients,
		Circuits: func() []admin.Circuit { return circuits(s.decide) },
		Recent:   s.recent,
		Token:    s.token,
		Check:    func(text []byte) (*route.Snapshot, []route.Problem) { return build(s.routes, text, s.lookupEnv) },
		Schema:   route.Schema(builtin.All(nil)),
		Reload:   func() { s.reload("admin") },
	})
}

// retain closes the connections to addresses that a new snapshot no longer knows, drops the series of routes that are gone,
// and has the engines asked that it wants asked.
func (s *service) retain(snapshot *route.Snapshot) {
	s.metrics.Retain(admin.Known(snapshot))
	s.probes.set(snapshot.Checks())
	known := make(map[upstream.Addr]bool)
	for _, a := range snapshot.Addresses() {
		known[upstream.Addr{Host: a.Host, TLS: a.TLS}] = true
	}
	s.upstream.Retain(func(a upstream.Addr) bool { return known[a] })
}

// run serves until ctx ends, then drains. It returns an error only if a listener failed.
func (s *service) run(ctx context.Context, p *process) error {
	failed := make(chan error, 2)
	go func() { failed <- s.gateway.Serve(s.data) }()
	go func() { failed <- s.operator.Serve(s.admin) }()

	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	changed := filewatch.Watch(watching, s.routes)
	var renewed <-chan struct{}
	if s.certificate != nil {
		renewed = filewatch.Watch(watching, s.certificate.certFile)
	}

	s.log.Info().Str("version", buildVersion()).Stringer("listen", s.data.Addr()).Stringer("admin", s.admin.Addr()).
		Bool("tls", s.certificate != nil).Int("routes", len(s.table.Load().Routes())).Msg("serving")
	if p.started != nil {
		p.started(addresses{data: s.data.Addr().String(), admin: s.admin.Addr().String()})
	}

	for {
		select {
		case <-ctx.Done():
			s.stop()
			return nil
		case err := <-failed:
			s.stop()
			return fmt.Errorf("cannot serve any more: %w", err)
		case <-p.reload:
			s.reload("signal")
			s.reloadSecrets()
		case <-changed:
			s.reload("file")
		case <-renewed:
			s.reloadCertificate()
		}
	}
}

// stop lets what runs finish: first the requests, then the operator's side, which has shown all the while that the
// gateway drains.
func (s *service) stop() {
	s.log.Info().Dur("grace_ms", s.grace).Dur("drain_ms", s.drain).Int64("running", s.gateway.Active()).Msg("draining")
	ctx, cancel := context.WithTimeout(context.Background(), s.grace+s.drain)
	defer cancel()
	cut := s.gateway.Shutdown(ctx, s.grace)
	s.upstream.Close()
	s.decide.Close()
	s.probes.prober.Close()
	s.closeTracer()
	_ = s.operator.Close() // health checks may be cut off
	s.log.Info().Int("cut", cut).Msg("stopped")
}

// reload reads the routes file again. Whatever is wrong with it, the last good one keeps serving.
func (s *service) reload(cause string) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error().Str("cause", cause).Interface("fault", fault).Msg("reload failed")
		}
	}()
	before := s.table.Status()
	changed, problems, err := s.table.Reload()
	snapshot := s.table.Load()
	switch {
	case err != nil:
		s.metrics.Reload(snapshot.Generation, metrics.Unreadable, time.Now())
		s.log.Error().Str("cause", cause).Err(err).Msg("routes file cannot be read, the last good one keeps serving")
	case refused(problems):
		s.metrics.Reload(snapshot.Generation, metrics.Refused, time.Now())
		s.logProblems(problems)
		s.log.Error().Str("cause", cause).Int("problems", len(problems)).Msg("routes file refused, the last good one keeps serving")
	case changed:
		s.logProblems(problems)
		s.metrics.Reload(snapshot.Generation, metrics.Loaded, snapshot.Loaded)
		s.log.Info().Str("cause", cause).Uint64("generation", snapshot.Generation).Int("routes", len(snapshot.Routes())).Msg("routes loaded")
	case before.Err != nil || before.Refused:
		s.metrics.Reload(snapshot.Generation, metrics.Loaded, time.Now())
		s.log.Info().Str("cause", cause).Uint64("generation", snapshot.Generation).Msg("routes file is again the one that serves")
	case cause == "signal":
		s.log.Info().Str("cause", cause).Msg("routes file is as it was")
	}
}

// reloadSecrets reads the certificate and the admin token again.
func (s *service) reloadSecrets() {
	s.reloadCertificate()
	if s.token != nil {
		if err := s.token.Reload(); err != nil {
			s.log.Error().Err(err).Msg("admin token cannot be used, the last good one stays")
		}
	}
}

func (s *service) reloadCertificate() {
	if s.certificate == nil {
		return
	}
	switch changed, err := s.certificate.load(); {
	case err != nil:
		s.log.Error().Err(err).Msg("certificate cannot be used, the last good one stays")
	case changed:
		s.log.Info().Msg("certificate loaded")
	}
}

// refused reports whether a problem is at file level, so that nothing of the file was used.
func refused(problems []route.Problem) bool {
	for _, problem := range problems {
		if problem.Level == route.FileError {
			return true
		}
	}
	return false
}

// logProblems writes a line for each: a warning is at level warn, the others at level error.
func (s *service) logProblems(problems []route.Problem) {
	for _, problem := range problems {
		level := zerolog.ErrorLevel
		if problem.Level == route.Warning {
			level = zerolog.WarnLevel
		}
		s.log.WithLevel(level).Str("problem", problem.String()).Msg("routes file")
	}
}
