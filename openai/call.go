package openai

// Call is a request as one walk over its body found it. The zero value is ready to use; a used one is made ready
// again by Reset and keeps its memory. The byte slices it hands out point into the body and live as long as that.
type Call struct{}
