package main

import (
	"io"

	"github.com/rs/zerolog"
)

// logFlags say what is logged and how. The access log is the lines at level info whose message is "request".
type logFlags struct {
	LogLevel  string `help:"Lowest level that is logged: ${enum}. One line a request is at info." enum:"debug,info,warn,error" default:"info" env:"GPUSTACK_GATEWAY_LOG_LEVEL" placeholder:"LEVEL"`
	LogFormat string `help:"How lines look: ${enum}." enum:"json,console" default:"json" env:"GPUSTACK_GATEWAY_LOG_FORMAT" placeholder:"FORMAT"`
}

// logger returns the logger that the flags describe.
func (f logFlags) logger(w io.Writer) zerolog.Logger {
	if f.LogFormat == "console" {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000"}
	}
	level, err := zerolog.ParseLevel(f.LogLevel)
	if err != nil {
		level = zerolog.InfoLevel // the command line accepts only levels that parse
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}
