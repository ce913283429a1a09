package lb

import "math/bits"

// rotate chooses by turn: the next target of the round, then the next instance of that target. A request has one turn,
// which its attempts keep: they stay with its target while it has an instance to try.
//
// Whose turn can't be kept (its instance or all of its target is out, or tried) is divided among the others, instances
// evenly and targets by their weights, so that no neighbour gets it all. Full instances are passed over for the next
// one. A full target is passed over as well, except in target_weight, where its share stays its own; only an attempt
// after a failure may leave it, for there the request counts for more than the split.
func (c *choice) rotate() (int, error) {
	p, r := c.pool, c.request
	if len(p.targets) == 0 {
		return 0, errNobody
	}
	first := c.turn()
	i, err := c.within(first)
	if err == nil || (err == ErrFull && p.by == TargetWeight && r.tries == 0) {
		return i, err
	}
	next, full := first+1, err == ErrFull
	if !full {
		if next = c.byWeight(first); next < 0 {
			return 0, errNobody
		}
	}
	for k := range p.targets {
		t := (next + k) % len(p.targets)
		if t == first {
			continue
		}
		switch i, err := c.within(t); err {
		case nil:
			return i, nil
		case ErrFull:
			full = true
		}
	}
	if full {
		return 0, ErrFull
	}
	return 0, errNobody
}

// turn returns the target whose turn it is.
func (c *choice) turn() int {
	p, r := c.pool, c.request
	if r.turned {
		return r.turn
	}
	if len(p.targets) == 1 {
		return 0
	}
	t := p.round.at(c.advance(p.rotor))
	if c.lease != nil {
		r.turn, r.turned = t, true
	}
	return t
}

// within chooses and takes an instance of a target: ErrFull if the live ones are full, errNobody if there are none.
func (c *choice) within(t int) (int, error) {
	target := &c.pool.targets[t]
	members := target.members
	if len(members) == 0 {
		return 0, errNobody
	}
	start := 0
	if len(members) > 1 {
		start = int(c.advance(target.rotor) % uint64(len(members)))
	}
	if !c.live(int(members[start])) {
		n := c.count(members)
		if n == 0 {
			return 0, errNobody
		}
		start = c.nth(members, int(c.stray(target.rotor)%uint64(n)))
	}
	for k := range members {
		i := int(members[(start+k)%len(members)])
		if c.live(i) && c.take(i, anySeen) {
			return i, nil
		}
	}
	return 0, ErrFull
}

// byWeight returns one of the targets that have a live instance, other than the first, each as often as its weight
// says, and -1 if there is none.
//
// Multiples of the golden ratio, modulo 1, fill the unit interval more evenly than any others (D. E. Knuth, The Art of
// Computer Programming, volume 3, section 6.4, theorem S), so they divide by weight without a round laid out for every
// set of targets that may be left.
func (c *choice) byWeight(first int) int {
	p := c.pool
	var sum int64
	last := -1
	for t := range p.targets {
		if t != first && c.count(p.targets[t].members) > 0 {
			sum += p.targets[t].share
			last = t
		}
	}
	if last < 0 {
		return -1
	}
	const golden = 0x9E3779B97F4A7C15 // 2^64 / 1.618...
	point, _ := bits.Mul64(c.stray(p.rotor)*golden, uint64(sum))
	for t := range last {
		if t == first || c.count(p.targets[t].members) == 0 {
			continue
		}
		share := uint64(p.targets[t].share)
		if point < share {
			return t
		}
		point -= share
	}
	return last
}

// count returns how many of the candidates are live.
func (c *choice) count(members []int32) int {
	n := 0
	for _, i := range members {
		if c.live(int(i)) {
			n++
		}
	}
	return n
}

// nth returns where the k-th live one of the candidates is, and 0 if they have become fewer meanwhile.
func (c *choice) nth(members []int32, k int) int {
	for at, i := range members {
		if c.live(int(i)) {
			if k == 0 {
				return at
			}
			k--
		}
	}
	return 0
}

// advance returns the position of a rotation and moves it on.
func (c *choice) advance(r *rotor) uint64 {
	if c.lease == nil {
		return r.turn.Load()
	}
	return r.turn.Add(1) - 1
}

// stray is advance for a turn that could not be kept.
func (c *choice) stray(r *rotor) uint64 {
	if c.lease == nil {
		return r.miss.Load()
	}
	return r.miss.Add(1) - 1
}
