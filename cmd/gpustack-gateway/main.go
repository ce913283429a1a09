// Command gpustack-gateway is a reverse proxy for language model traffic: one name in, the right instance, the answer
// streamed back.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker; without it `version` says what the build recorded.
var version string

// Exit statuses. A usage error and an invalid routes file differ, so that a script can tell its own mistake from the
// operator's.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	// With the first signal the handling goes back to the system's own, so a second one ends the process at once.
	context.AfterFunc(ctx, restore)

	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)

	os.Exit(run(ctx, os.Args[1:], &process{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, reload: reload}))
}

// process is what a command knows of the process it runs in. Tests hand in their own.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	reload         <-chan os.Signal // a value asks for the routes file to be read again
	started        func(addresses)  // if set, told where serve and demo listen, once they do
}

// addresses are where a running gateway listens, as host:port.
type addresses struct{ data, admin string }

// commands is the command line; a command is a type with a Run method in a file of its own.
type commands struct {
	Help        helpFlag    `short:"h" help:"Show help and exit."`
	ShowVersion versionFlag `name:"version" help:"Print the version and exit."`

	Serve    serveCommand    `cmd:"" help:"Run the gateway."`
	Check    checkCommand    `cmd:"" help:"Check a routes file and show how each route balances."`
	Schema   schemaCommand   `cmd:"" help:"Print the JSON Schema of the routes file."`
	Key      keyCommands     `cmd:"" help:"Manage API keys."`
	Explain  explainCommand  `cmd:"" help:"Ask a running gateway where a request would go, and why."`
	Simulate simulateCommand `cmd:"" help:"Show at which load a route's policies move a session."`
	Demo     demoCommand     `cmd:"" help:"Run the gateway before simulated engines, with commands to try."`
	Health   healthCommand   `cmd:"" help:"Ask a running gateway whether it is alive; for container health checks."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, p *process) int {
	parser, err := kong.New(&commands{},
		kong.Name("gpustack-gateway"),
		kong.Description("A reverse proxy for language model traffic: one name in, the right instance, the answer streamed back."),
		kong.NoDefaultHelp(),
		kong.ValueFormatter(describeFlag),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Writers(p.stdout, p.stderr),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p),
	)
	if err != nil {
		panic(err) // the command line's own definition is wrong
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	switch {
	case errors.Is(err, errShown):
		return exitOK
	case err != nil:
		fmt.Fprintf(p.stderr, "gpustack-gateway: %v\nRun \"gpustack-gateway --help\" for the commands, or add --help to one for its flags.\n", err)
		return exitUsage
	}
	return exitStatus(command.Run(), p.stderr)
}

// exitStatus says what failed, unless the command has said it already, and returns the status to exit with.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(stderr, "gpustack-gateway: %v\n", err)
	}
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// errReported is returned by a command that failed and has already said why.
var errReported = errors.New("failed")

// usageError is a mistake in the command line itself.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// helpFlag shows the help of the command it stands behind. Unlike kong's own flag it ends the parse instead of the
// process.
type helpFlag bool

var errShown = errors.New("what was asked for has been shown")

// describeFlag is a flag's help, with what holds if it is not given.
func describeFlag(v *kong.Value) string {
	text := kong.DefaultHelpValueFormatter(v)
	if v.HasDefault && v.Default != "" && !v.IsBool() {
		text += " Default: " + v.Default + "."
	}
	return text
}

// BeforeReset is called by kong before it looks at required flags and arguments.
func (helpFlag) BeforeReset(c *kong.Context) error {
	if err := c.PrintUsage(false); err != nil {
		return err
	}
	return errShown
}

// IgnoreDefault tells kong that the flag does something only when it is given.
func (helpFlag) IgnoreDefault() {}
