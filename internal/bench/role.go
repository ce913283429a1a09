package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/peer"
)

// The program is started again for what must be a process of its own. Such a one writes the addresses that it listens on
// to its standard output, and ends with its standard input, that is with whoever started it.

// role plays the part that the arguments name. It returns false if they name none.
func role(args []string) (played bool) {
	if len(args) == 0 {
		return false
	}
	switch args[0] {
	case "engine":
		ports, err := strconv.Atoi(args[1])
		if err != nil {
			fatal(err)
		}
		e, err := engine.Start(ports)
		if err != nil {
			fatal(err)
		}
		announce(e.Addrs())
		_, _ = io.Copy(io.Discard, os.Stdin) // until its end, however that comes
	case "fasthttp":
		serveOne(args[1:], peer.Fasthttp)
	case "net/http":
		serveOne(args[1:], peer.NetHTTP)
	default:
		return false
	}
	return true
}

func serveOne(addrs []string, serve func(net.Listener, []string) error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		fatal(err)
	}
	announce([]string{ln.Addr().String()})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until its end, however that comes
		os.Exit(0)
	}()
	fatal(serve(ln, addrs))
}

func announce(addrs []string) {
	if err := json.NewEncoder(os.Stdout).Encode(addrs); err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// within waits until a condition holds.
func within(d time.Duration, what string, holds func() bool) error {
	for end := time.Now().Add(d); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %v", what, d)
		}
	}
	return nil
}
