package chaos

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// used is what the process holds.
type used struct {
	goroutines  int
	descriptors int // open files and sockets; 0 on systems that don't tell
}

func usage() (u used, stacks string) {
	buf := make([]byte, 16<<20)
	stacks = string(buf[:runtime.Stack(buf, true)])
	for g := range strings.SplitSeq(stacks, "\n\n") {
		// The HTTP server has one in the process, and one that looks for its end every few seconds.
		if !strings.Contains(g, "fasthttp.updateServerDate") && !strings.Contains(g, "(*workerPool).Start.func2") {
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
	for end := time.Now().Add(40 * time.Second); now.goroutines > u.goroutines || now.descriptors > u.descriptors; now, stacks = usage() {
		if time.Now().After(end) {
			t.Errorf("%s: %+v, at the start %+v\n%s", when, now, u, stacks)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%s: %+v, at the start %+v", when, now, u)
}
