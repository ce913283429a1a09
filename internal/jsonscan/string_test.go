package jsonscan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

func TestAppendUnquoted(t *testing.T) {
	for quoted, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0041\u00e9\u65E5"`: "Aé日", `"x\ud83d\ude00y"`: "x😀y",
		`"\ud83d"`: "\ufffd", `"\ude00\ud83d"`: "\ufffd\ufffd", `"\ud83dx"`: "\ufffdx", `"\ud83d\u0041"`: "\ufffdA", `"\ud83d\n"`: "\ufffd\n",
		`"\u0000"`: "\x00", `"日本"`: "日本",
		// Not strings; nothing may break.
		``: "", `"`: "", `"\"`: "\ufffd", `"\u12"`: "\ufffd12", `"\x"`: "\ufffd", `"\ud83d\u12"`: "\ufffd\ufffd12",
	} {
		if got := string(AppendUnquoted(nil, []byte(quoted))); got != want {
			t.Errorf("%s: %q, want %q", quoted, got, want)
		}
		if !Equal([]byte(quoted), want) || Equal([]byte(quoted), want+"x") || want != "" && Equal([]byte(quoted), want[1:]) ||
			want != "" && Equal([]byte(quoted), want[:len(want)-1]) {
			t.Errorf("%s: not just equal to %q", quoted, want)
		}
	}
}

func FuzzStrings(f *testing.F) {
	f.Add("a\"b\\c/\n\r\t\x00\x1f\x7fü日😀\u2028")
	f.Add("\xff\xed\xa0\x80\\u0041\\")
	f.Fuzz(func(t *testing.T, text string) {
		quoted := AppendQuoted(nil, text)
		if !bytes.Equal(quoted, AppendQuoted(nil, []byte(text))) {
			t.Fatal("bytes and strings differ")
		}
		var want string
		if err := json.Unmarshal(quoted, &want); err != nil || !utf8.Valid(quoted) {
			t.Fatalf("%q: %v", quoted, err)
		}
		if got := string(AppendUnquoted(nil, quoted)); got != want || utf8.ValidString(text) && got != text {
			t.Fatalf("%q: %q, want %q", quoted, got, want)
		}
		// As if it had been written by somebody else.
		raw := `"` + text + `"`
		got := string(AppendUnquoted(nil, []byte(raw)))
		Equal([]byte(raw), got)
		if json.Unmarshal([]byte(raw), &want) == nil && utf8.ValidString(text) && got != want {
			t.Fatalf("%s: %q, want %q", raw, got, want)
		}
	})
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	body := chatBody(4 << 10)
	escaped := []byte(`"mod\u0065l\ud83d\ude00"`)
	buf := make([]byte, 0, 64)
	var s Scanner
	if n := testing.AllocsPerRun(100, func() {
		for s.Object(body); s.Next(); {
			_ = s.Err()
		}
		buf = AppendUnquoted(buf[:0], escaped)
		if !Equal(escaped, "model😀") {
			t.Error("not equal")
		}
		buf = AppendQuoted(buf[:0], "a\nb")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendUnquoted(b *testing.B) {
	quoted := []byte(`"` + strings.Repeat(`The quick brown fox.\nIt \"jumps\".`, 100) + `"`)
	var buf []byte
	b.SetBytes(int64(len(quoted)))
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendUnquoted(buf[:0], quoted)
	}
}
