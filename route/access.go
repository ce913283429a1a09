package route

// Access says who may use a route.
type Access uint8

// The access policies.
const (
	Authed       Access = iota // whoever has a valid key
	AllowedUsers               // whoever has a key of one of the users listed
	Public                     // everybody, without a key
)

var accessNames = [...]string{Authed: "authed", AllowedUsers: "allowed_users", Public: "public"}

// String returns the policy as the routes file writes it.
func (a Access) String() string {
	if int(a) < len(accessNames) {
		return accessNames[a]
	}
	return "unknown"
}

// access returns who may use the route. A policy that is none has been told, and lets nobody in that authed would not.
func (r *Entry) access() Access {
	if r.AccessPolicy != nil {
		for a, name := range accessNames {
			if name == *r.AccessPolicy {
				return Access(a)
			}
		}
	}
	return Authed
}
