// Package probe asks engines at an interval whether they are well, so that one which loads or hangs is known before a
// request is spent on it.
package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// maxWait bounds how long an engine may take to say that it is well. It is also never longer than the interval.
const maxWait = 5 * time.Second

// Check is one engine's health check.
type Check struct {
	Engine   string        // what the result is reported for
	URL      string        // asked with GET; any 2xx is well
	Interval time.Duration // between two questions; positive
}

// Prober asks the checks it was last given, each from a goroutine of its own.
type Prober struct {
	client *http.Client
	report func(engine string, err error)

	mu      sync.Mutex
	running map[Check]context.CancelFunc
	closed  bool
	all     sync.WaitGroup
}

// New returns a prober without checks. report is told every result, nil if the engine is well, from several goroutines;
// for one engine never two at once. The TLS configuration is what https engines are asked with; nil means the system's
// roots.
func New(config *tls.Config, report func(engine string, err error)) *Prober {
	return &Prober{
		client: &http.Client{
			Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
			// An engine that sends its checker elsewhere has not said that it is well.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		report:  report,
		running: map[Check]context.CancelFunc{},
	}
}

// Set replaces the checks. One that was there before goes on undisturbed; a new one asks at once. What is asked at this
// moment for a check that is gone is not reported any more.
func (p *Prober) Set(checks []Check) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := make(map[Check]bool, len(checks))
	for _, c := range checks {
		wanted[c] = true
		if p.running[c] == nil && !p.closed {
			ctx, cancel := context.WithCancel(context.Background())
			p.running[c] = cancel
			p.all.Add(1)
			go p.run(ctx, c)
		}
	}
	for c, cancel := range p.running {
		if !wanted[c] {
			cancel()
			delete(p.running, c)
		}
	}
}

// Close ends all checks and waits for those that are being asked.
func (p *Prober) Close() {
	p.Set(nil)
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.all.Wait()
	p.client.CloseIdleConnections()
}

func (p *Prober) run(ctx context.Context, c Check) {
	defer p.all.Done()
	ticker := time.NewTicker(c.Interval)
	defer ticker.Stop()
	for {
		err := p.ask(ctx, c)
		if ctx.Err() != nil {
			return
		}
		p.report(c.Engine, err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ask asks once. A panic inside is a failed check, not the end of the process.
func (p *Prober) ask(ctx context.Context, c Check) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the health check failed on a fault of the gateway: %v", fault)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, min(c.Interval, maxWait))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
			return errors.New("no answer in time")
		}
		return err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	_ = resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
