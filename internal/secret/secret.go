// Package secret holds what must not be shown: a string that prints as nothing, however it is printed.
package secret

import "fmt"

// hidden is what a secret looks like, whether it is set or not: even that is nobody's business.
const hidden = "[secret]"

// String is a secret. Only Reveal gives it away; formatting, JSON and text encoding show a placeholder. The zero value
// is no secret. Two secrets of the same text are not equal by ==.
type String struct {
	text *string // a pointer, since fmt prints the fields of unexported fields without asking Format
}

// New returns text as a secret.
func New(text string) String {
	if text == "" {
		return String{}
	}
	return String{&text}
}

// Reveal returns the secret itself, for the one place that has to send it.
func (s String) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s String) IsZero() bool { return s.text == nil }

// Format writes the placeholder for every verb and flag, also where the secret is deep inside another value.
func (s String) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// String returns the placeholder.
func (s String) String() string { return hidden }

// MarshalText returns the placeholder, for JSON and every other encoding.
func (s String) MarshalText() ([]byte, error) { return []byte(hidden), nil }
