package openai

// Call is a request as one walk over its body found it. The zero value is ready to use; a used one is made ready
// again by Reset and keeps its memory. The byte slices it hands out point into the body (or into the call's own memory, where a
// value had escapes) and live as long as both.
type Call struct{}

// Parse reads a JSON body. The error is a ready 400.
func (c *Call) Parse(body []byte) *Error { return nil }

// ParseForm reads a multipart/form-data body.
func (c *Call) ParseForm(contentType, body []byte) *Error { return nil }

// Reset makes the call ready for another request. It keeps its memory up to a bound and nothing else.
func (c *Call) Reset() {}

// Model returns the model that is asked for, decoded.
func (c *Call) Model() []byte { return nil }

// Stream reports whether an event stream is asked for.
func (c *Call) Stream() bool { return false }

// ModelSpan returns where the model's value stands in the body: the JSON string with its quotes, or the content of the form's part.
func (c *Call) ModelSpan() (from, until int) { return 0, 0 }

// EncodeModel appends a name as it is written into the span: quoted in JSON, plain in a form.
func (c *Call) EncodeModel(dst []byte, name string) []byte { return dst }

// String returns the string at a path of member names in a JSON body, decoded. found is false if there is nothing, something else than
// a string, or no JSON body. The error is a ready 400 for a member on the path that is written twice.
func (c *Call) String(path []string) (value []byte, found bool, err *Error) { return nil, false, nil }

// TaskText appends the text of the task in the shape of the endpoint's API: system text and recent turns, at most max bytes of it.
func (c *Call) TaskText(dst []byte, e *Endpoint, max int) []byte { return dst }
