package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/fleetsim"
)

// progressEvery is how often a long simulation says how far it is.
const progressEvery = 5 * time.Second

// simulateFleet simulates what a scenario file says, prints the results, and draws them into a directory if one is named.
func simulateFleet(ctx context.Context, p *process, file, plots string) error {
	name, data, err := readFile(file, p.stdin)
	if err != nil {
		return usagef("%v", err)
	}
	scenario, problems := fleetsim.Parse(data)
	if len(problems) > 0 {
		for _, problem := range problems {
			fmt.Fprintf(p.stderr, "%s:%v\n", name, problem)
		}
		return fmt.Errorf("%s cannot be used", name)
	}
	if plots != "" { // said before the work is done, not after
		if err := os.MkdirAll(plots, 0o755); err != nil { //nolint:gosec // plots are for everybody to read
			return usagef("--svg: %v", err)
		}
	}
	began, said := time.Now(), time.Now()
	results, err := fleetsim.Sweep(ctx, scenario, func(done, of int) {
		if time.Since(said) >= progressEvery {
			said = time.Now()
			fmt.Fprintf(p.stderr, "%d of %d simulated after %v\n", done, of, time.Since(began).Round(time.Second))
		}
	})
	if err != nil {
		return fmt.Errorf("not simulated to the end: %w", err)
	}
	if err := fleetsim.Table(p.stdout, scenario, results); err != nil {
		return err
	}
	if plots == "" {
		return nil
	}
	var drawing bytes.Buffer
	if err := fleetsim.Plot(&drawing, scenario, results); err != nil {
		return err
	}
	base := filepath.Base(name)
	path := filepath.Join(plots, strings.TrimSuffix(base, filepath.Ext(base))+".svg")
	return os.WriteFile(path, drawing.Bytes(), 0o644) //nolint:gosec // as above
}
