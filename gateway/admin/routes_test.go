package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// Every path that answers is in the OpenAPI document, and the other way around.
func TestDocumentHasEveryRoute(t *testing.T) {
	a := &admin{Config: Config{Metrics: http.NotFoundHandler()}, router: chi.NewRouter(), pages: map[string]bool{}}
	a.routes()
	var answered []string
	err := chi.Walk(a.router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if !a.pages[path] {
			answered = append(answered, method+" "+path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openapi, &doc); err != nil {
		t.Fatal(err)
	}
	var documented []string
	for path, operations := range doc.Paths {
		for method := range operations {
			if method != "parameters" {
				documented = append(documented, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(answered)
	slices.Sort(documented)
	if !slices.Equal(answered, documented) {
		t.Errorf("answered:\n%s\ndocumented:\n%s", strings.Join(answered, "\n"), strings.Join(documented, "\n"))
	}
}
