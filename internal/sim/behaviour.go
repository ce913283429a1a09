package sim

import "time"

// Behaviour says how an engine answers. The zero value answers everything at once and well.
type Behaviour struct {
	// Models are the names that the engine serves; others get 404. Empty: any name is served.
	Models []string
	// Text is what the model says. Empty: a sentence that follows from the model and the last thing the user said.
	Text string
	// Tokens is how many words are said: Text is repeated or cut. 0: Text as it is.
	Tokens int
	// Cached and Reasoning are reported in the usage: prompt tokens found in a cache (at the most all of them), and
	// answer tokens that were spent on reasoning.
	Cached, Reasoning int

	// HeadDelay passes before the head of an answer, or before its interim head.
	HeadDelay time.Duration
	// FirstToken passes before the first word, as prefill does; in a stream the head is sent before it.
	FirstToken time.Duration
	// BetweenTokens passes between two words. Words keep to a schedule from the first one, so delays don't add up.
	BetweenTokens time.Duration

	// Status, if not 0, is answered to everything, with Body and Header. An empty Body of a status from 400 up is an
	// error in the shape of the API that was called.
	Status int
	// Body is sent as it is. With a Content-Type of text/event-stream in Header it is sent event by event.
	Body string
	// Header is sent with Status only, and may set the Content-Type.
	Header []Field
	// ExtraHeader is sent with every answer. With "Connection: close" in it the connection is closed after the answer.
	ExtraHeader []Field
	// Interim, from 102 to 199, is sent as a head of its own before the answer's.
	Interim int

	// ErrorEvent is the number, from 1, of the event of a stream that is an error; the stream then ends. 0: none.
	ErrorEvent int
	// Fault breaks the answer.
	Fault Fault

	// Framing is how the end of a body is known.
	Framing Framing
	// Encoding compresses bodies.
	Encoding Encoding
	// SplitWrites is the largest number of bytes that one write takes. 0: an event, or a whole body, is one write.
	SplitWrites int
	// CloseIdleAfter closes a connection that has been idle for so long after an answer. 0: never.
	CloseIdleAfter time.Duration
	// CloseAfterRequests closes a connection after so many answers, without a word. 0: never.
	CloseAfterRequests int
}

// Framing is how the end of a body is known.
type Framing uint8

// Streams are chunked and whole bodies have a length, unless a Behaviour says otherwise.
const (
	Usual Framing = iota
	Chunked
	ContentLength
	CloseDelimited // neither: the body ends with the connection
)

// Encoding is how bodies are compressed.
type Encoding uint8

// A stream is compressed event by event, each flushed.
const (
	Identity       Encoding = iota
	GzipIfAccepted          // for clients that name gzip in Accept-Encoding
	Gzip                    // whether or not the client accepts it
)

// Fault is a way in which an answer breaks.
type Fault struct {
	Kind FaultKind
	// After is how many events, or bytes, come through before it; which of the two is said at the kind.
	After int
}

// FaultKind is a kind of fault.
type FaultKind string

// The kinds of fault. A reset is a connection that ends with RST, a close one that ends with FIN.
const (
	NoFault FaultKind = ""

	// Refuse closes the listener and every idle connection; what runs goes on. The port is kept and listened on again
	// when the behaviour changes. It works with Set only, not by a hook.
	Refuse FaultKind = "refuse"
	// ResetReused resets a connection when a second request comes on it; CloseReused closes it. A new connection is
	// served. They are what a client meets that uses a kept-alive connection too late.
	ResetReused FaultKind = "reset-reused"
	CloseReused FaultKind = "close-reused"
	// ResetRequest resets the connection after so many bytes of the request's body. It works with Set only.
	ResetRequest FaultKind = "reset-request"
	// AnswerEarly answers before the request's body has been read, and closes. It works with Set only, and best with a
	// Status.
	AnswerEarly FaultKind = "answer-early"

	ResetBeforeHead FaultKind = "reset-before-head"
	CloseBeforeHead FaultKind = "close-before-head"
	ResetAfterHead  FaultKind = "reset-after-head"
	// ResetAfterEvents and CloseAfterEvents end a stream after so many events, without the end of its framing. The
	// body of an answer that is not a stream is one event.
	ResetAfterEvents FaultKind = "reset-after-events"
	CloseAfterEvents FaultKind = "close-after-events"
	// ResetAfterBytes and CloseAfterBytes end an answer after so many bytes on the wire, head and framing included.
	ResetAfterBytes FaultKind = "reset-after-bytes"
	CloseAfterBytes FaultKind = "close-after-bytes"
	// ShortBody announces the whole body by its length, sends so many bytes of it, and closes.
	ShortBody FaultKind = "short-body"

	// Silent reads the request and never answers; HeadThenSilence sends the head and SilentAfterEvents so many events
	// before they fall silent. The connection stays open until the client closes it.
	Silent            FaultKind = "silent"
	HeadThenSilence   FaultKind = "head-then-silence"
	SilentAfterEvents FaultKind = "silent-after-events"
)
