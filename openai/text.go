package openai

// TaskText appends the text of the task in the shape of the endpoint's API: system text and recent turns, at most max bytes of it.
func (c *Call) TaskText(dst []byte, e *Endpoint, max int) []byte { return dst }
