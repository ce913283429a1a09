package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// Run prints one line: the version, the commit it was built from, and the Go that built it.
func (versionCommand) Run(p *process) error {
	_, err := fmt.Fprintf(p.stdout, "gpustack-gateway %s (%s %s/%s)\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionFlag does the same as the command.
type versionFlag bool

// BeforeReset is called by kong before it looks at required flags and arguments.
func (versionFlag) BeforeReset(p *process) error {
	if err := (versionCommand{}).Run(p); err != nil {
		return err
	}
	return errShown
}

// IgnoreDefault tells kong that the flag does something only when it is given.
func (versionFlag) IgnoreDefault() {}

// buildVersion is the version the linker was given, else the module's version as recorded by `go install`, else the
// commit.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return "unknown"
	}
	return commit + dirty
}
