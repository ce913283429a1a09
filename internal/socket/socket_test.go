//go:build linux || darwin

package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

// pair returns the two ends of a TCP connection.
func pair(t testing.TB) (ours, theirs *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); other.Close() })
	return c.(*net.TCPConn), other.(*net.TCPConn)
}

// arrive waits until a socket has something to read.
func arrive(t testing.TB, s *Socket) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); s.Silent(); {
		if time.Now().After(end) {
			t.Fatal("nothing came")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestFor_NoSocket(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if For(a) != nil {
		t.Error("a pipe has a socket")
	}
	var none *Socket
	if !none.Silent() {
		t.Error("no socket is not silent")
	}
}

func TestReceive(t *testing.T) {
	ours, theirs := pair(t)
	s, buffers := For(ours), new(Buffers)
	go io.WriteString(theirs, "hello")
	buf, n, err := s.Receive(buffers)
	if err != nil || string(buf[:n]) != "hello" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	buffers.Put(buf)

	theirs.Write(make([]byte, BufferSize+1))
	arrive(t, s)
	for left := BufferSize + 1; left > 0; left -= n {
		if buf, n, err = s.Receive(buffers); err != nil || n == 0 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		buffers.Put(buf)
	}

	theirs.CloseWrite()
	if buf, _, err = s.Receive(buffers); err != io.EOF || buf != nil {
		t.Errorf("at the end: %v, %v", buf, err)
	}
}

// Whoever waits is told of a deadline and of the connection's being closed, as net.Conn tells it.
func TestWaitsEnd(t *testing.T) {
	for name, wait := range map[string]func(*Socket) error{
		"receive": func(s *Socket) error { _, _, err := s.Receive(new(Buffers)); return err },
		"ask":     func(s *Socket) error { _, _, err := s.Ask([][]byte{[]byte("?")}, make([]byte, 1)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ours, _ := pair(t)
			s := For(ours)
			ours.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if err := wait(s); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after the deadline: %v", err)
			}
			ours.SetReadDeadline(time.Time{})
			time.AfterFunc(20*time.Millisecond, func() { ours.Close() })
			if err := wait(s); !errors.Is(err, net.ErrClosed) {
				t.Errorf("after close: %v", err)
			}
		})
	}
}

func TestAsk(t *testing.T) {
	ours, theirs := pair(t)
	s := For(ours)
	go func() {
		for range 2 {
			got := make([]byte, len("how are you?"))
			io.ReadFull(theirs, got)
			theirs.Write(bytes.ToUpper(got))
		}
	}()
	for _, request := range [][][]byte{{[]byte("how are you?")}, {[]byte("how "), nil, []byte("are you"), []byte("?")}} {
		answer := make([]byte, 100)
		sent, n, err := s.Ask(request, answer)
		if sent != len("how are you?") || string(answer[:n]) != "HOW ARE YOU?" || err != nil {
			t.Fatalf("sent %d, %q, %v", sent, answer[:n], err)
		}
	}
}

// Where something has come before, nothing is asked.
func TestAsk_NotQuiet(t *testing.T) {
	for name, before := range map[string]func(*net.TCPConn){
		"bytes":   func(c *net.TCPConn) { io.WriteString(c, "an answer to nothing") },
		"its end": func(c *net.TCPConn) { c.CloseWrite() },
		"a reset": func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := pair(t)
			s := For(ours)
			before(theirs)
			arrive(t, s)
			sent, n, err := s.Ask([][]byte{[]byte("?")}, make([]byte, 100))
			if sent != 0 || n != 0 || err != ErrNotQuiet {
				t.Errorf("sent %d, got %d, %v", sent, n, err)
			}
		})
	}
}

// A request that the other end does not take at once is left to the caller.
func TestAsk_Partly(t *testing.T) {
	ours, theirs := pair(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	sent, n, err := For(ours).Ask([][]byte{[]byte("head"), large}, make([]byte, 100))
	if sent == 0 || sent >= len(large) || n != 0 || err != nil {
		t.Fatalf("sent %d, got %d, %v", sent, n, err)
	}
	go func() { ours.Write(large[sent-4:]); ours.CloseWrite() }()
	got, err := io.ReadAll(theirs)
	if err != nil || string(got) != "head"+string(large) {
		t.Errorf("%d bytes arrived of %d, %v", len(got), len(large)+4, err)
	}
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector's own pools allocate")
	}
	ours, theirs := pair(t)
	s, buffers := For(ours), new(Buffers)
	go io.Copy(theirs, theirs)
	request, answer := [][]byte{[]byte("a"), []byte("b")}, make([]byte, 10)
	for name, do := range map[string]func(){
		"ask": func() {
			for _, got, _ := s.Ask(request, answer); got < 2; {
				n, err := ours.Read(answer)
				if err != nil {
					t.Fatal(err)
				}
				got += n
			}
		},
		"receive": func() {
			ours.Write(request[0])
			buf, _, err := s.Receive(buffers)
			if err != nil {
				t.Fatal(err)
			}
			buffers.Put(buf)
		},
	} {
		if n := testing.AllocsPerRun(200, do); n >= 1 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
