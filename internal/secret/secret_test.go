package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Test that no way of printing gives a secret away.
func TestString(t *testing.T) {
	const text = "hunter2-very-secret"
	s := New(text)
	deep := struct {
		Name string
		Key  String
		Ptr  *String
		Any  any
		own  String
	}{"x", s, &s, []String{s}, s}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "key", s, "deep", deep)
	encoded, err := json.Marshal(deep)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{logged.String(), string(encoded), fmt.Sprint(s), fmt.Sprint(deep), fmt.Sprint(&deep), fmt.Errorf("x: %w", fmt.Errorf("%v", s)).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T%v", "%10s"} {
		shown = append(shown, fmt.Sprintf(verb, s), fmt.Sprintf(verb, deep), fmt.Sprintf(verb, &deep), fmt.Sprintf(verb, []any{s}))
	}
	_ = deep.own
	hex := fmt.Sprintf("%x", text)
	for _, got := range shown {
		if strings.Contains(got, text) || strings.Contains(strings.ToLower(got), hex) {
			t.Errorf("the secret shows in %q", got)
		}
	}
	if s.Reveal() != text {
		t.Errorf("Reveal() = %q", s.Reveal())
	}
	if s.IsZero() || !(String{}).IsZero() {
		t.Error("IsZero is wrong")
	}
}
