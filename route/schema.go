package route

import (
	"bytes"
	_ "embed" // of schema.json
	"encoding/json"
	"fmt"

	"github.com/gpustack/gpustack-gateway/plugins"
)

//go:embed schema.json
var schemaText []byte

// policiesMark is where the policies' parts go in schema.json: the only empty list of properties.
const policiesMark = `"properties": {}`

// Schema returns the JSON Schema (2020-12) of the routes file, with what the kinds say of their policies in it. The kinds
// must be as plugins.Check wants them.
func Schema(kinds []plugins.Kind) []byte {
	var parts bytes.Buffer
	for i := range kinds {
		if i > 0 {
			parts.WriteByte(',')
		}
		fmt.Fprintf(&parts, "%q:%s", kinds[i].Name, policySchema(&kinds[i]))
	}
	text := bytes.Replace(schemaText, []byte(policiesMark), fmt.Appendf(nil, `"properties": {%s}`, parts.Bytes()), 1)
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		panic("route: the schema is not JSON: " + err.Error())
	}
	return out.Bytes()
}

// policySchema returns the schema of a policy's object: the plugin's own members, and those that every policy has.
func policySchema(k *plugins.Kind) []byte {
	var schema map[string]json.RawMessage
	properties := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(k.Schema), &schema); err != nil {
		panic("route: the schema of the policy " + k.Name + " is not an object: " + err.Error())
	}
	if own := schema["properties"]; own != nil {
		if err := json.Unmarshal(own, &properties); err != nil {
			panic("route: the properties of the policy " + k.Name + " are not an object: " + err.Error())
		}
	}
	properties["enabled"] = json.RawMessage(`{"description": "false switches the policy off in place.", "type": "boolean", "default": true}`)
	properties["weight"] = fmt.Appendf(nil, `{"description": "How much its vote counts.", "type": "number", "exclusiveMinimum": 0, "default": %v}`, k.Weight)
	schema["properties"] = mustMarshal(properties)
	schema["additionalProperties"] = json.RawMessage("false")
	return mustMarshal(schema)
}

// mustMarshal encodes JSON that has just been decoded, where nothing can fail.
func mustMarshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("route: " + err.Error())
	}
	return text
}
