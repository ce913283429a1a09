package jsontree

import (
	"strconv"
	"strings"
)

// Path is how messages name a value: "routes[2].targets[0].weight" is the weight of the first target of the third route.
// A name that would be ambiguous in it is quoted: criteria["qwen3-0.6b"]. These functions build and follow such paths.

// Field returns the path of an object's member.
func Field(path, name string) string {
	switch {
	case !plain(name):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// Index returns the path of an array's element, counted from 0.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Join returns the path of what stands at the path below within what stands at path.
func Join(path, below string) string {
	if path == "" || below == "" || below[0] == '[' {
		return path + below
	}
	return path + "." + below
}

// plain reports whether a name needs no quotes in a path.
func plain(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '$' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// Find returns the value at a path below v. If there is none it returns the innermost value on the way to it, and found
// is false.
func (v *Value) Find(path string) (at *Value, found bool) {
	for at = v; path != ""; {
		var next *Value
		next, path = at.step(path)
		if next == nil {
			return at, false
		}
		at = next
	}
	return at, at != nil
}

// step follows the first step of a path and returns what is left of it. It returns nil if there is no such value.
func (v *Value) step(path string) (*Value, string) {
	if path[0] != '[' {
		path = strings.TrimPrefix(path, ".")
		return v.longest(path)
	}
	if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil {
		name, _ := strconv.Unquote(quoted) // which QuotedPrefix has checked
		return v.Member(name), strings.TrimPrefix(path[1+len(quoted):], "]")
	}
	number, rest, _ := strings.Cut(path[1:], "]")
	i, err := strconv.Atoi(number)
	if err != nil || v == nil || i < 0 || i >= len(v.Items) {
		return nil, rest
	}
	return v.Items[i], rest
}

// longest follows the member with the longest name that the path can be read to begin with: a name with a dot in it need
// not be quoted where that is plain.
func (v *Value) longest(path string) (member *Value, rest string) {
	if v == nil {
		return nil, path
	}
	most := -1
	for i := range v.Members {
		name := v.Members[i].Name
		after, ok := strings.CutPrefix(path, name)
		if ok && len(name) > most && (after == "" || after[0] == '.' || after[0] == '[') {
			member, rest, most = v.Members[i].Value, after, len(name)
		}
	}
	return member, rest
}

// trail is a path in the making, from its end to its start: text is made of it only if there is something to tell.
type trail struct {
	up    *trail
	name  string // of a member, if index is negative
	index int
}

func (t *trail) String() string {
	if t == nil {
		return ""
	}
	if t.index < 0 {
		return Field(t.up.String(), t.name)
	}
	return Index(t.up.String(), t.index)
}
