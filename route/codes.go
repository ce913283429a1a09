package route

import (
	"errors"
	"strconv"
	"strings"
)

// Codes is a set of HTTP statuses from 400 to 599. The zero value is empty.
type Codes struct {
	bits [4]uint64 // from 400 on
}

// The statuses that a set may hold.
const (
	lowestCode  = 400
	highestCode = 599
)

// Has reports whether a status is in the set.
func (c Codes) Has(status int) bool {
	i := status - lowestCode
	return i >= 0 && i <= highestCode-lowestCode && c.bits[i/64]>>(i%64)&1 == 1
}

// String returns the set as the routes file writes it, in ascending order: "429, 5xx". It is "" for the empty set.
func (c Codes) String() string {
	var codes []string
	for hundreds := lowestCode; hundreds < highestCode; hundreds += 100 {
		var single []string
		for s := hundreds; s < hundreds+100; s++ {
			if c.Has(s) {
				single = append(single, strconv.Itoa(s))
			}
		}
		if len(single) == 100 {
			single = []string{strconv.Itoa(hundreds/100) + "xx"}
		}
		codes = append(codes, single...)
	}
	return strings.Join(codes, ", ")
}

// add puts into the set what a code stands for: "4xx", "5xx" or one status. The error says of the code what is allowed.
func (c *Codes) add(code string) error {
	var from, until int
	switch code {
	case "4xx":
		from, until = 400, 499
	case "5xx":
		from, until = 500, 599
	default:
		n, err := strconv.Atoi(code)
		if err != nil || len(code) != 3 || n < lowestCode || n > highestCode {
			return errors.New(`is not a status such as "429" (from 400 to 599), nor "4xx" or "5xx"`)
		}
		from, until = n, n
	}
	for i := from - lowestCode; i <= until-lowestCode; i++ {
		c.bits[i/64] |= 1 << (i % 64)
	}
	return nil
}

// codesOf returns the set of all the codes, which have been checked.
func codesOf(codes []string) Codes {
	var c Codes
	for _, code := range codes {
		_ = c.add(code) // what is wrong has been told
	}
	return c
}
