package plugins

import (
	"errors"
	"fmt"
	"math"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// common are the members that every policy has. They are the route's, and no plugin's own may be called so.
var common = []string{"enabled", "weight"}

// Check says what is wrong with a set of kinds: a name that is not one or is taken twice, a default weight that is not
// a positive finite number, a schema that is not an object schema or claims a member that every policy has.
func Check(kinds []Kind) error {
	seen := map[string]bool{}
	for _, k := range kinds {
		switch {
		case k.Name == "" || jsontree.Field("", k.Name) != k.Name:
			return fmt.Errorf("policy %q: the name is to be of letters, digits and _", k.Name)
		case seen[k.Name]:
			return fmt.Errorf("policy %s is registered twice", k.Name)
		case !(k.Weight > 0) || math.IsInf(k.Weight, 1):
			return fmt.Errorf("policy %s: the default weight %v is not a positive number", k.Name, k.Weight)
		case k.Build == nil:
			return fmt.Errorf("policy %s has no Build", k.Name)
		}
		seen[k.Name] = true
		if err := checkSchema(k.Schema); err != nil {
			return fmt.Errorf("policy %s: its schema %w", k.Name, err)
		}
	}
	return nil
}

func checkSchema(text string) error {
	v, problems := jsontree.Parse([]byte(text))
	if len(problems) > 0 {
		return fmt.Errorf("%s (%s)", problems[0].Message, problems[0].Path)
	}
	if kind := v.Member("type"); kind == nil || kind.Text != "object" {
		return errors.New(`is not one of "type": "object"`)
	}
	properties := v.Member("properties")
	for _, name := range common {
		if properties.Member(name) != nil {
			return fmt.Errorf("has %q, which every policy has", name)
		}
	}
	return nil
}
