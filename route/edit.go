package route

import (
	"cmp"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// What whoever shows or edits the routes file needs to know of it.

// Text returns the file's text that the snapshot was built from by Load. It holds secrets, and must not be changed.
func (s *Snapshot) Text() []byte { return s.text }

// Problems returns what is wrong with that text, sorted by place: at route level, or a warning. They must not be changed.
func (s *Snapshot) Problems() []Problem { return s.problems }

// Provider returns how a provider of the file is reached, whatever it is used for. The upstream asks for no model.
func (s *Snapshot) Provider(name string) (Upstream, bool) {
	up, ok := s.providers[name]
	return up, ok
}

// Providers returns the names of the providers.
func (s *Snapshot) Providers() map[string]bool {
	names := make(map[string]bool, len(s.providers))
	for name := range s.providers {
		names[name] = true
	}
	return names
}

// Path returns the path of the routes file.
func (t *Table) Path() string { return t.path }

// Root returns the file as a tree, whose values say where they stand in the text. It holds secrets, and must not be
// changed.
func (f *File) Root() *jsontree.Value { return f.root }

// IsSet reports whether there is a token.
func (t *Token) IsSet() bool { return t.variable != "" || !t.literal.IsZero() }

// Variable returns the name of the environment variable that holds the token, and "" if none does.
func (t *Token) Variable() string { return t.variable }

// Called returns what policies call the model of the target: by its overridden name if it has one, else by the name that
// the file gives the model, whatever its engines know it by.
func (t *TargetEntry) Called() string {
	is := t.identity()
	return cmp.Or(is.asks, is.name)
}

// EngineURL returns what the engine of a URL is known by, which is its lb.Engine's URL. It is "" for what is no URL of an
// engine.
func EngineURL(url string) string {
	a, base, err := parseURL(url)
	if err != nil {
		return ""
	}
	return identity(a, base)
}

// SameAddress reports whether two URLs of providers lead to one place: requests to both go to the same host and port, in
// the clear or not.
func SameAddress(a, b string) bool {
	one, _, err := parseURL(a)
	if err != nil {
		return false
	}
	other, _, err := parseURL(b)
	return err == nil && one.Host == other.Host && one.TLS == other.TLS
}
