package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

// server is a running proxy, or the engine itself, that load can be put on.
type server struct {
	name    string
	process *process // nil: the engine, which is not measured
	target  load.Target
	model   string
	admin   string // of the gateway: its operators' address
}

// patience is how long a server may take to start.
const patience = 60 * time.Second

func (s *server) stop() {
	if s.process != nil {
		s.process.stop()
	}
}

// stage is where everything is played: a directory, the engine, and what is needed to start the rest.
type stage struct {
	dir     string
	self    string // this program
	gateway string // the gateway's binary
	pins    pinning
	engine  *process
	engines []string // addresses
	started int      // files are numbered
	logs    []string // access logs that grow
}

// enginePorts is how many addresses the engine listens on: the instances that are balanced over.
const enginePorts = 8

func newStage(gateway string) (*stage, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gpustack-gateway-bench-")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, self: self, gateway: gateway, pins: findPinning()}
	s.engine, s.engines, err = s.launchSelf(otherCores, nil, "engine", strconv.Itoa(enginePorts))
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stage) close() {
	if s.engine != nil {
		s.engine.stop()
	}
	_ = os.RemoveAll(s.dir) // it is in the system's own directory for what may be left
}

// file makes a file that nobody else uses.
func (s *stage) file(name, text string) (string, error) {
	s.started++
	path := filepath.Join(s.dir, fmt.Sprintf("%d-%s", s.started, name))
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// cutLogs empties the access logs: a long run would fill the disk.
func (s *stage) cutLogs() {
	for _, path := range s.logs {
		_ = os.Truncate(path, 0) // who writes appends, so the next line is the first
	}
}

// launchSelf starts this program in another role and waits for its addresses.
func (s *stage) launchSelf(at place, env []string, args ...string) (*process, []string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = r.Close() }()
	p, err := s.pins.launch(at, w, env, append([]string{s.self}, args...)...)
	_ = w.Close()
	if err != nil {
		return nil, nil, err
	}
	line, err := bufio.NewReader(r).ReadBytes('\n')
	var addrs []string
	if err == nil {
		err = json.Unmarshal(line, &addrs)
	}
	if err != nil {
		p.stop()
		return nil, nil, fmt.Errorf("%s does not start: %w\n%s", args[0], err, p.tail.String())
	}
	return p, addrs, nil
}

// alone makes a Go program use one processor.
var alone = []string{"GOMAXPROCS=1"}

// model is the name that requests ask for.
const model = "chat"

// The servers, by the names that the tables show.
const (
	direct   = "direct"
	gateway  = "gateway"
	nginx    = "nginx"
	haproxy  = "HAProxy"
	fasthttp = "fasthttp"
	netHTTP  = "net/http"
)

// everybody is who is compared.
var everybody = []string{direct, nginx, haproxy, fasthttp, netHTTP, gateway}

// missing says why a server can't be had here; "" if it can.
func (s *stage) missing(name string) string {
	var program, pkg string
	switch name {
	case nginx:
		program, pkg = "nginx", "nginx-light"
	case haproxy:
		program, pkg = "haproxy", "haproxy"
	default:
		return ""
	}
	if _, err := exec.LookPath(program); err != nil {
		return program + " is not installed (Debian: " + pkg + "), so nothing is compared with it"
	}
	return ""
}

// start starts a server by its name, on the core that is kept for it.
func (s *stage) start(name string) (*server, error) { return s.startAt(proxyCore, name) }

// startAt starts a server in a place. Only the gateway can be had elsewhere than on one core.
func (s *stage) startAt(at place, name string) (*server, error) {
	switch name {
	case direct:
		return &server{name: name, target: load.Target{Addr: s.engines[0]}, model: model}, nil
	case nginx:
		return s.startNginx()
	case haproxy:
		return s.startHAProxy()
	case fasthttp, netHTTP:
		p, addrs, err := s.launchSelf(proxyCore, alone, append([]string{name}, s.engines...)...)
		if err != nil {
			return nil, err
		}
		return &server{name: name, process: p, target: load.Target{Addr: addrs[0]}, model: model}, nil
	default:
		return s.startGateway(at, shape{routes: 1, keys: 1, instances: s.engines})
	}
}

// ready waits until an address takes connections.
func ready(p *process, name, addr string) error {
	err := within(patience, name+" on "+addr, func() bool {
		c, err := net.Dial("tcp", addr) //nolint:noctx // to loopback
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	if err != nil {
		p.stop()
		err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(p.tail.String()))
	}
	return err
}

// freePort returns an address that nobody listens on at this moment.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		return "", err
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String(), nil
}
