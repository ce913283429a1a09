// Command soak runs the gateway at a steady load for a long time and says whether it grows.
//
// The gateway, the simulated engines and the load are three processes, so that the figures are the gateway's alone. First
// the load fills what the gateway remembers up to a bound, the makers of responses; then it goes on evenly: streams and
// whole answers of three APIs, clients that leave, engines that break, a routes file that changes. A line is printed for
// every sample. The verdict is a line fitted through the second half of the samples.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// settings are the flags.
type settings struct {
	gateway string        // the binary
	total   time.Duration // of the steady load
	sample  time.Duration // between two samples
	rate    int           // requests a second
	fill    int           // responses made before
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "engines" {
		serveEngines()
		return
	}
	var s settings
	flag.StringVar(&s.gateway, "gateway", "bin/gpustack-gateway", "the gateway's binary")
	flag.DurationVar(&s.total, "for", 10*time.Minute, "how long the load is steady")
	flag.DurationVar(&s.sample, "every", 0, "time between two samples, each the mean of several readings; 0 takes 60 of them")
	flag.IntVar(&s.rate, "rate", 150, "requests a second")
	flag.IntVar(&s.fill, "fill", 100_000, "responses that are made before, so that the memory of who made them is full")
	flag.Parse()
	if s.sample <= 0 {
		s.sample = s.total / 60
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &s); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

var errGrows = errors.New("not flat")

// run starts everything, loads, and judges.
func run(ctx context.Context, s *settings) error {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	engines, err := startEngines(ctx)
	if err != nil {
		return err
	}
	defer engines.stop()
	g, err := startGateway(ctx, s.gateway, dir, engines.urls)
	if err != nil {
		return err
	}
	defer g.stop()

	l := newLoad(g.data)
	began := time.Now()
	l.fill(ctx, s.fill)
	fmt.Printf("%d responses made in %v, to be remembered\n", s.fill, time.Since(began).Round(time.Second))
	fmt.Printf("now %d requests a second for %v\n", s.rate, s.total)

	loading, done := context.WithTimeout(ctx, s.total)
	defer done()
	go g.edit(loading)
	ended := make(chan struct{})
	go func() { defer close(ended); l.steady(loading, s.rate) }()
	samples := watch(loading, g, l, s.sample)
	<-ended
	l.report()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err := g.idle(); err != nil {
		return err
	}
	if !judge(samples) {
		return errGrows
	}
	return nil
}
