package route

import "github.com/gpustack/gpustack-gateway/plugins"

// File is a routes file as it was written.
type File struct{}

// Parse reads a routes file strictly and reports all that is wrong with its form at once. The file is nil if its text is not one.
func Parse(name string, data []byte) (*File, []Problem) { return nil, nil }

// Build makes a snapshot. It is nil if a problem is at file level.
func Build(f *File, o Options) (*Snapshot, []Problem) { return nil, nil }

// Schema returns the JSON Schema of the routes file, with what the kinds say of their policies in it.
func Schema(kinds []plugins.Kind) []byte { return nil }
