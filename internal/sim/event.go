package sim

import "strconv"

// event ends an event of a stream, or puts an error in its place, after which nothing but the stream's end is sent.
func (x *exchange) event(p pause) {
	s := x.s
	if s.ended {
		s.buf = s.buf[:s.begin()]
		return
	}
	if x.b.ErrorEvent == len(s.pieces)+1 {
		s.buf = x.appendErrorEvent(s.buf[:s.begin()])
		s.ended = true
	}
	s.put(p)
}

func (x *exchange) appendErrorEvent(dst []byte) []byte {
	const message = "The engine was told to fail here."
	path, _ := x.path()
	switch path {
	case "/messages":
		dst = append(dst, "event: error\ndata: "...)
		dst = x.appendAnthropicError(dst, 529, message)
	case "/responses":
		dst = append(dst, "event: error\ndata: "...)
		dst = appendJSON(dst, object{
			"type": "error", "code": "server_error", "message": message, "param": nil, "sequence_number": len(x.s.pieces),
		})
	default:
		dst = append(dst, "data: "...)
		dst = appendOpenAIError(dst, 500, "", "", message)
	}
	return append(dst, "\n\n"...)
}

func appendGauge(dst []byte, name, help, model string, value int) []byte {
	dst = append(dst, "# HELP "+name+" "+help+"\n# TYPE "+name+" gauge\n"+name+"{model_name="...)
	dst = strconv.AppendQuote(dst, model)
	dst = append(dst, "} "...)
	dst = strconv.AppendInt(dst, int64(value), 10)
	return append(dst, '\n')
}
