//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// The first signal drains. The second ends the process, whatever still runs.
func TestC066_SecondSignal(t *testing.T) {
	if os.Getenv("GATEWAY_TEST_SERVE") != "" { // the process that is signalled
		os.Args = append(os.Args[:1], "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--grace-period", "1h")
		main()
	}
	e := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}})
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		p := exec.Command(os.Args[0], "-test.run=^TestC066_SecondSignal$")
		p.Env = append(os.Environ(), "GATEWAY_TEST_SERVE=1", "GPUSTACK_GATEWAY_ROUTES="+writeFile(t, public(e.URL())))
		stdout, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		until := func(word string) string {
			for lines.Scan() {
				if strings.Contains(lines.Text(), word) {
					return lines.Text()
				}
			}
			t.Fatalf("the process said nothing of %q", word)
			return ""
		}
		_, at, _ := strings.Cut(until(`"message":"serving"`), `"listen":"`)
		at, _, _ = strings.Cut(at, `"`)
		before, over := e.Received(), make(chan struct{})
		go func() { // a request that never ends by itself
			defer close(over)
			resp, err := http.Post("http://"+at+"/v1/chat/completions", "application/json", strings.NewReader(`{"model": "m", "messages": [{"role": "user", "content": "hello"}]}`))
			if err == nil {
				resp.Body.Close()
			}
		}()
		e.WaitRequests(before + 1)
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		until(`"message":"draining"`)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, stdout) // to the end of the process
		}()
		gatewaytest.Eventually(t, "the process ends", func() bool {
			_ = p.Process.Signal(sig) // again, in case the first one is still being taken in; it may have ended already
			select {
			case <-ended:
				return true
			case <-time.After(20 * time.Millisecond):
				return false
			}
		})
		if err := p.Wait(); err == nil || p.ProcessState.Success() {
			t.Errorf("after a second %v: %v", sig, p.ProcessState)
		}
		<-over
	}
}
