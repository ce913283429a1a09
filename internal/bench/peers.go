package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

// startNginx starts nginx with one worker, set up as is usual before engines that stream: nothing is buffered on its way
// down, and connections to the engine are kept. It keeps no log.
func (s *stage) startNginx() (*server, error) {
	addr, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.dir, "nginx-")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if os.Geteuid() == 0 {
		b.WriteString("user root;\n") // so that the worker may use the directory
	}
	fmt.Fprintf(&b, `
daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid %[1]s/pid;
error_log %[1]s/error.log;
events { worker_connections 32768; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  client_max_body_size 100m;
  client_body_buffer_size 2m;
  keepalive_requests 1000000000;
  keepalive_timeout 10m;
  proxy_read_timeout 10m;
  upstream engines {
    least_conn;
`, dir)
	for _, e := range s.engines {
		fmt.Fprintf(&b, "    server %s max_fails=0;\n", e)
	}
	fmt.Fprintf(&b, `    keepalive 1024;
    keepalive_requests 1000000000;
  }
  server {
    listen %s backlog=4096;
    location / {
      proxy_pass http://engines;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`, addr)
	config, err := s.file("nginx.conf", b.String())
	if err != nil {
		return nil, err
	}
	p, err := s.pins.launch(proxyCore, nil, nil, "nginx", "-p", dir, "-c", config)
	if err != nil {
		return nil, err
	}
	if err := ready(p, nginx, addr); err != nil {
		return nil, err
	}
	if err := p.findChildren(); err != nil {
		p.stop()
		return nil, err
	}
	return &server{name: nginx, process: p, target: load.Target{Addr: addr}, model: model}, nil
}

// startHAProxy starts HAProxy with one thread.
func (s *stage) startHAProxy() (*server, error) {
	addr, err := freePort()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `global
  nbthread 1
  maxconn 8000
defaults
  mode http
  timeout connect 5s
  timeout client 10m
  timeout server 10m
  http-reuse always
frontend clients
  bind %s backlog 4096
  default_backend engines
backend engines
  balance leastconn
`, addr)
	for i, e := range s.engines {
		fmt.Fprintf(&b, "  server e%d %s\n", i, e)
	}
	config, err := s.file("haproxy.cfg", b.String())
	if err != nil {
		return nil, err
	}
	p, err := s.pins.launch(proxyCore, nil, nil, "haproxy", "-db", "-f", config)
	if err != nil {
		return nil, err
	}
	if err := ready(p, haproxy, addr); err != nil {
		return nil, err
	}
	return &server{name: haproxy, process: p, target: load.Target{Addr: addr}, model: model}, nil
}
