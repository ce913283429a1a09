// Package jsontree reads JSON that people write: into a tree whose values know where they stand, and from there, strictly,
// into Go values. What is wrong is told with its place and its path, and all of it at once.
package jsontree

// Kind is what a value is.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{Null: "null", Bool: "true or false", Number: "a number", String: "a string",
	Array: "an array", Object: "an object"}

// String returns the kind with its article, "a string" for example.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Value is one value of a JSON text.
type Value struct {
	Kind    Kind
	Offset  int      // of its first byte in the text
	End     int      // of the byte after its last one
	Text    string   // a string decoded; a number, true, false and null as written
	Items   []*Value // of an array
	Members []Member // of an object, in the order written
}

// Member is one member of an object.
type Member struct {
	Name   string
	Offset int // of the name's first byte, the quotation mark
	Value  *Value
}

// Member returns the value of an object's member, the first of that name, and nil if there is none or v is no object.
func (v *Value) Member(name string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

// Problem is something wrong at one place of a text.
type Problem struct {
	Offset  int
	Path    string // of the value at fault, see Path; "" is the whole text
	Message string // says of what stands at Path what is wrong with it and what is allowed
}
