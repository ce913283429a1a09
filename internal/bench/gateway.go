package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/apikey"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

// shape is how large a routes file is. Every route has one target, which all instances serve, and is balanced by session
// affinity and least in-flight.
type shape struct {
	routes, keys int
	instances    []string // host:port, or that and a path
}

// routeName and keySecret name the routes and the keys. The first route is called like the model that others are asked for.
func (s shape) routeName(i int) string {
	if s.routes == 1 {
		return model
	}
	return fmt.Sprintf("chat-%06d", i)
}

func (s shape) keySecret(i int) string { return fmt.Sprintf("bench-secret-%06d", i) }

// file is the routes file.
func (s shape) file() ([]byte, error) {
	type object = map[string]any
	var instances, routes, keys []object
	for i, at := range s.instances {
		instances = append(instances, object{"name": fmt.Sprintf("engine-%d", i), "url": "http://" + at})
	}
	for i := range s.routes {
		routes = append(routes, object{"name": s.routeName(i), "targets": []object{{"model": "bench"}},
			"policies": object{"session_affinity": object{}, "least_inflight": object{}}})
	}
	for i := range s.keys {
		name := fmt.Sprintf("key-%06d", i)
		keys = append(keys, object{"name": name, "user": fmt.Sprintf("user-%d", i%100), "sha256": apikey.Digest(s.keySecret(i))})
	}
	return json.Marshal(object{
		"models": []object{{"name": "bench", "instances": instances}}, "routes": routes, "api_keys": keys,
	})
}

// startGateway starts the gateway as operators run it: with keys, policies, metrics, and the access log to a file.
func (s *stage) startGateway(at place, size shape) (*server, error) {
	text, err := size.file()
	if err != nil {
		return nil, err
	}
	routes, err := s.file("routes.json", string(text))
	if err != nil {
		return nil, err
	}
	path, err := s.file("access.log", "")
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	s.logs = append(s.logs, path)
	env := alone
	if at == allCores {
		env = nil
	}
	p, err := s.pins.launch(at, log, env, s.gateway, "serve", "--routes", routes, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	listen, admin := "", ""
	if err := within(patience, "the gateway", func() bool { listen, admin = serving(path); return listen != "" }); err != nil {
		p.stop()
		return nil, fmt.Errorf("%w\n%s", err, strings.TrimSpace(p.tail.String()))
	}
	return &server{name: gateway, process: p, target: load.Target{Addr: listen, Key: size.keySecret(0)}, model: size.routeName(0), admin: admin}, nil
}

// serving reads the gateway's addresses from its log.
func serving(path string) (listen, admin string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", ""
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		var l struct{ Message, Listen, Admin string }
		if json.Unmarshal(line, &l) == nil && l.Message == "serving" {
			return l.Listen, l.Admin
		}
	}
	return "", ""
}

// metric adds up the values of a metric that the gateway shows to operators.
func (s *server) metric(name string) (sum float64, err error) {
	resp, err := http.Get("http://" + s.admin + "/metrics") //nolint:noctx // on loopback
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok && (strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, " ")) {
			v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
			if err != nil {
				return 0, err
			}
			sum += v
		}
	}
	return sum, nil
}
