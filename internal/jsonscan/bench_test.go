package jsonscan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// chatBody is a chat request of about n bytes: turns of prose with line breaks, quotes and some code.
func chatBody(n int) []byte {
	const prose = `The quick brown fox jumps over the lazy dog, and asks itself whether \"this\" was necessary at all.\n` +
		`for i := 0; i < n; i++ {\n\tfmt.Println(i)\n}\n Then it lies down; nothing of note happens for the rest of the day.`
	var b strings.Builder
	b.WriteString(`{"model":"qwen3-0.6b","temperature":0.7,"stream":true,"messages":[{"role":"system","content":"You help."}`)
	for b.Len() < n-600 {
		b.WriteString(`,{"role":"user","content":"` + strings.Repeat(prose, 4) + `"}`)
	}
	b.WriteString(`],"user":"` + strings.Repeat("x", max(0, n-b.Len()-11)) + `"}`)
	return []byte(b.String())
}

func BenchmarkScanner(b *testing.B) {
	bodies := map[string][]byte{"2KB": chatBody(2 << 10), "32KB": chatBody(32 << 10), "1MB": chatBody(1 << 20)}
	for _, size := range []string{"2KB", "32KB", "1MB"} {
		body := bodies[size]
		b.Run(size, func(b *testing.B) { benchmark(b, body) })
		b.Run(size+"/json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				json.Valid(body)
			}
		})
	}
	cjk := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, strings.Repeat("快速的棕色狐狸跳过懒狗，", 900))
	b.Run("CJK", func(b *testing.B) { benchmark(b, []byte(cjk)) })
	tools := `{"model":"m","tools":[` + strings.Repeat(`{"type":"function","function":{"name":"f","parameters":{"type":"object",`+
		`"properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1}}}}},`, 200) + `0]}`
	b.Run("tools", func(b *testing.B) { benchmark(b, []byte(tools)) })
	b.Run("brackets", func(b *testing.B) { benchmark(b, []byte(`{"a":[`+strings.Repeat("[[],[]],", 4000)+`0]}`)) })
}

func benchmark(b *testing.B, body []byte) {
	b.Helper()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var s Scanner
	for b.Loop() {
		s.Object(body)
		if drain(&s) == 0 {
			b.Fatal("nothing found")
		}
	}
	if s.Err() != nil {
		b.Fatal(s.Err())
	}
}
