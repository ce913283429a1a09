package admin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/route"
)

// The lists of the routes file.
const (
	routesList    = "routes"
	modelsList    = "models"
	providersList = "providers"
	keysList      = "api_keys"
)

// defaultsMember is the file's member that is no list.
const defaultsMember = "defaults"

// document is the routes file that serves, read again for people. Never changed.
type document struct {
	snapshot *route.Snapshot
	file     *route.File
	etag     string // of the text
}

// documents keeps the document of the snapshot that was shown last.
type documents struct {
	mu   sync.Mutex
	last *document
}

// of returns the document of a snapshot.
func (d *documents) of(s *route.Snapshot) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil || d.last.snapshot != s {
		file, _ := route.Parse("", s.Text()) // what is wrong with it has been told
		d.last = &document{snapshot: s, file: file, etag: etag(s.Text())}
	}
	return d.last
}

// etag returns the version of a file's text, quoted as HTTP wants it.
func etag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// list returns the elements of a list as they stand in the file.
func (d *document) list(name string) []*jsontree.Value {
	if v := d.file.Root().Member(name); v != nil {
		return v.Items
	}
	return nil
}

// raw returns a value as it is written; of an object without the members left out.
func (d *document) raw(v *jsontree.Value, without ...string) json.RawMessage {
	text := d.snapshot.Text()
	if len(without) == 0 {
		return text[v.Offset:v.End]
	}
	return members(text, v, without)
}

// members returns an object's text without some of its members.
func members(text []byte, v *jsontree.Value, without []string) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range v.Members {
		m := &v.Members[i]
		if slices.Contains(without, m.Name) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(text[m.Offset:m.Value.End])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// find returns the position of the element of a list with a name, -1 if there is none.
func (d *document) find(list, name string) int {
	return slices.IndexFunc(d.list(list), func(v *jsontree.Value) bool {
		n := v.Member("name")
		return n != nil && n.Text == name
	})
}
