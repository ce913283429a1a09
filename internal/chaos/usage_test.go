package chaos

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"time"
)

// used is what the process holds.
type used struct {
	goroutines  int
	descriptors int // open files and sockets; 0 on systems that don't tell
}

// usage tells what the process holds, and where its goroutines are.
func usage() (u used, stacks []byte) {
	stacks = make([]byte, 1<<20)
	n := runtime.Stack(stacks, true)
	for n == len(stacks) {
		stacks = make([]byte, 2*n)
		n = runtime.Stack(stacks, true)
	}
	stacks = stacks[:n]
	for g := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		// The HTTP server has one in the process, and one that looks for its end every few seconds.
		if !bytes.Contains(g, []byte("fasthttp.updateServerDate")) && !bytes.Contains(g, []byte("(*workerPool).Start.func2")) {
			u.goroutines++
		}
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.descriptors = len(files)
	}
	return u, stacks
}

// await waits until the process holds no more than it did. The HTTP server ends idle workers after 10 s and more.
func (u used) await(t *testing.T, when string) {
	t.Helper()
	now, stacks := usage()
	for end := time.Now().Add(2 * patience); now.goroutines > u.goroutines || now.descriptors > u.descriptors; now, stacks = usage() {
		if time.Now().After(end) {
			t.Errorf("%s: %+v, at the start %+v\n%s", when, now, u, stacks)
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	t.Logf("%s: %+v, at the start %+v", when, now, u)
}
