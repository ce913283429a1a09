package gateway_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a gateway costs is measured in a process that holds nothing but the gateway. Its clients and its upstream are
// another process: this test binary, started with loadEnv set, taking commands line by line.
const loadEnv = "GATEWAY_TEST_LOAD"

// load is that process, as the tests see it.
type load struct {
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Reader
	url string // of its upstream
}

func startLoad(t testing.TB) *load {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), loadEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l := &load{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	l.url = "http://" + l.answer()
	return l
}

// do has a command carried out and waits until it is.
func (l *load) do(format string, args ...any) {
	l.t.Helper()
	fmt.Fprintf(l.in, format+"\n", args...)
	if a := l.answer(); a != "done" {
		l.t.Fatalf("%s: %s", fmt.Sprintf(format, args...), a)
	}
}

func (l *load) answer() string {
	l.t.Helper()
	line, err := l.out.ReadString('\n')
	if err != nil {
		l.t.Fatalf("the process that makes the load: %v", err)
	}
	return strings.TrimSpace(line)
}

// world is that process from within.
type world struct {
	mu    sync.Mutex
	end   chan struct{} // closed when the streams are to end
	conns []net.Conn    // of the clients
	last  sync.WaitGroup
}

// runLoad carries out commands until there are no more: "streams N SIZE ADDR" opens streams with requests of a size at
// a gateway and keeps them going slowly, "posts N SIZE ADDR" sends requests that are answered at once and keeps the
// connections, "heads" does the same with headers of a size, "end" ends what there is.
func runLoad(commands io.Reader, answers io.Writer) int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(answers, err)
		return 1
	}
	w := &world{end: make(chan struct{})}
	go w.serve(ln)
	fmt.Fprintln(answers, ln.Addr())
	for s := bufio.NewScanner(commands); s.Scan(); {
		var what, addr string
		var n, size int
		_, _ = fmt.Sscan(s.Text(), &what, &n, &size, &addr)
		err := errors.New("unknown command")
		switch what {
		case "streams": // with as much of a head as coding agents send
			err = w.open(n, post(chat, padBody(true, size), padding(3000, false)...), addr)
		case "posts":
			err = w.open(n, post(chat, padBody(false, size)), addr)
		case "heads":
			err = w.open(n, post(chat, padBody(false, 100), padding(size, false)...), addr)
		case "end":
			err = w.finish()
		}
		if err != nil {
			fmt.Fprintln(answers, err)
			continue
		}
		fmt.Fprintln(answers, "done")
	}
	return 0
}

// padBody is a chat of about a size.
func padBody(stream bool, size int) string {
	return fmt.Sprintf(`{"model": "m", "stream": %v, "messages": [{"role": "user", "content": "%s"}]}`, stream, strings.Repeat("x", size))
}

// open opens connections with one request each, a few at a time, and waits until each has been answered, or has the first
// event of its stream.
func (w *world) open(n int, request, addr string) error {
	few := make(chan struct{}, 8)
	results := make(chan error, n)
	for range n {
		go func() {
			few <- struct{}{}
			err := w.one(request, addr)
			<-few
			results <- err
		}()
	}
	var err error
	for range n {
		err = errors.Join(err, <-results)
	}
	return err
}

func (w *world) one(request, addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.conns = append(w.conns, c)
	w.mu.Unlock()
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil || resp.StatusCode != 200 {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	w.last.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) }) // to its end
	return nil
}

// finish ends streams and connections.
func (w *world) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.end)
	w.end = make(chan struct{})
	w.last.Wait()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
	return nil
}

// serve is the upstream.
func (w *world) serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for r := bufio.NewReader(c); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				start := make([]byte, 40)
				if _, err := io.ReadFull(req.Body, start); err != nil {
					return
				}
				if _, err := io.Copy(io.Discard, req.Body); err != nil {
					return
				}
				if !strings.Contains(string(start), `"stream": true`) {
					io.WriteString(c, whole("", "{}"))
				} else if w.stream(c) != nil {
					return
				}
			}
		}()
	}
}

// stream is a slow stream.
func (w *world) stream(c net.Conn) error {
	w.mu.Lock()
	end := w.end
	w.mu.Unlock()
	_, err := io.WriteString(c, streamHead)
	event := chunk(events(strings.Repeat("x", 180)))
	for tick := time.NewTicker(200 * time.Millisecond); err == nil; {
		if _, err = io.WriteString(c, event); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-end:
			tick.Stop()
			_, err = io.WriteString(c, lastChunk)
			return err
		}
	}
	return err
}
