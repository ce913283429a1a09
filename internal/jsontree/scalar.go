package jsontree

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

const (
	aDuration = `a duration: it is written "10s" or "1m30s", or 0`
	aTime     = `a time: it is written 2027-06-30T00:00:00Z (RFC 3339)`
)

func (d *decoder) scalar(v *Value, t *trail, into reflect.Value, secret bool) {
	switch {
	case into.CanInt():
		d.int(v, t, into, secret)
	case into.CanUint():
		d.uint(v, t, into, secret)
	case into.CanFloat():
		d.float(v, t, into, secret)
	case into.Kind() == reflect.String && v.Kind == String:
		into.SetString(v.Text)
	case into.Kind() == reflect.String:
		d.mismatch(v, t, String.String(), secret)
	case into.Kind() == reflect.Bool && v.Kind == Bool:
		into.SetBool(v.Text == "true")
	case into.Kind() == reflect.Bool:
		d.mismatch(v, t, Bool.String(), secret)
	default:
		panic("jsontree: nothing can be decoded into a " + into.Type().String())
	}
}

// int decodes a whole number, which may also be written as 1e3 or 2.0.
func (d *decoder) int(v *Value, t *trail, into reflect.Value, secret bool) {
	if !v.whole() {
		d.mismatch(v, t, "a whole number", secret)
		return
	}
	bits := into.Type().Bits()
	n, err := strconv.ParseInt(v.Text, 10, bits)
	if err != nil {
		f, _ := strconv.ParseFloat(v.Text, 64) // an infinity is out of range as well
		if n = int64(f); math.Abs(f) > 1<<53 || into.OverflowInt(n) {
			least, most := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits)
			d.mismatch(v, t, fmt.Sprintf("in the range from %d to %d", least, most), secret)
			return
		}
	}
	into.SetInt(n)
}

func (d *decoder) uint(v *Value, t *trail, into reflect.Value, secret bool) {
	if !v.whole() {
		d.mismatch(v, t, "a whole number", secret)
		return
	}
	bits := into.Type().Bits()
	n, err := strconv.ParseUint(v.Text, 10, bits)
	if err != nil {
		f, _ := strconv.ParseFloat(v.Text, 64)
		if n = uint64(max(f, 0)); f < 0 || f > 1<<53 || into.OverflowUint(n) {
			d.mismatch(v, t, fmt.Sprintf("in the range from 0 to %d", uint64(math.MaxUint64)>>(64-bits)), secret)
			return
		}
	}
	into.SetUint(n)
}

// whole reports whether v is a number without a fraction.
func (v *Value) whole() bool {
	if v.Kind != Number {
		return false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	return err != nil || f == math.Trunc(f) // too large for a fraction
}

func (d *decoder) float(v *Value, t *trail, into reflect.Value, secret bool) {
	if v.Kind != Number {
		d.mismatch(v, t, Number.String(), secret)
		return
	}
	f, err := strconv.ParseFloat(v.Text, into.Type().Bits())
	if err != nil {
		d.mismatch(v, t, fmt.Sprintf("a number of %d bits", into.Type().Bits()), secret)
		return
	}
	into.SetFloat(f)
}

func (d *decoder) duration(v *Value, t *trail, into reflect.Value) {
	switch v.Kind {
	case String:
		length, err := time.ParseDuration(v.Text)
		if err != nil {
			d.mismatch(v, t, aDuration, false)
			return
		}
		if length < 0 {
			d.mismatch(v, t, "a duration of 0 or more", false)
			return
		}
		into.SetInt(int64(length))
	case Number:
		if f, err := strconv.ParseFloat(v.Text, 64); err != nil || f != 0 {
			d.mismatch(v, t, aDuration, false)
			return
		}
		into.SetInt(0)
	default:
		d.mismatch(v, t, aDuration, false)
	}
}

func (d *decoder) time(v *Value, t *trail, into reflect.Value) {
	if v.Kind == String {
		if moment, err := time.Parse(time.RFC3339, v.Text); err == nil {
			into.Set(reflect.ValueOf(moment))
			return
		}
	}
	d.mismatch(v, t, aTime, false)
}

// text decodes a string into what reads itself. Its error says of the string what is wrong.
func (d *decoder) text(v *Value, t *trail, into reflect.Value, secret bool) {
	if v.Kind != String {
		d.mismatch(v, t, String.String(), secret)
		return
	}
	value := reflect.New(into.Type())
	reader := value.Interface().(encoding.TextUnmarshaler) //nolint:forcetypeassert // decode has looked
	if err := reader.UnmarshalText([]byte(v.Text)); err != nil {
		d.problemf(t, v.Offset, "%v", err)
		return
	}
	into.Set(value.Elem())
}
