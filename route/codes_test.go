package route

import "testing"

func TestCodes(t *testing.T) {
	for _, test := range []struct {
		codes []string
		text  string
		has   func(status int) bool
	}{
		{nil, "", func(int) bool { return false }},
		{[]string{"429"}, "429", func(s int) bool { return s == 429 }},
		{[]string{"4xx"}, "4xx", func(s int) bool { return s/100 == 4 }},
		{[]string{"5xx"}, "5xx", func(s int) bool { return s/100 == 5 }},
		{[]string{"400", "599", "502"}, "400, 502, 599", func(s int) bool { return s == 400 || s == 502 || s == 599 }},
		{[]string{"429", "5xx", "500"}, "429, 5xx", func(s int) bool { return s == 429 || s/100 == 5 }},
	} {
		c := codesOf(test.codes)
		if c.String() != test.text {
			t.Errorf("%q: got %q", test.codes, c)
		}
		for s := -1000; s < 2000; s++ {
			if c.Has(s) != test.has(s) {
				t.Errorf("%q: Has(%d) = %v", test.codes, s, c.Has(s))
			}
		}
	}
	for _, code := range []string{"", "399", "600", "200", "3xx", "4XX", "xxx", "0429", "+42", "-500", " 429", "42", "5xx "} {
		if err := new(Codes).add(code); err == nil {
			t.Errorf("%q is accepted", code)
		}
	}
}
