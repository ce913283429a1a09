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

// watch takes samples until ctx ends.
func watch(ctx context.Context, g *gateway, l *load, every time.Duration) (samples []sample) {
	began := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	fmt.Printf("%8s %10s %12s %11s %6s %7s %10s %10s\n", "time", "RSS MiB", "live MiB", "goroutines", "files", "active", "requests", "sent")
	for {
		select {
		case <-ctx.Done():
			return samples
		case <-tick.C:
			s, err := g.read()
			if err != nil {
				fmt.Println("no sample:", err)
				continue
			}
			s.at = time.Since(began)
			samples = append(samples, s)
			fmt.Printf("%8v %10.1f %12.1f %11.0f %6.0f %7.0f %10.0f %10d\n", s.at.Round(time.Second), s.rss/(1<<20), s.heap/(1<<20), s.goroutines, s.files, s.active, s.requests, l.sent.Load())
		}
	}
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

// series is one of the figures over time, with how much of it is noise even if nothing grows.
type series struct {
	name  string
	unit  float64 // that it is printed in
	of    func(*sample) float64
	noise float64
}

// judge fits a line through the second half of each figure and prints what it says. A figure is flat if the line rises
// over that half by no more than a twentieth of its mean, or than its noise.
func judge(samples []sample) (flat bool) {
	half := samples[len(samples)/2:]
	if len(half) < 3 {
		fmt.Println("too few samples to say anything")
		return false
	}
	flat = true
	for _, f := range []series{
		{"RSS MiB", 1 << 20, func(s *sample) float64 { return s.rss }, 4 << 20},
		{"live heap MiB", 1 << 20, func(s *sample) float64 { return s.heap }, 1 << 20},
		{"goroutines", 1, func(s *sample) float64 { return s.goroutines }, 20},
		{"open files", 1, func(s *sample) float64 { return s.files }, 20},
	} {
		mean, rise := fit(half, f.of)
		verdict := "flat"
		if rise > max(mean/20, f.noise) {
			verdict, flat = "NOT FLAT", false
		}
		fmt.Printf("%-14s mean %.1f, fitted change over the last %v %+.2f (%+.1f %%): %s\n", f.name, mean/f.unit,
			(half[len(half)-1].at - half[0].at).Round(time.Second), rise/f.unit, 100*rise/math.Max(mean, 1), verdict)
	}
	return flat
}

// fit returns the mean of a figure and how much the line of least squares rises from the first sample to the last.
func fit(samples []sample, of func(*sample) float64) (mean, rise float64) {
	var t, v float64
	for i := range samples {
		t += samples[i].at.Seconds()
		v += of(&samples[i])
	}
	n := float64(len(samples))
	t, mean = t/n, v/n
	var tv, tt float64
	for i := range samples {
		d := samples[i].at.Seconds() - t
		tv += d * (of(&samples[i]) - mean)
		tt += d * d
	}
	if tt == 0 {
		return mean, 0
	}
	return mean, tv / tt * (samples[len(samples)-1].at - samples[0].at).Seconds()
}
