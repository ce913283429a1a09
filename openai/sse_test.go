package openai

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

// eventsOf returns what a scanner finds in a stream that comes in pieces of the given lengths, taken in turn.
func eventsOf(tb testing.TB, stream []byte, lengths ...int) (found []string) {
	tb.Helper()
	var s Events
	show := func(e Event) {
		name, data := string(e.Name), string(e.Data)
		if e.Data == nil {
			data = "-"
		}
		found = append(found, fmt.Sprintf("%s|%s|%v", name, data, e.Oversized))
	}
	for i := 0; len(stream) > 0; i++ {
		piece := bytes.Clone(stream[:min(len(stream), max(1, lengths[i%len(lengths)]))])
		stream = stream[len(piece):]
		for rest := piece; len(rest) > 0; {
			n, e, ok := s.Next(rest)
			if n <= 0 || n > len(rest) || !ok && n != len(rest) {
				tb.Fatalf("read %d of %d bytes, %v", n, len(rest), ok)
			}
			rest = rest[n:]
			if ok {
				show(e)
			}
		}
		for i := range piece { // what is found must not need the piece any longer
			piece[i] = 'X'
		}
		if cap(s.line)+cap(s.buf)+cap(s.name) > 3*MaxEvent {
			tb.Fatalf("keeps %d bytes", cap(s.line)+cap(s.buf)+cap(s.name))
		}
	}
	if e, ok := s.End(); ok {
		show(e)
	}
	if _, ok := s.End(); ok {
		tb.Fatal("ends twice")
	}
	return found
}

func TestEvents(t *testing.T) {
	tests := []struct{ name, stream, want string }{
		{"nothing", "", ""},
		{"one", "data: a\n\n", "|a|false"},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", "|a|false |b|false"},
		{"CR", "data: a\r\rdata: b\r\r", "|a|false |b|false"},
		{"mixed line ends", "data: a\n\r\ndata: b\r\rdata: c\r\n\ndata: d\n\n", "|a|false |b|false |c|false |d|false"},
		{"name", "event: x\ndata: a\n\n", "x|a|false"},
		{"name behind the data", "data: a\nevent: x\n\n", "x|a|false"},
		{"name only", "event: x\n\n", "x|-|false"},
		{"two names", "event: x\nevent: y\ndata: a\n\n", "y|a|false"},
		{"no space", "event:x\ndata:a\n\n", "x|a|false"},
		{"two spaces", "data:  a\n\n", "| a|false"},
		{"several lines", "data: a\ndata:\ndata: b\n\n", "|a\n\nb|false"},
		{"empty data", "data\n\ndata:\n\n", "||false ||false"},
		{"comments", ": hi\n\n:\n\n: x\ndata: a\n: y\n\n", "|a|false"},
		{"other fields", "id: 7\nretry: 5\n\nid: 8\ndata: a\nfoo: bar\ndatax: b\n\n", "|a|false"},
		{"colons in data", "data: {\"a\":1}\n\n", "|{\"a\":1}|false"},
		{"byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", "|a|false"},
		{"byte order mark alone", "\ufeff\n\ndata: a\n\n", "|a|false"},
		{"many empty lines", "\n\n\r\n\rdata: a\n\n\n\n\ndata: b\n\n", "|a|false |b|false"},
		{"no end", "data: a\n\nevent: x\ndata: b", "|a|false x|b|false"},
		{"no empty line at the end", "data: a\n", "|a|false"},
		{"ends in a comment", "data: a\n\n: bye", "|a|false"},
		{"binary", "data: \x00\xff\n\n", "|\x00\xff|false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for length := 1; length <= len(test.stream)+1; length++ {
				if got := strings.Join(eventsOf(t, []byte(test.stream), length), " "); got != test.want {
					t.Fatalf("in pieces of %d: %q, want %q", length, got, test.want)
				}
			}
		})
	}
}

func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "streams", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestC002_AnySplitGivesTheSameEvents(t *testing.T) {
	for name, count := range map[string]int{"chat.sse": 6, "completions.sse": 4, "responses.sse": 9, "messages.sse": 7} {
		for ends, step := range map[string]int{"\n": 1, "\r\n": 7, "\r": 7} {
			stream := bytes.ReplaceAll(recorded(t, name), []byte("\n"), []byte(ends))
			want := eventsOf(t, stream, len(stream))
			if len(want) != count {
				t.Fatalf("%s: %d events", name, len(want))
			}
			for at := 1; at < len(stream); at += step {
				if got := eventsOf(t, stream, at, len(stream)); strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Fatalf("%s split at %d: %q", name, at, got)
				}
			}
			if got := eventsOf(t, stream, 1); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%s byte by byte: %q", name, got)
			}
		}
	}
}

func TestC003_LastEventWithoutItsEmptyLine(t *testing.T) {
	stream := recorded(t, "chat.sse")
	cut := bytes.Index(stream, []byte("\n\ndata: [DONE]"))
	var usage Usage
	var s Events
	for _, piece := range [][]byte{stream[:100], stream[100:300], stream[300:cut]} {
		for len(piece) > 0 {
			n, e, ok := s.Next(piece)
			piece = piece[n:]
			if ok {
				usage.Read(e.Data)
			}
		}
	}
	if usage.Known {
		t.Error("usage before its event")
	}
	if e, ok := s.End(); ok {
		usage.Read(e.Data)
	}
	if usage != (Usage{Input: 21, Output: 13, Cached: 16, Reasoning: 5, Known: true}) {
		t.Errorf("%+v", usage)
	}
}

