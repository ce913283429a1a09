package openai

// ParseForm reads a multipart/form-data body.
func (c *Call) ParseForm(contentType, body []byte) *Error { return nil }

// TaskText appends the text of the task in the shape of the endpoint's API: system text and recent turns, at most max bytes of it.
func (c *Call) TaskText(dst []byte, e *Endpoint, max int) []byte { return dst }
