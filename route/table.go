package route

// Table holds the snapshot that serves. Load may be called from any goroutine; Reload calls are serialised by the table.
type Table struct{}

// NewTable returns a table of the routes file at path, empty until the first Reload.
func NewTable(path string, o Options) *Table { return &Table{} }

// Load returns the snapshot that serves, nil before the first successful Reload.
func (t *Table) Load() *Snapshot { return nil }

// Reload reads the file. If its bytes have changed and it has no problem at file level, what is built from it replaces
// what serves. problems are those of the file as it is now, changed or not, so that they can be shown again. err is that
// the file can't be read.
func (t *Table) Reload() (changed bool, problems []Problem, err error) { return false, nil, nil }
