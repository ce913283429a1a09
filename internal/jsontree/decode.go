package jsontree

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Decode decodes v into what into points to, strictly, and returns all that does not fit; path is v's own. What does not
// fit leaves its place as it was, and so does a member that is absent, so that a caller may fill in defaults first.
//
// Members go to the fields of a struct, and of structs embedded in it, by their json tags; a member without a field is
// a problem unless it is among except (which counts at the top only). A field tagged `jsontree:"required"` must be
// there; of one tagged `jsontree:"secret"` no message shows the value; "required,secret" is both. A time.Duration is written as Go writes it ("10s"), or 0, and is not
// negative; a time.Time as RFC 3339 says; an encoding.TextUnmarshaler as a string. A *Value takes whatever there is,
// null included, which nothing else does. A pointer that stays nil tells that a member is absent.
func Decode(v *Value, path string, into any, except ...string) []Problem {
	d := decoder{base: path, except: except, fields: map[reflect.Type][]field{}}
	d.decode(v, nil, reflect.ValueOf(into).Elem(), false)
	return d.problems
}

type decoder struct {
	base     string
	except   []string
	fields   map[reflect.Type][]field
	problems []Problem
}

type field struct {
	name             string
	index            []int
	required, secret bool
}

func (d *decoder) problemf(t *trail, offset int, format string, args ...any) {
	d.problems = append(d.problems, Problem{Offset: offset, Path: Join(d.base, t.String()), Message: fmt.Sprintf(format, args...)})
}

// mismatch reports that a value is not what it should be.
func (d *decoder) mismatch(v *Value, t *trail, want string, secret bool) {
	d.problemf(t, v.Offset, "%s is not %s", v.show(secret), want)
}

// Describe returns the value as a message names it: "the string \"abc\"", "the number 5", "an array". Long ones are cut.
func (v *Value) Describe() string { return v.show(false) }

func (v *Value) show(secret bool) string {
	switch {
	case v.Kind == Null || v.Kind == Array || v.Kind == Object || (secret && v.Kind != Bool):
		return v.Kind.String()
	case v.Kind == String:
		return fmt.Sprintf("the string %.60q", v.Text)
	case v.Kind == Number:
		return fmt.Sprintf("the number %.60s", v.Text)
	case secret:
		return "a truth value"
	}
	return v.Text
}

var (
	valueType    = reflect.TypeFor[*Value]()
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// decode decodes v, which stands at t, into a place.
func (d *decoder) decode(v *Value, t *trail, into reflect.Value, secret bool) {
	switch {
	case into.Type() == valueType:
		into.Set(reflect.ValueOf(v))
	case into.Type() == durationType:
		d.duration(v, t, into)
	case into.Type() == timeType:
		d.time(v, t, into)
	case reflect.PointerTo(into.Type()).Implements(textType):
		d.text(v, t, into, secret)
	case into.Kind() == reflect.Pointer:
		// The pointer is set only if there is something to point to.
		before := len(d.problems)
		value := reflect.New(into.Type().Elem())
		if d.decode(v, t, value.Elem(), secret); len(d.problems) == before || value.Elem().Kind() == reflect.Struct {
			into.Set(value)
		}
	case into.Kind() == reflect.Struct:
		d.object(v, t, into)
	case into.Kind() == reflect.Map:
		d.dictionary(v, t, into, secret)
	case into.Kind() == reflect.Slice:
		d.list(v, t, into, secret)
	default:
		d.scalar(v, t, into, secret)
	}
}

func (d *decoder) object(v *Value, t *trail, into reflect.Value) {
	if v.Kind != Object {
		d.mismatch(v, t, Object.String(), false)
		return
	}
	fields := d.fieldsOf(into.Type())
	seen := make([]bool, len(fields))
	for i := range v.Members {
		m := &v.Members[i]
		at := &trail{up: t, name: m.Name, index: -1}
		f := slices.IndexFunc(fields, func(f field) bool { return f.name == m.Name })
		switch {
		case f < 0 && t == nil && slices.Contains(d.except, m.Name):
		case f < 0:
			d.problemf(at, m.Offset, "is unknown here; allowed are %s", d.allowed(fields, t == nil))
		case seen[f]: // twice, as Parse has told
		default:
			seen[f] = true
			d.decode(m.Value, at, into.FieldByIndex(fields[f].index), fields[f].secret)
		}
	}
	for f := range fields {
		if fields[f].required && !seen[f] {
			d.problemf(&trail{up: t, name: fields[f].name, index: -1}, v.Offset, "is required")
		}
	}
}

// fieldsOf returns the fields of a struct, worked out once.
func (d *decoder) fieldsOf(of reflect.Type) []field {
	fields, ok := d.fields[of]
	if !ok {
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			tags := strings.Split(f.Tag.Get("jsontree"), ",")
			fields = append(fields, field{name: name, index: f.Index,
				required: slices.Contains(tags, "required"), secret: slices.Contains(tags, "secret")})
		}
		d.fields[of] = fields
	}
	return fields
}

// allowed lists the members that an object may have.
func (d *decoder) allowed(fields []field, top bool) string {
	var names []string
	for _, f := range fields {
		if f.name[0] != '$' {
			names = append(names, f.name)
		}
	}
	if top {
		names = append(names, d.except...)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (d *decoder) dictionary(v *Value, t *trail, into reflect.Value, secret bool) {
	if v.Kind != Object {
		d.mismatch(v, t, Object.String(), secret)
		return
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(v.Members)))
	for i := range v.Members {
		m := &v.Members[i]
		value := reflect.New(into.Type().Elem()).Elem()
		d.decode(m.Value, &trail{up: t, name: m.Name, index: -1}, value, secret)
		into.SetMapIndex(reflect.ValueOf(m.Name).Convert(into.Type().Key()), value)
	}
}

func (d *decoder) list(v *Value, t *trail, into reflect.Value, secret bool) {
	if v.Kind != Array {
		d.mismatch(v, t, Array.String(), secret)
		return
	}
	list := reflect.MakeSlice(into.Type(), len(v.Items), len(v.Items))
	for i, item := range v.Items {
		d.decode(item, &trail{up: t, index: i}, list.Index(i), secret)
	}
	into.Set(list)
}
