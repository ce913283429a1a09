package route

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gpustack/gpustack-gateway/plugins"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(testKinds())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("routes.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("routes.json") // which holds it to the metaschema
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// beyondShape are the bad files that a schema can't tell: what is wrong is how places relate, or what a variable holds.
var beyondShape = []string{
	"api-token-variable", "max-inflight-differs", "mixed-weights", "no-candidate", "target-twice", "target-unknown",
}

// notJSON are the bad files that no validator is shown, or that it is shown as something else.
var notJSON = []string{
	"empty", "truncated", "not-json", "byte-order-mark", "comment", "trailing-comma", "missing-comma",
	"text-after-the-end", "bad-escape", "member-twice", "list-twice",
}

// TestSchema holds the schema to the parser: every good file is valid by it, and every bad one is not, unless what is
// wrong with it is no matter of shape.
func TestSchema(t *testing.T) {
	schema := compileSchema(t)
	for _, file := range files(t, "good", "bad") {
		good := filepath.Base(filepath.Dir(file)) == "good"
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if slices.Contains(notJSON, name) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err = schema.Validate(instance)
		if valid := good || slices.Contains(beyondShape, name); valid != (err == nil) {
			t.Errorf("%s is valid by the schema: %v, want %v; %v", name, err == nil, valid, err)
		}
	}
}

// Test that the schema knows every policy and nothing else, with what each policy has.
func TestSchemaPolicies(t *testing.T) {
	text := string(Schema(testKinds()))
	for _, k := range testKinds() {
		if !strings.Contains(text, `"`+k.Name+`": {`) {
			t.Errorf("%s is not in the schema", k.Name)
		}
	}
	if none := string(Schema(nil)); strings.Contains(none, "session_affinity") || !strings.Contains(none, `"policies"`) {
		t.Error("policies without kinds")
	}
	for _, bad := range []string{"", "[]", `{"properties": 1}`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken for a schema", bad)
				}
			}()
			Schema([]plugins.Kind{{Name: "x", Schema: bad}})
		}()
	}
}
