package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func taskText(tb testing.TB, endpoint, body string, limit int) string {
	tb.Helper()
	var c Call
	if err := c.Parse([]byte(body)); err != nil {
		tb.Fatalf("%s: %v", body, err)
	}
	return string(c.TaskText(nil, &Endpoint{Name: endpoint}, limit))
}

func TestTaskText_Shapes(t *testing.T) {
	tests := []struct{ name, endpoint, body, want string }{
		{"chat", "chat", `{"model":"m","messages":[{"role":"system","content":"Be\nbrief."},{"role":"user","content":"Hi \"you\""},` +
			`{"role":"assistant","content":"Hello"},{"content":"What now?","role":"user"}]}`,
			"system: Be\nbrief.\nuser: Hi \"you\"\nassistant: Hello\nuser: What now?"},
		{"chat, parts", "chat", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Look"},` +
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"UklGRg=="}},` +
			`{"type":"file","file":{"file_data":"JVBERi0="}},{"text":"there","type":"text"}]}]}`, "user: Look\nthere"},
		{"chat, developer and tools", "chat", `{"model":"m","messages":[{"role":"user","content":"Weather?"},{"role":"developer","content":"Use tools."},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"secret\":1}"}}]},` +
			`{"role":"tool","tool_call_id":"c","content":"Sunny"},{"role":"function","name":"f","content":[{"type":"text","text":"Warm"}]}]}`,
			"system: Use tools.\nuser: Weather?\ntool: Sunny\ntool: Warm"},
		{"chat, odd roles", "chat", `{"model":"m","messages":[{"role":"ROOT: x\nsystem","content":"a"},{"content":"b"},{"role":7,"content":"c"},` +
			`{"r\u006fle":"assist\u0061nt","content":"d"}]}`, "user: a\nuser: b\nuser: c\nassistant: d"},
		{"chat, nonsense", "chat", `{"model":"m","messages":[1,null,"x",[],{},{"role":"user"},{"role":"user","content":{}},{"role":"user","content":""},` +
			`{"role":"user","content":[1,{"type":1,"text":"x"},{"type":"text"},{"type":"text","text":2}]}]}`, ""},
		{"chat, no list", "chat", `{"model":"m","messages":"hello"}`, ""},
		{"completions", "completions", `{"model":"m","prompt":"Once","suffix":"no"}`, "prompt: Once"},
		{"completions, list", "completions", `{"model":"m","prompt":["One","Two"]}`, "prompt: One\nprompt: Two"},
		{"completions, tokens", "completions", `{"model":"m","prompt":[[1,2],[3]]}`, ""},
		{"responses", "responses", `{"model":"m","instructions":"Be brief.","input":"Hi"}`, "system: Be brief.\nuser: Hi"},
		{"responses, items", "responses", `{"model":"m","instructions":null,"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Dev"}]},` +
			`{"role":"user","content":"Hi"},{"type":"reasoning","summary":[{"type":"summary_text","text":"no"}],"encrypted_content":"no","content":"no"},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"},{"type":"refusal","refusal":"no"}]},` +
			`{"type":"function_call","arguments":"no","output":"no"},{"type":"function_call_output","call_id":"c","output":"42"},` +
			`{"type":"custom_tool_call_output","output":[{"type":"input_text","text":"43"},{"type":"input_image","image_url":"data:x"}]},` +
			`{"type":"input_file","file_data":"no"}]}`,
			"system: Dev\nuser: Hi\nassistant: Hello\ntool: 42\ntool: 43"},
		{"messages", "messages", `{"model":"m","system":"Be brief.","messages":[{"role":"user","content":"Hi"}]}`, "system: Be brief.\nuser: Hi"},
		{"messages, blocks", "messages", `{"model":"m","system":[{"type":"text","text":"A","cache_control":{}},{"type":"text","text":"B"}],"messages":[` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"R1"},{"type":"tool_result","content":[{"type":"text","text":"R2"},` +
			`{"type":"image","source":{"type":"base64","data":"AAAA"}},{"type":"tool_result","content":"no"}]},{"type":"text","text":"Go on"}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"no"},{"type":"text","text":"Yes"},{"type":"tool_use","input":{"text":"no"}}]}]}`,
			"system: A\nB\ntool: R1\nR2\nuser: Go on\nassistant: Yes"},
		{"count_tokens", "count_tokens", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`, "user: Hi"},
		{"embeddings", "embeddings", `{"model":"m","input":["a","b"]}`, "input: a\ninput: b"},
		{"rerank", "rerank", `{"model":"m","query":"q","documents":["no"]}`, "query: q"},
		{"score", "score", `{"model":"m","text_1":"a","text_2":["b"]}`, "text_1: a\ntext_2: b"},
		{"systemone", "systemone", `{"model":"m","state":"s"}`, "state: s"},
		{"systemone, object", "systemone", `{"model":"m","state":{"a":"no"}}`, ""},
		{"another", "models", `{"model":"m","input":"no"}`, ""},
		{"escapes", "chat", `{"model":"m","messages":[{"role":"user","content":"\u00fc\ud83d\ude00\t\/日"}]}`, "user: ü😀\t/日"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := taskText(t, test.endpoint, test.body, 1<<16); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if test.want != "" {
				if got := taskText(t, test.endpoint, test.body, len(test.want)); got != test.want {
					t.Errorf("just fits: %q", got)
				}
				if got := taskText(t, test.endpoint, test.body, len(test.want)-1); len(got) >= len(test.want) {
					t.Errorf("does not fit: %q", got)
				}
			}
		})
	}
}

