package sim

import "github.com/tidwall/gjson"

// completions serves OpenAI's older completions, for one prompt.
func (x *exchange) completions() {
	root, ok := x.object()
	if !ok {
		return
	}
	asked := root.get("prompt")
	if asked.IsArray() && asked.Get("#").Int() == 1 {
		asked = asked.Get("0")
	}
	if asked.Type != gjson.String {
		x.fail(400, "", "prompt", "The prompt must be one text.")
		return
	}
	p := prompt{said: asked.Str, words: countWords(asked.Raw), limit: int(root.get("max_tokens").Int())}
	said, words, cut := x.reply(&p)
	id, spent := x.id("cmpl-"), len(words)+x.b.Reasoning
	if !x.q.Stream {
		b := x.appendCompletion(x.s.buf, id, said, stopReason(cut))
		b = append(b, ',')
		b = x.appendUsage(b, p.words, spent)
		b = append(b, '}')
		x.s.buf = b
		x.s.tokens = len(words)
		x.s.put(atOnce)
		return
	}
	x.s.stream, x.s.ctype = true, "text/event-stream"
	for i, w := range words {
		pause, finish := betweenToken, ""
		if i == 0 {
			pause = firstToken
		}
		if i == len(words)-1 {
			finish = stopReason(cut)
		}
		b := x.appendCompletion(append(x.s.buf, "data: "...), id, w, finish)
		b = append(b, "}\n\n"...)
		x.s.buf = b
		x.event(pause)
	}
	if root.get("stream_options").Get("include_usage").Bool() {
		b := x.appendChatHead(append(x.s.buf, "data: "...), id, "text_completion")
		b = append(b, `,"choices":[],`...)
		b = x.appendUsage(b, p.words, spent)
		b = append(b, "}\n\n"...)
		x.s.buf = b
		x.event(atOnce)
	}
	x.s.buf = append(x.s.buf, "data: [DONE]\n\n"...)
	x.s.put(atOnce)
}

// appendCompletion appends a completion with one choice, without its closing brace.
func (x *exchange) appendCompletion(dst []byte, id, said, finish string) []byte {
	dst = x.appendChatHead(dst, id, "text_completion")
	dst = append(dst, `,"choices":[{"index":0,"text":`...)
	dst = appendString(dst, said)
	dst = append(dst, `,"logprobs":null,"finish_reason":`...)
	if finish == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, finish)
	}
	return append(dst, "}]"...)
}
