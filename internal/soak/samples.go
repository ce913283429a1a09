package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sample is the gateway at one moment, as its metrics say.
type sample struct {
	at         time.Duration // since the load became steady
	rss        float64       // bytes
	heap       float64       // bytes that the last collection found in use
	goroutines float64
	files      float64 // open, sockets among them
	active     float64 // requests being served
	requests   float64 // ended so far
}

// read asks the gateway for its metrics.
func (g *gateway) read() (s sample, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.admin+"/metrics", http.NoBody)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if i := strings.IndexByte(name, '{'); i >= 0 {
			name, value = name[:i], lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:]
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue // a comment
		}
		switch name {
		case "process_resident_memory_bytes":
			s.rss = n
		case "go_memstats_next_gc_bytes":
			s.heap = n / 2 // the next collection is due at twice of what the last one found (GOGC=100)
		case "go_goroutines":
			s.goroutines = n
		case "process_open_fds":
			s.files = n
		case "gpustack_gateway_active_requests":
			s.active = n
		case "gpustack_gateway_requests_total":
			s.requests += n
		}
	}
	return s, lines.Err()
}

// reads is how many readings are one sample. What is in flight at one moment, large bodies among it, moves the heap far
// more than any leak does in minutes; their mean is steadier.
const reads = 10

// watch takes samples until ctx ends.
func watch(ctx context.Context, g *gateway, l *load, every time.Duration) (samples []sample) {
	began := time.Now()
	tick := time.NewTicker(every / reads)
	defer tick.Stop()
	fmt.Printf("%8s %10s %12s %11s %6s %7s %10s %10s\n", "time", "RSS MiB", "live MiB", "goroutines", "files", "active", "requests", "sent")
	var readings []sample
	for {
		select {
		case <-ctx.Done():
			return samples
		case <-tick.C:
			s, err := g.read()
			if err != nil {
				fmt.Println("no reading:", err)
				continue
			}
			s.at = time.Since(began)
			if readings = append(readings, s); len(readings) < reads {
				continue
			}
			s = mean(readings)
			readings = readings[:0]
			samples = append(samples, s)
			fmt.Printf("%8v %10.1f %12.1f %11.0f %6.0f %7.0f %10.0f %10d\n", s.at.Round(time.Second), s.rss/(1<<20), s.heap/(1<<20), s.goroutines, s.files, s.active, s.requests, l.sent.Load())
		}
	}
}

// mean is the mean of some readings, at the time of the last.
func mean(readings []sample) (m sample) {
	n := float64(len(readings))
	for i := range readings {
		r := &readings[i]
		m.rss += r.rss / n
		m.heap += r.heap / n
		m.goroutines += r.goroutines / n
		m.files += r.files / n
		m.active += r.active / n
		m.at, m.requests = r.at, r.requests
	}
	return m
}

// idle checks that nothing is in flight once the load has ended, and prints what the gateway holds then.
func (g *gateway) idle() error {
	var s sample
	var err error
	for range 30 {
		if s, err = g.read(); err == nil && s.active == 0 {
			fmt.Printf("after the load: %.0f goroutines, %.0f open files, %.1f MiB RSS, nothing in flight; %d lines in the access log\n", s.goroutines, s.files, s.rss/(1<<20), g.logged.Load())
			return nil
		}
		time.Sleep(time.Second)
	}
	return errors.Join(err, fmt.Errorf("%.0f requests are still active", s.active))
}

// series is one of the figures over time, with the rise that does not matter even where the mean is small.
type series struct {
	name  string
	unit  float64 // that it is printed in
	of    func(*sample) float64
	small float64
}

// judge fits a line through the second half of each figure and prints what it says. A figure is not flat if the line
// rises over that half by more than a twentieth of its mean, and so clearly (three standard errors) that it is no
// accident of when the samples were taken.
func judge(samples []sample) (flat bool) {
	half := samples[len(samples)/2:]
	if len(half) < 5 {
		fmt.Println("too few samples to say anything")
		return false
	}
	flat = true
	for _, f := range []series{
		{"RSS MiB", 1 << 20, func(s *sample) float64 { return s.rss }, 1 << 20},
		{"live heap MiB", 1 << 20, func(s *sample) float64 { return s.heap }, 1 << 19},
		{"goroutines", 1, func(s *sample) float64 { return s.goroutines }, 5},
		{"open files", 1, func(s *sample) float64 { return s.files }, 5},
	} {
		l := fit(half, f.of)
		verdict := "flat"
		if l.rise > max(l.mean/20, f.small) && l.rise > 3*l.err {
			verdict, flat = "NOT FLAT", false
		}
		fmt.Printf("%-14s mean %.1f, fitted change over the last %v %+.2f +- %.2f (%+.1f %%): %s\n", f.name, l.mean/f.unit,
			(half[len(half)-1].at - half[0].at).Round(time.Second), l.rise/f.unit, l.err/f.unit, 100*l.rise/math.Max(l.mean, 1), verdict)
	}
	return flat
}

// line is a line of least squares: the mean, how much it rises from the first sample to the last, and the standard error
// of that, as simple linear regression has it.
type line struct{ mean, rise, err float64 }

func fit(samples []sample, of func(*sample) float64) (l line) {
	var t float64
	for i := range samples {
		t += samples[i].at.Seconds()
		l.mean += of(&samples[i])
	}
	n := float64(len(samples))
	t, l.mean = t/n, l.mean/n
	var tv, tt float64
	for i := range samples {
		d := samples[i].at.Seconds() - t
		tv += d * (of(&samples[i]) - l.mean)
		tt += d * d
	}
	if tt == 0 || n < 3 {
		return l
	}
	slope, rest := tv/tt, 0.0
	for i := range samples {
		r := of(&samples[i]) - l.mean - slope*(samples[i].at.Seconds()-t)
		rest += r * r
	}
	span := (samples[len(samples)-1].at - samples[0].at).Seconds()
	l.rise, l.err = slope*span, math.Sqrt(rest/(n-2)/tt)*span
	return l
}
