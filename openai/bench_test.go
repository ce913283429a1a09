package openai

import (
	"fmt"
	"strings"
	"testing"
)

// chatOf is a chat request of about n bytes.
func chatOf(n int) []byte {
	const prose = `The quick brown fox jumps over the lazy dog, and asks itself whether \"this\" was necessary at all.\n` +
		`for i := 0; i < n; i++ {\n\tfmt.Println(i)\n}\n Then it lies down; nothing of note happens for the rest of the day.`
	var b strings.Builder
	b.WriteString(`{"model":"qwen3-0.6b","temperature":0.7,"stream":true,"messages":[{"role":"system","content":"You help."}`)
	for i := 0; b.Len() < n-1100; i++ {
		fmt.Fprintf(&b, `,{"role":"%s","content":"%s"}`, [...]string{"user", "assistant"}[i%2], strings.Repeat(prose, 4))
	}
	b.WriteString(`],"user":"` + strings.Repeat("x", max(0, n-b.Len()-11)) + `"}`)
	return []byte(b.String())
}

func benchmarkParse(b *testing.B, n int) {
	b.Helper()
	body := chatOf(n)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var c Call
	for b.Loop() {
		if err := c.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse2KB(b *testing.B)  { benchmarkParse(b, 2<<10) }
func BenchmarkParse32KB(b *testing.B) { benchmarkParse(b, 32<<10) }
func BenchmarkParse1MB(b *testing.B)  { benchmarkParse(b, 1<<20) }

func BenchmarkString(b *testing.B) {
	var c Call
	if err := c.Parse([]byte(`{"model":"m","input":"x","metadata":{"user_id":"u","a":1},"prompt_cache_key":"k"}`)); err != nil {
		b.Fatal(err)
	}
	paths := [][]string{{"prompt_cache_key"}, {"metadata", "user_id"}, {"absent"}}
	b.ReportAllocs()
	for b.Loop() {
		for _, path := range paths {
			_, _, _ = c.String(path)
		}
	}
}
