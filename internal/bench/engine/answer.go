package engine

import (
	"bytes"
	"strconv"
	"sync"
	"time"
)

// plain is a whole answer, head and body, that goes out in one write.
type plain struct {
	text []byte
	half int // the middle of its body
}

// answers keeps the plain answers by the length of their bodies.
type answers struct{ made sync.Map }

func (a *answers) of(length int) *plain {
	if p, ok := a.made.Load(length); ok {
		return p.(*plain) //nolint:forcetypeassert // nothing else is stored
	}
	p, _ := a.made.LoadOrStore(length, makePlain(length))
	return p.(*plain) //nolint:forcetypeassert // nothing else is stored
}

const (
	completionStart = `{"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"bench","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"`
	completionEnd = `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":500,"completion_tokens":200,"total_tokens":700}}`
)

// makePlain makes the answer to a chat with a body of the given length, or as short as it can be.
func makePlain(length int) *plain {
	fill := max(0, length-len(completionStart)-len(completionEnd))
	body := completionStart + string(bytes.Repeat([]byte("a"), fill)) + completionEnd
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	return &plain{text: []byte(head + body), half: len(head) + len(body)/2}
}

const (
	streamHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
	eventFront  = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,"delta":{"content":"token "},"finish_reason":null}],"n":`
	sentMember  = `,"sent":`
	eventBack   = "}\n\n"
	numberWidth = 9
	sentWidth   = 19
	streamEnd   = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[],"usage":{"prompt_tokens":500,"completion_tokens":200,"total_tokens":700}}` + "\n\ndata: [DONE]\n\n"

	// EventTail is how long the part of an event is that differs from one to the next: from its number to its end.
	EventTail = numberWidth + len(sentMember) + sentWidth + len(eventBack)
)

// appendChunk frames a text.
func appendChunk(dst []byte, text string) []byte {
	dst = strconv.AppendInt(dst, int64(len(text)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, text...)
	return append(dst, "\r\n"...)
}

// appendEvent appends an event in a chunk of its own: one token, with its number and when it was sent.
func appendEvent(dst []byte, n int, sent time.Time) []byte {
	dst = strconv.AppendInt(dst, int64(len(eventFront)+EventTail), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, eventFront...)
	dst = appendFixed(dst, int64(n), numberWidth)
	dst = append(dst, sentMember...)
	dst = appendFixed(dst, sent.UnixNano(), sentWidth)
	dst = append(dst, eventBack...)
	return append(dst, "\r\n"...)
}

// appendFixed writes a number with spaces in front, so that it is JSON and always as wide.
func appendFixed(dst []byte, n int64, width int) []byte {
	from := len(dst)
	for range width {
		dst = append(dst, ' ')
	}
	for i := len(dst) - 1; i >= from; i-- {
		dst[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			break
		}
	}
	return dst
}

// ParseEvent reads number and time from an event's text, which includes its empty line. Ok is false for what is none of
// the engine's numbered events, such as the last two of a stream.
func ParseEvent(event []byte) (n int, sent int64, ok bool) {
	if len(event) < EventTail {
		return 0, 0, false
	}
	tail := event[len(event)-EventTail:]
	if string(tail[numberWidth:numberWidth+len(sentMember)]) != sentMember {
		return 0, 0, false
	}
	return int(fixed(tail[:numberWidth])), fixed(tail[numberWidth+len(sentMember) : EventTail-len(eventBack)]), true
}

func fixed(b []byte) (n int64) {
	for _, c := range b {
		if c != ' ' {
			n = 10*n + int64(c-'0')
		}
	}
	return n
}
