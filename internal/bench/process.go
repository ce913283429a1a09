package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// place is where a process may run.
type place int

const (
	proxyCore  place = iota // the core that is kept for what is measured
	otherCores              // where the engine and the load generator run
	allCores
)

// pinning says which processors the places stand for; "" where there is no taskset or only one processor.
type pinning [allCores + 1]string

// findPinning keeps the first processor that this process may use for what is measured, and moves itself to the others.
func findPinning() pinning {
	var p pinning
	if _, err := exec.LookPath("taskset"); err != nil {
		return p
	}
	cores := allowedCores()
	if len(cores) < 2 {
		return p
	}
	p[proxyCore], p[otherCores], p[allCores] = cores[0], strings.Join(cores[1:], ","), strings.Join(cores, ",")
	own := exec.Command("taskset", "-a", "-c", "-p", p[otherCores], strconv.Itoa(os.Getpid())) //nolint:noctx // numbers, at once
	if own.Run() != nil {
		return pinning{}
	}
	return p
}

// allowedCores are the processors that this process may run on.
func allowedCores() (cores []string) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	for span := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		from, to, isRange := strings.Cut(span, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil {
			return nil
		}
		for c := first; c <= last; c++ {
			cores = append(cores, strconv.Itoa(c))
		}
	}
	return cores
}

// process is a process that was started to be measured, or to measure with.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	tail  bytes.Buffer // what it said on standard error
	pids  []int        // it and its children, as far as they have been looked for
}

// launch starts a program in a place. Its standard output goes to a file.
func (p pinning) launch(at place, stdout *os.File, env []string, argv ...string) (*process, error) {
	if cores := p[at]; cores != "" {
		argv = append([]string{"taskset", "-c", cores}, argv...)
	}
	x := &process{cmd: exec.Command(argv[0], argv[1:]...)} //nolint:noctx // it is ended by stop
	x.cmd.Stdout, x.cmd.Stderr = stdout, &x.tail
	x.cmd.Env = append(os.Environ(), env...)
	var err error
	if x.stdin, err = x.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := x.cmd.Start(); err != nil {
		return nil, err
	}
	x.pids = []int{x.cmd.Process.Pid}
	return x, nil
}

// stop ends the process at once.
func (x *process) stop() {
	for _, pid := range x.pids[1:] {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended
		}
	}
	_ = x.cmd.Process.Kill()
	_ = x.cmd.Wait()
	_ = x.stdin.Close()
}

// findChildren looks for the process's children, such as nginx's worker.
func (x *process) findChildren() error {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	parent := strconv.Itoa(x.pids[0])
	for _, name := range stats {
		fields, err := statFields(name)
		if err == nil && fields[1] == parent {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			x.pids = append(x.pids, pid)
		}
	}
	return nil
}

var errStat = errors.New("unknown format of /proc/PID/stat")

// statFields returns the fields of a stat file that follow the program's name; the first is field 3 of proc(5).
func statFields(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return nil, errStat
	}
	return fields, nil
}

// tick is the unit of the kernel's account of CPU time, the same on all of Linux's architectures that Go runs on.
const tick = 10 * time.Millisecond

// cpu is the CPU time that the process and its children have used: fields 14 and 15 of proc(5)'s stat.
func (x *process) cpu() (time.Duration, error) {
	sum := 0
	for _, pid := range x.pids {
		fields, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		for _, f := range fields[11:13] {
			n, err := strconv.Atoi(f)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return time.Duration(sum) * tick, nil
}

// rss is the memory in KB that the process and its children hold.
func (x *process) rss() (float64, error) {
	sum := 0.0
	for _, pid := range x.pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		_, rest, found := strings.Cut(string(status), "VmRSS:")
		if !found {
			return 0, errStat
		}
		n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
