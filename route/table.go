package route

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Table holds the snapshot that serves. Load may be called from any goroutine; Reload calls are serialised by the table.
type Table struct {
	path    string
	options Options

	current atomic.Pointer[Snapshot]
	status  atomic.Pointer[Status]

	reloading sync.Mutex
}

// Status is how the last Reload ended.
type Status struct {
	Time     time.Time // of the Reload; zero before the first one
	Err      error     // the file could not be read
	Refused  bool      // it has a problem at file level, and what served before still does
	Problems []Problem // of the file as it was then
}

// NewTable returns a table of the routes file at path, empty until the first Reload.
func NewTable(path string, o Options) *Table {
	t := &Table{path: path, options: o}
	t.status.Store(&Status{})
	return t
}

// Load returns the snapshot that serves, nil before the first successful Reload.
func (t *Table) Load() *Snapshot { return t.current.Load() }

// Status returns how the last Reload ended.
func (t *Table) Status() Status { return *t.status.Load() }

// Reload reads the file. If its bytes differ from those that serve and it has no problem at file level, what is built
// from it replaces what serves. problems are those of the file as it is now, changed or not, so that they can be shown
// again. err is that the file can't be read. Whatever goes wrong, what serves is what it was before.
func (t *Table) Reload() (changed bool, problems []Problem, err error) {
	t.reloading.Lock()
	defer t.reloading.Unlock()
	status := Status{Time: time.Now()}
	defer func() { t.status.Store(&status) }()

	data, err := os.ReadFile(t.path)
	if err != nil {
		status.Err = err
		return false, nil, err
	}
	serving := t.Load()
	if serving != nil && bytes.Equal(data, serving.text) {
		status.Problems = serving.problems
		return false, serving.problems, nil
	}
	next, problems := Load(t.path, data, t.options)
	status.Problems = problems
	if next == nil {
		status.Refused = true
		return false, problems, nil
	}
	next.Generation, next.Loaded = 1, status.Time
	if serving != nil {
		next.Generation = serving.Generation + 1
	}
	t.current.Store(next)
	t.options.Fleet.Adopt(next.engines, next.names()...)
	if t.options.OnSwap != nil {
		t.options.OnSwap(next)
	}
	return true, problems, nil
}

// names returns the names of the routes.
func (s *Snapshot) names() []string {
	names := make([]string, len(s.routes))
	for i, r := range s.routes {
		names[i] = r.Name
	}
	return names
}
