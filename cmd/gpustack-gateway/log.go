package main

import (
	"bufio"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// logFlags say what is logged and how. The access log is the lines at level info whose message is "request".
type logFlags struct {
	LogLevel  string `help:"Lowest level that is logged: ${enum}. One line a request is at info." enum:"debug,info,warn,error" default:"info" env:"GPUSTACK_GATEWAY_LOG_LEVEL" placeholder:"LEVEL"`
	LogFormat string `help:"How lines look: ${enum}." enum:"json,console" default:"json" env:"GPUSTACK_GATEWAY_LOG_FORMAT" placeholder:"FORMAT"`
}

// logger returns the logger that the flags describe, and what writes out the lines that it still holds.
func (f logFlags) logger(w io.Writer) (log zerolog.Logger, flush func()) {
	level, err := zerolog.ParseLevel(f.LogLevel)
	if err != nil {
		level = zerolog.InfoLevel // the command line accepts only levels that parse
	}
	if f.LogFormat == "console" { // a person looks on
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000", NoColor: !terminal(w)}
		return zerolog.New(w).Level(level).Hook(stamp{}), func() {}
	}
	lines := newLogWriter(w)
	return zerolog.New(lines).Level(level).Hook(stamp{}), lines.flush
}

// terminal reports whether what is written is shown to somebody.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// stamp puts the time into a line, to the millisecond. The logger's own is to the second, unless a variable of its package
// is changed for everybody.
type stamp struct{}

// Run implements zerolog.Hook.
func (stamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	var text [len("2006-01-02T15:04:05.000Z")]byte
	e.Bytes(zerolog.TimestampFieldName, time.Now().UTC().AppendFormat(text[:0], "2006-01-02T15:04:05.000Z"))
}

// What a log holds back at most. A line of its own for each request would be a system call for each, which is a tenth of
// what a small request costs; nobody reads a log faster than this.
const (
	heldBytes = 64 << 10
	heldTime  = 100 * time.Millisecond
)

// logWriter writes lines in batches, those above info at once and with them all that came before.
type logWriter struct {
	to io.Writer

	mu      sync.Mutex
	held    *bufio.Writer
	pending bool // a flush is on its way
}

func newLogWriter(w io.Writer) *logWriter {
	return &logWriter{to: w, held: bufio.NewWriterSize(w, heldBytes)}
}

// Write implements io.Writer for lines without a level.
func (l *logWriter) Write(line []byte) (int, error) { return l.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel implements zerolog.LevelWriter.
func (l *logWriter) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.held.Write(line)
	switch {
	case err != nil:
	case level > zerolog.InfoLevel:
		err = l.held.Flush()
	case !l.pending:
		l.pending = true
		time.AfterFunc(heldTime, l.flush)
	}
	if err != nil {
		l.held.Reset(l.to) // what could not be written is lost; what comes may fare better
		return 0, err
	}
	return len(line), nil
}

// flush writes out what is held.
func (l *logWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = false
	if err := l.held.Flush(); err != nil {
		l.held.Reset(l.to)
	}
}
