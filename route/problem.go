package route

// Level says what a problem costs.
type Level uint8

// The levels.
const (
	FileError  Level = iota // nothing of the file is used
	RouteError              // one route can't serve
	Warning                 // nothing
)

// Problem is something wrong in the routes file, with its place.
type Problem struct {
	Level   Level
	File    string
	Line    int    // from 1
	Column  int    // from 1, in bytes
	Path    string // JSON path: routes[2].targets[0].weight
	Route   string // the route at fault, if one is
	Message string // names the value and what is allowed
}

// String returns file:line:column: path: message, with the level in front of the message unless it is FileError.
func (p Problem) String() string { return "" }