func TestC005_OversizedEvents(t *testing.T) {
	for _, size := range []int{MaxEvent - 6, MaxEvent - 5, MaxEvent, MaxEvent + 1, 4 << 20} {
		long := "data: " + strings.Repeat("x", size) // with "data: " before it
		stream := "event: a\ndata: 1\n\n" + long + "\n\nevent: b\ndata: 2\n\n" + "event: c\n" + strings.Repeat("data: y\n", size/7+1) + "\ndata: 3\n\n"
		want := "|-|true"
		if size+len("data: ") <= MaxEvent {
			want = "|" + strings.Repeat("x", size) + "|false"
		}
		got := strings.Join(eventsOf(t, []byte(stream), 4096), " ")
		if got != "a|1|false "+want+" b|2|false |-|true |3|false" {
			t.Errorf("%d: %.80q", size, got)
		}
		for _, length := range []int{1 << 20, 65536, 1000, 7} {
			if length == 7 && size > 2*MaxEvent {
				continue // takes too long
			}
			if again := strings.Join(eventsOf(t, []byte(stream), length), " "); again != got {
				t.Errorf("%d: in pieces of %d: %.80q", size, length, again)
			}
		}
	}
	var s Events
	for range 1000 {
		s.Next(bytes.Repeat([]byte("x"), 1000))
		if s.Between() {
			t.Fatal("inside an oversized line is between events")
		}
	}
}

func TestEvents_Between(t *testing.T) {
	tests := []struct {
		stream string
		want   bool
	}{
		{"", true}, {"d", false}, {"data: a", false}, {"data: a\n", false}, {"data: a\n\n", true}, {"data: a\n\nd", false}, {"data: a\n\n\n", true},
		{": c", false}, {": c\n", false}, {": c\n\n", true}, {"event: x\n", false}, {"event: x\n\n", true}, {"id: 1\n", false}, {"\n", true}, {"\ufeff", false},
		{"data: a\r\n\r\n", true}, {"data: a\r\n\r", false}, {"data: a\r\n", false}, {"data: a\r", false}, {"data: a\r\r", true}, {"data: a\n\r", true},
		{"data: " + strings.Repeat("x", MaxEvent) + "\n", false}, {"data: " + strings.Repeat("x", MaxEvent) + "\n\n", true},
	}
	for _, test := range tests {
		for _, length := range []int{1, 1 << 20} {
			var s Events
			for rest := []byte(test.stream); len(rest) > 0; {
				n := min(length, len(rest))
				for piece := rest[:n]; len(piece) > 0; {
					m, _, _ := s.Next(piece)
					piece = piece[m:]
				}
				rest = rest[n:]
			}
			if s.Between() != test.want {
				t.Errorf("%.20q in pieces of %d: %v", test.stream, length, s.Between())
			}
		}
	}
}

// C094: what is found are ends of events in the stream as it is; put together again, the pieces are the stream.
func TestC094_EventsEndWhereTheStreamDoes(t *testing.T) {
	stream := recorded(t, "responses.sse")
	var s Events
	var again []byte
	var count int
	for rest := stream; len(rest) > 0; {
		n, _, ok := s.Next(rest)
		if !ok || !s.Between() || !bytes.HasSuffix(rest[:n], []byte("\n\n")) {
			t.Fatalf("%q", rest[:n])
		}
		again = append(again, rest[:n]...)
		rest = rest[n:]
		count++
	}
	if !bytes.Equal(again, stream) || count != 9 {
		t.Errorf("%d events", count)
	}
}

func TestEvents_Allocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	stream := recorded(t, "responses.sse")
	for _, length := range []int{len(stream), 100} {
		var s Events
		if n := testing.AllocsPerRun(100, func() {
			for at := 0; at < len(stream); at += length {
				for piece := stream[at:min(len(stream), at+length)]; len(piece) > 0; {
					n, _, _ := s.Next(piece)
					piece = piece[n:]
				}
			}
		}); n != 0 {
			t.Errorf("in pieces of %d: %v allocations", length, n)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: a\r\rdata: b\n\n: c\n\ndata"), 3, 5)
	f.Add([]byte("\ufeffdata: a\n\ndata: b"), 1, 1)
	for _, name := range []string{"chat.sse", "messages.sse"} {
		f.Add(recorded(f, name), 17, 400)
	}
	f.Fuzz(func(t *testing.T, stream []byte, first, second int) {
		want := strings.Join(eventsOf(t, stream, len(stream)), "\n")
		for _, lengths := range [][]int{{1}, {first, second}, {second, 1, first}} {
			if got := strings.Join(eventsOf(t, stream, lengths...), "\n"); got != want {
				t.Fatalf("%q in pieces of %d: %q, want %q", stream, lengths, got, want)
			}
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	stream := recorded(b, "chat.sse")
	for name, length := range map[string]int{"whole": len(stream), "100": 100} {
		b.Run(name, func(b *testing.B) {
			var s Events
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				for at := 0; at < len(stream); at += length {
					for piece := stream[at:min(len(stream), at+length)]; len(piece) > 0; {
						n, _, _ := s.Next(piece)
						piece = piece[n:]
					}
				}
			}
		})
	}
}
