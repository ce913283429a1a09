// Package filewatch tells that a file may have changed, never what has changed in it.
//
// A file has more ways to change than being written: editors rename a new one over it, and a ConfigMap volume swaps a
// symbolic link two levels up. So what is watched is never the file but every directory in which a name on the way to
// it can be replaced, and a slow poll looks where events do not reach: network file systems, directories further up,
// systems without a free watch.
package filewatch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	pollInterval = 2 * time.Second       // how late a change is noticed at the most
	burst        = 50 * time.Millisecond // changes within it are told as one
)

// Watch tells, by a value on the channel, that the file at path may have changed: written, replaced, created or
// removed, directly or behind symbolic links. The file need not exist. The first value comes at once, because the file
// may have changed since the caller read it. Values that nobody has taken yet are told as one. When ctx ends the
// channel falls silent; it is never closed, so that a select on it does not spin.
func Watch(ctx context.Context, path string) <-chan struct{} {
	w := newWatch(path)
	go w.keep(ctx)
	return w.changed
}

type watch struct {
	path    string
	changed chan struct{}

	poll   time.Duration
	stat   func(string) (fs.FileInfo, error)
	events func() (*fsnotify.Watcher, error)
}

func newWatch(path string) *watch {
	return &watch{
		path: path, changed: make(chan struct{}, 1), poll: pollInterval,
		stat: os.Stat, events: fsnotify.NewWatcher,
	}
}

// keep watches until ctx ends. A fault in it costs a poll's time, not the process.
func (w *watch) keep(ctx context.Context) {
	for {
		w.once(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.poll):
		}
	}
}

// once watches until ctx ends or something panics.
func (w *watch) once(ctx context.Context) {
	defer func() { _ = recover() }() // keep starts again, which tells the caller to look
	path, err := filepath.Abs(w.path)
	if err != nil {
		path = w.path // the working directory is gone; the poll notices if it comes back
	}
	s := session{watch: w, path: path}
	if s.notify, err = w.events(); err != nil {
		s.notify = nil // no events to be had: the poll does it alone
	} else {
		defer func() { _ = s.notify.Close() }() // nothing was written through it
	}
	s.run(ctx)
}

// session is one run of a watch, from its start to the end of its context.
type session struct {
	*watch
	path   string
	notify *fsnotify.Watcher // nil: poll only

	places map[string]place // by directory
	last   fs.FileInfo      // of the file at the last look; nil: it was not there
}

// place is a directory that is watched for some of its names.
type place struct {
	names []string
	dir   fs.FileInfo // nil: not watched
}

func (s *session) run(ctx context.Context) {
	s.look()
	s.tell()
	poll := time.NewTicker(s.poll)
	defer poll.Stop()
	var events chan fsnotify.Event
	var faults chan error
	if s.notify != nil {
		events, faults = s.notify.Events, s.notify.Errors
	}
	var settled <-chan time.Time // fires at the end of a burst; nil: there is none
	for {
		touched := false
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			if s.look() {
				s.tell()
			}
		case e, open := <-events:
			if !open {
				events = nil
			}
			touched = open && s.concerns(e)
		case _, open := <-faults:
			if !open {
				faults = nil
			}
			touched = open // events may have been lost
		case <-settled:
			settled = nil
			s.look()
			s.tell()
		}
		// The time runs from the first event, not the last: a file that is written to all the time is told of too.
		if touched && settled == nil {
			settled = time.After(burst)
		}
	}
}

// tell never blocks: a value that still waits says the same.
func (s *session) tell() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// concerns reports whether an event is about a name on the way to the file, or about a watched directory itself.
func (s *session) concerns(e fsnotify.Event) bool {
	if _, watched := s.places[e.Name]; watched {
		return true
	}
	dir, name := filepath.Split(e.Name)
	return slices.Contains(s.places[filepath.Clean(dir)].names, name)
}

// look moves the watches to where the file's way leads now, and reports whether the file differs from the last look.
// The watches come first: what happens between them and the look at the file is told by an event too.
func (s *session) look() bool {
	s.follow(trace(s.path))
	now, err := s.stat(s.path)
	if err != nil {
		now = nil
	}
	before := s.last
	s.last = now
	return !same(before, now)
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.Mode() == b.Mode() && a.ModTime().Equal(b.ModTime())
}

// follow watches the given directories and no others. A directory that cannot be watched is tried again at the next
// look. A directory that was replaced by another of its name is watched anew.
func (s *session) follow(names map[string][]string) {
	if s.notify == nil {
		return
	}
	watched := s.notify.WatchList()
	places := make(map[string]place, len(names))
	for dir, n := range names {
		p := place{names: n}
		old := s.places[dir].dir
		if now, err := s.stat(dir); err == nil {
			if old != nil && os.SameFile(old, now) && slices.Contains(watched, dir) {
				p.dir = old
			} else {
				_ = s.notify.Remove(dir) // it may not be watched at all
				if s.notify.Add(dir) == nil {
					p.dir = now
				}
			}
		}
		places[dir] = p
	}
	for _, dir := range watched {
		if places[dir].dir == nil {
			_ = s.notify.Remove(dir) // it may be gone already
		}
	}
	s.places = places
}
