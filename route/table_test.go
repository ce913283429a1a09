package route

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// tableTest is a table over a file that a test writes.
type tableTest struct {
	*Table
	t     *testing.T
	fleet *lb.Fleet
	swaps []*Snapshot
}

func newTableTest(t *testing.T, kinds ...plugins.Kind) *tableTest {
	t.Helper()
	x := &tableTest{t: t}
	o := testOptions()
	o.Kinds = append(o.Kinds, kinds...)
	x.fleet = o.Fleet
	o.OnSwap = func(s *Snapshot) {
		if x.Load() != s {
			t.Error("OnSwap is called before the snapshot serves")
		}
		x.swaps = append(x.swaps, s)
	}
	x.Table = NewTable(filepath.Join(t.TempDir(), "routes.json"), o)
	return x
}

func (x *tableTest) write(text string) {
	x.t.Helper()
	if err := os.WriteFile(x.path, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// reload writes a file that is expected to serve, or not to change anything.
func (x *tableTest) reload(text string, changed bool) *Snapshot {
	x.t.Helper()
	x.write(text)
	got, problems, err := x.Reload()
	if err != nil || got != changed || x.Status().Refused {
		x.t.Fatalf("changed %v, %v, %v", got, problems, err)
	}
	return x.Load()
}

const tableFile = `{
	"models": [
		{ "name": "a", "instances": [ { "name": "a-1", "url": "http://10.0.0.1" }, { "name": "a-2", "url": "http://10.0.0.2" } ] },
		{ "name": "b", "instances": [ { "name": "b-1", "url": "http://10.0.0.3" } ] }
	],
	"routes": [ { "name": "r", "targets": [ { "model": "a" }, { "model": "b" } ], "policies": { "least_inflight": {} } } ]
}`

func TestTable(t *testing.T) {
	x := newTableTest(t)
	if _, _, err := x.Reload(); !errors.Is(err, fs.ErrNotExist) || x.Load() != nil || !errors.Is(x.Status().Err, fs.ErrNotExist) {
		t.Fatalf("no file: %v, %v", err, x.Load())
	}
	before := time.Now()
	s := x.reload(tableFile, true)
	if s.Generation != 1 || s.Loaded.Before(before) || s.Loaded.After(time.Now()) || !x.Status().Time.Equal(s.Loaded) {
		t.Errorf("generation %d at %v", s.Generation, s.Loaded)
	}
	if same := x.reload(tableFile, false); same != s {
		t.Error("the same bytes make another snapshot")
	}
	if s = x.reload(tableFile+"\n", true); s.Generation != 2 {
		t.Errorf("generation %d", s.Generation)
	}
	if len(x.swaps) != 2 || x.swaps[1] != s {
		t.Errorf("swapped %d times", len(x.swaps))
	}
}

// Test that warnings and unusable routes are told at every reload, changed or not.
func TestTableTellsAgain(t *testing.T) {
	x := newTableTest(t)
	x.write(strings.Replace(tableFile, `{ "model": "b" }`, `{ "model": "b", "weight": 1 }`, 1))
	for i := range 2 {
		changed, problems, err := x.Reload()
		if changed != (i == 0) || err != nil || len(problems) != 2 || problems[0].Level != RouteError || problems[0].Route != "r" {
			t.Errorf("changed %v, %v, %v", changed, problems, err)
		}
	}
	if r := x.Load().Route([]byte("r")); r == nil || r.Pool != nil || r.Reason == "" {
		t.Errorf("got %+v", r)
	}
}

// Test that a file that can't be used changes nothing, and that the gateway recovers by itself.
func TestC060BadFile(t *testing.T) {
	x := newTableTest(t, plugins.Kind{Name: "panics", Weight: 1, Schema: `{"type": "object"}`,
		Build: func(*plugins.Spec) lb.Voter { panic("oh") }})
	good := x.reload(tableFile, true)
	engines := fmt.Sprint(x.fleet.Engines())
	for what, text := range map[string]string{
		"empty":            "",
		"half-written":     tableFile[:len(tableFile)/2],
		"a byte missing":   tableFile[:len(tableFile)-1],
		"wrong type":       strings.Replace(tableFile, `"r"`, `5`, 1),
		"route name twice": strings.Replace(tableFile, `"routes": [`, `"routes": [ { "name": "r", "targets": [ { "model": "a" } ] },`, 1),
		"unknown target":   strings.Replace(tableFile, `{ "model": "b" }`, `{ "model": "c" }`, 1),
		"unset variable": strings.Replace(tableFile, `"routes"`,
			`"providers": [ { "name": "p", "type": "openai", "endpoint": "http://p", "api_token": "${UNSET}" } ], "routes"`, 1),
		"plugin that panics": strings.Replace(tableFile, `"least_inflight"`, `"panics"`, 1),
	} {
		x.write(text)
		for range 2 { // it is told as often as it is asked
			changed, problems, err := x.Reload()
			status := x.Status()
			if changed || err != nil || !refused(problems) || !status.Refused || len(status.Problems) != len(problems) {
				t.Errorf("%s: changed %v, %v, %v", what, changed, problems, err)
			}
		}
		if x.Load() != good || fmt.Sprint(x.fleet.Engines()) != engines {
			t.Errorf("%s: something else serves", what)
		}
		x.reload(tableFile, false)
		if status := x.Status(); status.Refused || status.Err != nil || x.Load() != good {
			t.Errorf("%s: not recovered: %+v", what, status)
		}
	}
	if err := os.Remove(x.path); err != nil {
		t.Fatal(err)
	}
	if _, problems, err := x.Reload(); err == nil || problems != nil || x.Load() != good || x.Status().Err == nil {
		t.Errorf("no file: %v", err)
	}
	if s := x.reload(tableFile+" ", true); s.Generation != 2 {
		t.Errorf("generation %d", s.Generation)
	}
}

// Test that a reload keeps what is happening: requests in flight at engines that stay, and whose turn it is.
func TestC045ReloadKeepsCounts(t *testing.T) {
	x := newTableTest(t)
	s := x.reload(tableFile, true)
	var streams []*lb.Lease
	for range 30 { // ten on each
		l := &lb.Lease{}
		if err := s.Routes()[0].Pool.Pick(&lb.Request{}, l, time.Now()); err != nil {
			t.Fatal(err)
		}
		streams = append(streams, l)
	}
	counts := func(s *Snapshot) map[string]int64 {
		n := map[string]int64{}
		for i, c := range s.Routes()[0].Pool.Candidates() {
			n[s.Routes()[0].Upstreams[i].Instance] = c.Engine.Inflight()
		}
		return n
	}
	want := fmt.Sprint(counts(s))
	for i := range 5 {
		next := x.reload(tableFile+strings.Repeat(" ", i+1), true)
		for c := range next.Routes()[0].Pool.Candidates() {
			if next.Routes()[0].Pool.Candidates()[c].Engine != s.Routes()[0].Pool.Candidates()[c].Engine {
				t.Error("another engine of the same url")
			}
		}
		if got := fmt.Sprint(counts(next)); got != want {
			t.Errorf("in flight are %s, want %s", got, want)
		}
	}
	// An instance leaves while it has requests, and comes back before they have ended.
	without := strings.Replace(tableFile, `, { "name": "a-2", "url": "http://10.0.0.2" }`, "", 1)
	x.reload(without, true)
	if got := counts(x.Load()); len(got) != 2 || got["a-1"] != 10 {
		t.Errorf("in flight are %v", got)
	}
	x.reload(tableFile, true)
	if got := fmt.Sprint(counts(x.Load())); got != want {
		t.Errorf("in flight are %s, want %s", got, want)
	}
	for _, l := range streams {
		l.Done(lb.Served, time.Now())
	}
	for name, n := range counts(x.Load()) {
		if n != 0 {
			t.Errorf("%s still has %d", name, n)
		}
	}
}

// Test that turns go on where they were.
func TestC045ReloadKeepsTurns(t *testing.T) {
	x := newTableTest(t)
	file := strings.Replace(tableFile, `, "policies": { "least_inflight": {} }`, "", 1)
	picked := map[string]int{}
	for i := range 40 {
		s := x.reload(file+strings.Repeat("\n", i), true)
		r := s.Routes()[0]
		var l lb.Lease
		if err := r.Pool.Pick(&lb.Request{}, &l, time.Now()); err != nil {
			t.Fatal(err)
		}
		picked[r.Upstreams[l.Index()].Instance]++
		l.Done(lb.Served, time.Now())
	}
	if picked["a-1"] != 10 || picked["a-2"] != 10 || picked["b-1"] != 20 {
		t.Errorf("picked %v", picked)
	}
}

// Test that reloads and readers don't meet: run with the race detector.
func TestTableConcurrent(t *testing.T) {
	x := newTableTest(t)
	x.options.OnSwap = nil
	x.reload(tableFile, true)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				s := x.Load()
				var l lb.Lease
				if err := s.Route([]byte("r")).Pool.Pick(&lb.Request{}, &l, time.Now()); err != nil {
					t.Error(err)
				}
				l.Done(lb.Served, time.Now())
				_ = x.Status()
			}
		})
	}
	for i := range 50 {
		x.write(tableFile + strings.Repeat(" ", i%3))
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { _, _, _ = x.Reload() })
		}
		both.Wait()
	}
	close(done)
	wg.Wait()
	if s := x.Load(); s.Generation != 50 {
		t.Errorf("generation %d", s.Generation)
	}
	for _, e := range x.fleet.Engines() {
		if e.Inflight() != 0 {
			t.Errorf("%s has %d in flight", e.URL(), e.Inflight())
		}
	}
}
