// Package jsonedit changes one place of a JSON text that people write. Everything else keeps its layout, byte for byte;
// what is new is laid out as the rest is.
package jsonedit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// Error is what is wrong with one of the texts, so that nothing can be edited.
type Error struct{ jsontree.Problem }

func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("the text, at offset %d, %s", e.Offset, e.Message)
	}
	return fmt.Sprintf("%s, at offset %d, %s", e.Path, e.Offset, e.Message)
}

// parse reads a text that has to be without a mistake.
func parse(text []byte) (*jsontree.Value, error) {
	v, problems := jsontree.Parse(text)
	if len(problems) > 0 {
		return nil, &Error{problems[0]}
	}
	return v, nil
}

// Set returns the text with the value at a path (see jsontree.Field) made equal to another one. Of what both have in
// common the layout stays, down to single members and elements. If there is nothing, but an object that may have a member
// of that (plain) name, it gets one, at its end. The error tells that the text or the value is not JSON (an *Error), or
// that there is no such place. No text is changed in place.
func Set(text []byte, path string, value []byte) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	e := newEditor(text, root)
	at, found := root.Find(path)
	if !found {
		return e.add(root, path, value)
	}
	v, err := parse(value)
	if err != nil {
		return nil, err
	}
	e.merge(at, source{value, v})
	return e.result(), nil
}

// Append returns the text with one more element at the end of the array at a path, which is made where Set would make a
// member. Errors are as those of Set.
func Append(text []byte, path string, value []byte) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	v, err := parse(value)
	if err != nil {
		return nil, err
	}
	e := newEditor(text, root)
	at, found := root.Find(path)
	switch {
	case !found:
		return e.add(root, path, slices.Concat([]byte("["), value, []byte("]")))
	case at.Kind != jsontree.Array:
		return nil, fmt.Errorf("%s is %s and not an array", path, at.Kind)
	}
	e.insert(at, len(at.Items), []piece{{source: source{value, v}}})
	return e.result(), nil
}

// add gives an object the member that a path asks for.
func (e *editor) add(root *jsontree.Value, path string, value []byte) ([]byte, error) {
	parent, name := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		parent, name = path[:dot], path[dot+1:]
	}
	holder, found := root.Find(parent)
	if !found || holder.Kind != jsontree.Object || jsontree.Field(parent, name) != path {
		return nil, fmt.Errorf("there is nothing at %q", path)
	}
	v, err := parse(value)
	if err != nil {
		return nil, err
	}
	e.insert(holder, len(holder.Members), []piece{{member: true, name: name, source: source{value, v}}})
	return e.result(), nil
}

// Remove returns the text without the element or member at a path. Errors are as those of Set.
func Remove(text []byte, path string) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	at, found := root.Find(path)
	if !found || at == root {
		return nil, fmt.Errorf("there is nothing to remove at %q", path)
	}
	e := newEditor(text, root)
	holder, i := holderOf(root, at)
	e.remove(holder, i, i+1)
	return e.result(), nil
}

// holderOf returns the array or object that a value below v is in, and the value's position there.
func holderOf(v, at *jsontree.Value) (*jsontree.Value, int) {
	for {
		i := 0
		for child(v, i).End < at.End {
			i++
		}
		if child(v, i) == at {
			return v, i
		}
		v = child(v, i)
	}
}

// size returns how many elements or members a value has.
func size(v *jsontree.Value) int { return len(v.Items) + len(v.Members) }

// child returns the i-th element of an array, or the value of an object's i-th member.
func child(v *jsontree.Value, i int) *jsontree.Value {
	if v.Kind == jsontree.Array {
		return v.Items[i]
	}
	return v.Members[i].Value
}

// start returns where the i-th element or member begins.
func start(v *jsontree.Value, i int) int {
	if v.Kind == jsontree.Array {
		return v.Items[i].Offset
	}
	return v.Members[i].Offset
}
