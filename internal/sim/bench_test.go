package sim

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

// exchangeOn returns a function that sends a request over a kept-alive connection and reads its answer up to tail.
func exchangeOn(tb testing.TB, e *Engine, body, tail string) func() {
	tb.Helper()
	c, err := net.Dial("tcp", e.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	request, buf := []byte(rawPost(body)), make([]byte, 64<<10)
	return func() {
		if _, err := c.Write(request); err != nil {
			tb.Fatal(err)
		}
		for n := 0; !bytes.HasSuffix(buf[:n], []byte(tail)); {
			m, err := c.Read(buf[n:])
			if err != nil {
				tb.Fatal(err)
			}
			n += m
		}
	}
}

// padded is a chat request of about so many bytes.
func padded(size int, more string) string {
	return fmt.Sprintf(`{"model":"m",%s"messages":[{"role":"system","content":%q},{"role":"user","content":"Say hello."}]}`,
		more, strings.Repeat("lorem ipsum ", size/12))
}

func BenchmarkChat(b *testing.B) {
	for _, size := range []int{2 << 10, 32 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			e := start(b, Options{NoRecord: true, Behaviour: Behaviour{Tokens: 200}})
			once := exchangeOn(b, e, padded(size, ""), "}}")
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
	b.Run("64 events", func(b *testing.B) {
		e := start(b, Options{NoRecord: true, Behaviour: Behaviour{Tokens: 61}})
		once := exchangeOn(b, e, padded(2<<10, `"stream":true,`), "0\r\n\r\n")
		b.ReportAllocs()
		for b.Loop() {
			once()
		}
	})
}

func TestChatAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for stream, most := range map[string]float64{"": 14, `"stream":true,`: 15} {
		e := start(t, Options{NoRecord: true, Behaviour: Behaviour{Tokens: 61}})
		once := exchangeOn(t, e, padded(2<<10, stream), map[string]string{"": "}}", `"stream":true,`: "0\r\n\r\n"}[stream])
		if got := testing.AllocsPerRun(200, once); got > most {
			t.Errorf("stream %q: %.0f allocations", stream, got)
		}
	}
}
