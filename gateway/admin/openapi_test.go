package admin_test

import (
	"bytes"
	_ "embed" // of openapi.json
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed openapi.json
var document []byte

// contract is the OpenAPI document, ready to hold answers to it.
type contract struct {
	paths    map[string]map[string]json.RawMessage
	compiler *jsonschema.Compiler
	mu       sync.Mutex
}

var described = sync.OnceValue(func() *contract {
	c := &contract{compiler: jsonschema.NewCompiler()}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		panic(err)
	}
	c.paths = doc.Paths
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		panic(err)
	}
	c.compiler.AssertFormat()
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := c.compiler.AddResource("openapi.json", tree); err != nil {
		panic(err)
	}
	return c
})

// path returns the document's path of one that is asked, "" if there is none.
func (c *contract) path(asked string) string {
	asked, _, _ = strings.Cut(asked, "?")
	steps := strings.Split(asked, "/")
	best := ""
	for path := range c.paths {
		parts := strings.Split(path, "/")
		if len(parts) != len(steps) {
			continue
		}
		fits := true
		for i := range parts {
			fits = fits && (parts[i] == steps[i] || strings.HasPrefix(parts[i], "{"))
		}
		if fits && (best == "" || strings.Count(path, "{") < strings.Count(best, "{")) {
			best = path
		}
	}
	return best
}

// check holds an answer to the document.
func (c *contract) check(t testing.TB, method, asked string, r reply) {
	t.Helper()
	path := c.path(asked)
	operation, known := c.paths[path][strings.ToLower(method)]
	if !known || method == http.MethodHead {
		return // a test of what there is not
	}
	pointer := fmt.Sprintf("#/paths/%s/%s/responses/%d", escape(path), strings.ToLower(method), r.status)
	var o struct{ Responses map[string]json.RawMessage }
	if err := json.Unmarshal(operation, &o); err != nil {
		t.Fatal(err)
	}
	response, ok := o.Responses[fmt.Sprint(r.status)]
	if !ok {
		if r.status < 400 {
			t.Errorf("%s %s answers %d, which the document does not have", method, path, r.status)
			return
		}
		pointer, response = "#/components/responses/Failure", []byte(`{"content":{"application/json":{}}}`)
	}
	var content struct {
		Headers map[string]any
		Content map[string]json.RawMessage
	}
	if err := json.Unmarshal(response, &content); err != nil {
		t.Fatal(err)
	}
	if _, ok := content.Headers["ETag"]; ok != (r.header.Get("ETag") != "") && r.status < 400 && !strings.Contains(asked, "dry_run=true") {
		t.Errorf("%s %s answers with ETag %q, the document says %v", method, path, r.header.Get("ETag"), ok)
	}
	kind, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	if len(content.Content) == 0 {
		if r.body != "" {
			t.Errorf("%s %s answers %d with a body", method, path, r.status)
		}
		return
	}
	if _, ok := content.Content[kind]; !ok {
		t.Errorf("%s %s answers with %s", method, path, kind)
		return
	}
	if kind != "application/json" {
		return
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
	if err != nil {
		t.Errorf("%s %s answers with %s: %v", method, path, r.body, err)
		return
	}
	c.mu.Lock()
	schema, err := c.compiler.Compile("openapi.json" + pointer + "/content/application~1json/schema")
	c.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s answers %d with what the document does not allow: %v\n%s", method, asked, r.status, err, r.body)
	}
}

// escape writes a path as a step of a JSON pointer in a URL.
func escape(path string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)
}