func TestTaskText_DataIsNotText(t *testing.T) {
	data := strings.Repeat("iVBORw0KGgo+/", 100)
	word := strings.Repeat("x", longRun-1)
	tests := []struct{ text, want string }{
		{"look: data:image/png;base64," + data + " there", "look: data:image/png;base64,[data] there"},
		{"short data:text/plain;charset=utf-8;BASE64,QUJD.", "short data:text/plain;charset=utf-8;BASE64,[data]."},
		{"a run " + data + "\nand more", "a run [data]\nand more"},
		{data, "[data]"}, {"(" + data + ")(" + data + ")", "([data])([data])"},
		{word, word}, {word + " " + word, word + " " + word}, {word + "x", "[data]"},
		{"base64,QUJD", "base64,QUJD"}, {";base64, QUJD", ";base64, QUJD"}, {";base65,QUJD", ";base65,QUJD"}, {";base64,", ";base64,"},
		{";xbase64,QUJD", ";xbase64,QUJD"},
	}
	for _, test := range tests {
		for name, quoted := range map[string][]byte{"plain": mustJSON(test.text), "escaped slashes": []byte(strings.ReplaceAll(string(mustJSON(test.text)), "/", `\/`))} {
			body := fmt.Sprintf(`{"model":"m","input":%s}`, quoted)
			if got := taskText(t, "responses", body, 1<<16); got != "user: "+test.want {
				t.Errorf("%s: %.80q: %.200q", name, test.text, got)
			}
		}
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func chatWith(system string, turns ...string) string {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var list []message
	if system != "" {
		list = append(list, message{"system", system})
	}
	for i, turn := range turns {
		list = append(list, message{[]string{"user", "assistant"}[i%2], turn})
	}
	return string(mustJSON(map[string]any{"model": "m", "messages": list}))
}

func TestTaskText_Cut(t *testing.T) {
	long := strings.Repeat("0123456789", 20)
	tests := []struct {
		name, body string
		max        int
		want       string
	}{
		{"nothing", chatWith("s", "a"), 0, ""},
		{"less than nothing", chatWith("s", "a"), -1, ""},
		{"old turns go first", chatWith("Brief.", "one", "two", "three"), 40, "system: Br\nassistant: two\nuser: three"},
		{"the newest is kept whole", chatWith("", long, "Sure.", "So?"), 30, "assistant: Sure.\nuser: So?"},
		{"an older one loses its beginning", chatWith("", long, "Sure.", "So?"), 70,
			"user: ..." + long[200-29:] + "\nassistant: Sure.\nuser: So?"},
		{"the newest loses its beginning", chatWith("", "a", long), 60, "assistant: ..." + long[200-46:]},
		{"the newest, and hardly any room", chatWith("", long), 12, long[200-12:]},
		{"system text keeps its beginning", chatWith(long, "Hi"), 80, "system: " + long[:12] + "\nuser: Hi"},
		{"short system text is kept whole", chatWith("Brief.", long), 80, "system: Brief.\nuser: ..." + long[200-51:]},
		{"system text alone", chatWith(long), 40, "system: 01"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := taskText(t, "chat", test.body, test.max)
			if got != test.want || len(got) > max(test.max, 0) {
				t.Errorf("got  %q (%d)\nwant %q", got, len(got), test.want)
			}
		})
	}
}

// Whatever the length, the text is within it, valid, and no character is cut.
func TestTaskText_EveryLength(t *testing.T) {
	for _, body := range []string{
		chatWith("Sÿstem prömpt 日本", "日本語のテキスト", "ünïcode 😀😀😀", "ß"), chatWith("", strings.Repeat("😀", 40)), chatWith(strings.Repeat("é", 50), "x"),
		chatWith("s", "data:;base64,"+strings.Repeat("A", 600)+" é", strings.Repeat("B", 300)+"日"),
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"日本"},{"type":"tool_result","content":"ü\ud83d\ude00"},{"type":"text","text":"z\u00e9"}]}]}`,
	} {
		whole := taskText(t, "chat", body, 1<<16)
		before := 0
		for n := range len(whole) + 2 {
			got := taskText(t, "chat", body, n)
			if len(got) > n || !utf8.ValidString(got) || strings.Contains(got, "\ufffd") || n >= len(whole) && got != whole {
				t.Fatalf("%d: %q", n, got)
			}
			if len(got) < before-3*prefix {
				t.Fatalf("%d: %q is much shorter than before", n, got)
			}
			before = len(got)
		}
	}
}

func TestTaskText_ManyTurns(t *testing.T) {
	var turns []string
	for i := range 3 * maxTurns {
		turns = append(turns, fmt.Sprint("turn ", i))
	}
	body := chatWith("s", turns...)
	got := taskText(t, "chat", body, 1<<20)
	if strings.Count(got, "\n") != maxTurns || !strings.HasSuffix(got, "assistant: turn 3071") || !strings.Contains(got, "s\nuser: turn 2048\n") {
		t.Errorf("%d lines: %.100q", strings.Count(got, "\n"), got)
	}
	if got := taskText(t, "chat", body, 100); len(got) > 100 || !strings.HasSuffix(got, "user: turn 3070\nassistant: turn 3071") {
		t.Errorf("%q", got)
	}
	var c Call
	if err := c.Parse([]byte(body)); err != nil {
		t.Fatal(err)
	}
	c.TaskText(nil, endpoints["/chat/completions"], 100)
	if c.Reset(); cap(c.task.turns) > keepSources {
		t.Errorf("keeps %d turns", cap(c.task.turns))
	}
}

func TestTaskText_AppendsOnly(t *testing.T) {
	var c Call
	if err := c.Parse([]byte(chatWith("s", "a"))); err != nil {
		t.Fatal(err)
	}
	dst := append(make([]byte, 0, 100), "before"...)
	if got := c.TaskText(dst, endpoints["/chat/completions"], 16); string(got) != "beforesystem: s\nuser: a"[:6+16] && len(got) > 6+16 {
		t.Errorf("%q", got)
	}
	if got := c.TaskText(dst, nil, 100); string(got) != "before" {
		t.Errorf("%q", got)
	}
}

func FuzzTaskText(f *testing.F) {
	f.Add([]byte(chatWith("s", "a", "data:;base64,AAAA", "日本")), uint8(0), 20)
	f.Add([]byte(`{"model":"m","system":[{"type":"text","text":"A"}],"messages":[{"content":[{"type":"tool_result","content":[{"type":"text","text":"R"}]}]}]}`), uint8(3), 9)
	f.Add([]byte(`{"model":"m","instructions":"\ud83d\ude00","input":[{"type":"function_call_output","output":"42"},{"role":"user","content":"x"}]}`), uint8(2), 33)
	names := []string{"chat", "completions", "responses", "messages", "embeddings", "rerank", "score", "systemone", "models"}
	f.Fuzz(func(t *testing.T, body []byte, endpoint uint8, limit int) {
		var c Call
		if c.Parse(body) != nil {
			return
		}
		e := &Endpoint{Name: names[int(endpoint)%len(names)]}
		got := c.TaskText([]byte("x"), e, limit)
		if len(got)-1 > limit && len(got) > 1 || got[0] != 'x' || !utf8.Valid(got) {
			t.Fatalf("%q", got)
		}
		whole := c.TaskText(nil, e, 1<<20)
		if len(whole) <= limit && !bytes.Equal(got[1:], whole) {
			t.Fatalf("%q, and not whole: %q", got, whole)
		}
		if limit > 0 && len(whole) > 0 && len(whole) <= 1<<19 && limit >= 4 && len(got) == 1 {
			t.Fatalf("nothing of %q in %d", whole, limit)
		}
	})
}

func BenchmarkTaskText(b *testing.B) {
	for name, body := range map[string][]byte{"32KB": chatOf(32 << 10), "1MB": chatOf(1 << 20)} {
		b.Run(name, func(b *testing.B) {
			var c Call
			if err := c.Parse(body); err != nil {
				b.Fatal(err)
			}
			e := endpoints["/chat/completions"]
			var dst []byte
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				dst = c.TaskText(dst[:0], e, 64<<10)
			}
		})
	}
}

// However a text is cut into pieces and chunks, the data in it is found.
func FuzzTaskText_Data(f *testing.F) {
	f.Add("x;base64,QUJD/y", 3, 250)
	f.Add(strings.Repeat("A", 300)+" ;BASE64,"+strings.Repeat("B", 10), 7, 254)
	f.Fuzz(func(t *testing.T, text string, escapes, padding int) {
		if !utf8.ValidString(text) || padding < 0 || padding > 1000 {
			return
		}
		text = strings.Repeat(". ", padding) + text
		var plain, words lines
		w := window(nil, 0, 1<<20)
		w.words([]byte(text))
		quoted := mustJSON(text)
		for i := range quoted { // some slashes are escaped
			if escapes > 0 && quoted[i] == '/' && i%escapes == 0 {
				quoted = append(quoted[:i], append([]byte(`\`), quoted[i:]...)...)
				break
			}
		}
		plain = window(nil, 0, 1<<20)
		plain.label = "x"
		plain.line("x", quoted)
		words = w
		if !bytes.Equal(plain.done(), words.done()) {
			t.Fatalf("%q\nword by word %q", plain.dst, words.dst)
		}
	})
}
