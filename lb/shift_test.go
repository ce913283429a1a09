package lb

import "testing"

func TestShifts(t *testing.T) {
	votes := []Weighted{{"order", 1, byOrder{}}, {"least_inflight", 1, byLoad{}}}
	tests := []struct {
		n    int
		want []Shift
	}{
		{0, []Shift{Hold, Hold}},
		{1, []Shift{Hold, Hold, Hold}},
		{2, []Shift{Hold, Tie, Flip, Flip}},
		{3, []Shift{Hold, Hold, Tie, Flip}},
	}
	for _, test := range tests {
		got := Shifts(votes, nil, test.n, len(test.want)-1)
		for x := range test.want {
			if got[x] != test.want[x] {
				t.Errorf("%d candidates, %d in flight: %v, want %v", test.n, x, got[x], test.want[x])
			}
		}
	}
	if x, ok := FirstFlip(votes, nil, 4, 100); x != 6 || !ok {
		t.Errorf("got %d, %v", x, ok)
	}
	if _, ok := FirstFlip(votes, nil, 5, 1000); ok {
		t.Error("five candidates: moved")
	}
	if Flip.String() != "flip" || Shift(9).String() != "unknown" {
		t.Error("names")
	}
}
