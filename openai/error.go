package openai

// Error is what a client is told when its request can't be served.
type Error struct {
	Status  int    // HTTP status
	Type    string // OpenAI's error type; Anthropic's follows from Status
	Code    string // machine-readable, may be empty
	Message string // for people; names the field, the value and what is allowed
	Param   string // the field at fault, empty if none is
}

func (e *Error) Error() string { return e.Message }
