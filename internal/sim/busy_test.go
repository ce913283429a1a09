package sim

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// A client that has read the last byte of an answer, or has closed its connection, finds no request of its own counted,
// without waiting for the engine to notice.
func TestBusyIsCountedFromTheClient(t *testing.T) {
	for name, b := range map[string]Behaviour{
		"by length": {}, "in chunks": {Framing: Chunked}, "to the end of the connection": {Framing: CloseDelimited},
		"broken off": {Fault: Fault{Kind: ShortBody, After: 5}}, "reset": {Fault: Fault{Kind: ResetAfterHead}}, "one byte at a time": {SplitWrites: 1},
	} {
		for _, body := range []string{hello, helloStream} {
			t.Run(name, func(t *testing.T) {
				e := start(t, Options{})
				most := 0
				e.Hook(func(*Request) Behaviour { most = max(most, e.Busy()); return b })
				for range 50 {
					c, err := net.Dial("tcp", e.Addr())
					if err != nil {
						t.Fatal(err)
					}
					io.WriteString(c, rawPost(body))
					if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					if n := e.Busy(); n != 0 {
						t.Fatalf("%d are counted behind the end", n)
					}
					c.Close()
				}
				if most != 1 {
					t.Errorf("%d at once", most)
				}
			})
		}
	}
	e := start(t, Options{Behaviour: Behaviour{Fault: Fault{Kind: HeadThenSilence}}})
	for range 50 {
		c, err := net.Dial("tcp", e.Addr())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, rawPost(helloStream))
		c.Read(make([]byte, 1))
		if n := e.Busy(); n != 1 {
			t.Fatalf("%d while it runs", n)
		}
		c.Close()
		if n := e.Busy(); n != 0 {
			t.Fatalf("%d behind the close", n)
		}
	}
}
