package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// engine starts a simulated engine for the length of a test.
func engine(t *testing.T, b sim.Behaviour) *sim.Engine {
	t.Helper()
	e, err := sim.Start("127.0.0.1:0", sim.Options{Behaviour: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func public(url string, more ...string) string {
	return fmt.Sprintf(`{"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q}]%s}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}]}]}`, url, strings.Join(more, ""))
}

// ask sends a request and returns its status and body.
func ask(t *testing.T, client *http.Client, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

const hello = `{"model": "m", "messages": [{"role": "user", "content": "hello"}]}`

func serveArgs(routes string, more ...string) []string {
	return append([]string{"serve", "--routes", routes, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--grace-period", "0s"}, more...)
}

// The file is watched: what is written takes effect, what is wrong does not and is logged, and a repair is seen.
func TestServeFollowsTheRoutesFile(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	routes := writeFile(t, public(e.URL()))
	var out output
	at, _ := running(t, &out, serveArgs(routes)...)
	status := func() int {
		status, _ := ask(t, http.DefaultClient, "POST", "http://"+at.data+"/v1/chat/completions", hello)
		return status
	}
	if got := status(); got != 200 {
		t.Fatalf("status %d: %s", got, out.String())
	}
	write := func(text string) {
		if err := os.WriteFile(routes, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"models": [`)
	gatewaytest.Eventually(t, "the mistake is logged", func() bool { return strings.Contains(out.String(), "the last good one keeps serving") })
	if got := status(); got != 200 {
		t.Errorf("status %d with a broken file", got)
	}
	told := func(what, want string) {
		t.Helper()
		gatewaytest.Eventually(t, "the metrics tell "+what, func() bool {
			_, scrape := ask(t, http.DefaultClient, "GET", "http://"+at.admin+"/metrics", "")
			return strings.Contains(scrape, want+"\n")
		})
	}
	const good = "gpustack_gateway_config_last_reload_successful"
	told("of the mistake", good+" 0")
	write(public(e.URL())) // which has served all the while
	told("that it is mended", good+" 1")
	if err := os.Remove(routes); err != nil {
		t.Fatal(err)
	}
	told("that the file is gone", `gpustack_gateway_config_reloads_total{result="unreadable"} 1`)
	told("that this is not well", good+" 0")
	write(public(e.URL()))
	told("that it is back", good+" 1")
	write(`{"routes": []}`)
	gatewaytest.Eventually(t, "the route is gone", func() bool { return status() == 401 })
	write(public(e.URL()))
	gatewaytest.Eventually(t, "the route is back", func() bool { return status() == 200 })
}

func TestServeReloadsAtSIGHUP(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	routes := writeFile(t, public(e.URL()))
	reload := make(chan os.Signal)
	ctx, cancel := context.WithCancel(context.Background())
	var out output
	ended := make(chan int, 1)
	started := make(chan addresses, 1)
	go func() {
		ended <- run(ctx, serveArgs(routes), &process{stdin: strings.NewReader(""), stdout: &out, stderr: &out, reload: reload,
			started: func(a addresses) { started <- a }})
	}()
	<-started
	if err := os.WriteFile(routes, []byte(`{"routes": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	reload <- os.Interrupt
	gatewaytest.Eventually(t, "it was read", func() bool { return strings.Contains(out.String(), `"generation":2`) })
	cancel()
	if status := <-ended; status != exitOK {
		t.Errorf("status %d", status)
	}
}

// With the signal readiness turns red while requests are still served; a stream finishes; then the process ends well.
func TestC066_ServeDrains(t *testing.T) {
	e := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 2}})
	var out output
	at, stop := running(t, &out, "serve", "--routes", writeFile(t, public(e.URL())), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--grace-period", "1s", "--drain-timeout", "300ms")
	if status, _ := ask(t, http.DefaultClient, "GET", "http://"+at.admin+"/readyz", ""); status != 200 {
		t.Errorf("readyz answers %d", status)
	}
	// A stream that never ends by itself.
	req, err := http.NewRequest("POST", "http://"+at.data+"/v1/chat/completions", strings.NewReader(`{"model": "m", "stream": true, "messages": [{"role": "user", "content": "hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stopped := make(chan int, 1)
	go func() { stopped <- stop() }()
	gatewaytest.Eventually(t, "readyz turns red", func() bool {
		status, _ := ask(t, http.DefaultClient, "GET", "http://"+at.admin+"/readyz", "")
		return status == 503
	})
	if status, body := ask(t, http.DefaultClient, "GET", "http://"+at.data+"/", ""); status != 200 {
		t.Errorf("in the grace period: %d %s", status, body)
	}
	if status := <-stopped; status != exitOK {
		t.Errorf("exit status %d", status)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream that was cut off looks as if it had ended")
	}
	if !strings.Contains(out.String(), `"cut":1`) {
		t.Errorf("%s", out.String())
	}
}

func TestServeRefusesToStart(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	good := writeFile(t, `{"routes": []}`)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a broken file": {serveArgs(writeFile(t, "{\n  \"routes\": [{\"name\": \"a\", \"targets\": [{\"model\": \"b\"}]}],\n  \"modles\": []\n}")),
			`routes.json:3:3: modles: is unknown here`},
		"no file":       {serveArgs(filepath.Join(t.TempDir(), "none.json")), "no such file"},
		"a busy port":   {[]string{"serve", "--routes", good, "--listen", busy.Addr().String(), "--admin-listen", "127.0.0.1:0"}, "address already in use"},
		"a certificate": {serveArgs(good, "--tls-cert", good, "--tls-key", good), "certificate"},
		"a variable": {serveArgs(writeFile(t, `{"providers": [{"name": "p", "type": "openai", "endpoint": "http://h", "api_token": "${NOT_SET_ANYWHERE}"}], "routes": []}`)),
			"NOT_SET_ANYWHERE"},
	} {
		status, _, stderr := command(t, "", test.args...)
		if status != exitFailed || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
	}
}

// Flags come from the environment, too, and win over it.
func TestServeEnvironment(t *testing.T) {
	t.Setenv("GPUSTACK_GATEWAY_ROUTES", writeFile(t, `{"routes": []}`))
	t.Setenv("GPUSTACK_GATEWAY_LISTEN", "127.0.0.1:0")
	t.Setenv("GPUSTACK_GATEWAY_ADMIN_LISTEN", "no address at all")
	t.Setenv("GPUSTACK_GATEWAY_LOG_LEVEL", "error")
	t.Setenv("GPUSTACK_GATEWAY_LOG_FORMAT", "console")
	var out output
	at, _ := running(t, &out, "serve", "--admin-listen", "127.0.0.1:0", "--log-level", "info", "--grace-period", "0s")
	if status, _ := ask(t, http.DefaultClient, "GET", "http://"+at.data+"/", ""); status != 200 {
		t.Errorf("status %d", status)
	}
	if text := out.String(); !strings.Contains(text, "serving") || strings.Contains(text, `"message"`) {
		t.Errorf("the log should be at info, for people: %s", text)
	}
}

func TestServeTLS(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	cert, key, pool := certificateFiles(t)
	var out output
	at, _ := running(t, &out, serveArgs(writeFile(t, public(e.URL())), "--tls-cert", cert, "--tls-key", key)...)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	if status, body := ask(t, client, "POST", "https://"+at.data+"/v1/chat/completions", hello); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

// An engine that fails its health check gets no request, and gets some again when it passes.
func TestServeChecksHealth(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	loading := sim.Behaviour{Status: 503}
	e.Set(loading)
	text := fmt.Sprintf(`{"models": [{"name": "m", "health_check": {"path": "/health", "interval": "20ms"}, "instances": [{"name": "m-1", "url": %q}]}],
		"routes": [{"name": "m", "access_policy": "public", "health": {"fail_open": false}, "targets": [{"model": "m"}]}]}`, e.URL())
	routes := writeFile(t, text)
	var out output
	at, _ := running(t, &out, serveArgs(routes)...)
	posted := func() (n int) {
		for _, r := range e.Requests() {
			if r.Method == "POST" {
				n++
			}
		}
		return n
	}
	gatewaytest.Eventually(t, "it is taken out", func() bool { return strings.Contains(out.String(), "failed its health check") })
	if status, body := ask(t, http.DefaultClient, "POST", "http://"+at.data+"/v1/chat/completions", hello); status != 503 || posted() != 0 {
		t.Errorf("%d %s, after %d requests", status, body, posted())
	}
	e.Set(sim.Behaviour{})
	gatewaytest.Eventually(t, "it is back", func() bool {
		status, _ := ask(t, http.DefaultClient, "POST", "http://"+at.data+"/v1/chat/completions", hello)
		return status == 200
	})
	// A check that is no longer wanted leaves nobody out.
	e.Set(loading)
	gatewaytest.Eventually(t, "it is taken out again", func() bool { return strings.Count(out.String(), "failed its health check") == 2 })
	if err := os.WriteFile(routes, []byte(strings.Replace(text, `"health_check": {"path": "/health", "interval": "20ms"}, `, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Eventually(t, "the engine is asked again", func() bool {
		ask(t, http.DefaultClient, "POST", "http://"+at.data+"/v1/chat/completions", hello)
		return posted() > 1
	})
}

// certificateFiles makes a certificate for loopback, and the pool that trusts it.
func certificateFiles(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gateway"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}
