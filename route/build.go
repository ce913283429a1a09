package route

import "github.com/gpustack/gpustack-gateway/plugins"

// Build makes a snapshot. It is nil if a problem is at file level.
func Build(f *File, o Options) (*Snapshot, []Problem) { return nil, nil }

// Schema returns the JSON Schema of the routes file, with what the kinds say of their policies in it.
func Schema(kinds []plugins.Kind) []byte { return nil }
