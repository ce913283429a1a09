package route

import (
	"strconv"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// Parse reads a routes file strictly and reports all that is wrong with it at once, sorted by place, as far as that can
// be said without the policies' plugins and the environment. name is what problems call the file. The File is nil if
// the text is no JSON object. From one with a problem at file level Build makes no snapshot, but says what else is wrong.
func Parse(name string, data []byte) (*File, []Problem) {
	c := &checker{file: &File{text: newSource(name, data)}}
	root, problems := jsontree.Parse(data)
	c.shape = problems
	if root != nil && root.Kind != jsontree.Object {
		c.shape = append(c.shape, jsontree.Problem{Offset: root.Offset, Message: root.Describe() + " is not an object"})
		root = nil
	}
	if root == nil {
		return nil, c.all()
	}
	c.file.root = root
	c.shape = append(c.shape, jsontree.Decode(root, "", c.file)...)
	c.check()
	all := c.all()
	c.file.refused = refused(all)
	return c.file, all
}

// checker looks for what is wrong with a file beyond its form.
type checker struct {
	file     *File
	shape    []jsontree.Problem // with its form
	problems []Problem

	models    map[string]string // where each name stands
	served    map[string]string // the name that each model's engines know
	providers map[string]string
	routes    map[string]string
	users     map[string]bool  // whose keys there are
	caps      map[string]limit // by the engine's identity
}

// limit is what instances of one engine must agree on, and the path of the one that says so first.
type limit struct {
	max   int64
	check string // of its model's health check, "" for none
	at    string
}

func (c *checker) all() []Problem {
	for _, p := range c.shape {
		c.problems = append(c.problems, c.file.text.problem(FileError, "", p))
	}
	sortProblems(c.problems)
	for i := range c.problems {
		c.problems[i].Route = c.file.routeAt(c.problems[i].Path)
	}
	return c.problems
}

// routeAt returns the name of the route that a path leads into, "" if it leads into none.
func (f *File) routeAt(path string) string {
	within, ok := strings.CutPrefix(path, "routes[")
	if !ok {
		return ""
	}
	number, _, _ := strings.Cut(within, "]")
	if i, err := strconv.Atoi(number); err == nil && i < len(f.Routes) {
		return f.Routes[i].Name
	}
	return ""
}

func (c *checker) check() {
	f := c.file
	c.models, c.providers, c.routes = map[string]string{}, map[string]string{}, map[string]string{}
	c.caps, c.served = map[string]limit{}, map[string]string{}
	c.users = make(map[string]bool, len(f.Keys))
	for i := range f.Keys {
		c.users[f.Keys[i].User] = true
	}
	for i := range f.Models {
		c.checkModel(jsontree.Index("models", i), &f.Models[i])
	}
	for i := range f.Providers {
		c.checkProvider(jsontree.Index("providers", i), &f.Providers[i])
	}
	for i := range f.Routes {
		c.checkRoute(jsontree.Index("routes", i), &f.Routes[i])
	}
	c.checkKeys(f.Keys)
	c.checkLimits("defaults", &f.Defaults.LimitsEntry)
}

// add reports a problem with the value at a path.
func (c *checker) add(l Level, path, message string) {
	at, _ := c.file.root.Find(path)
	c.problems = append(c.problems, c.file.text.problem(l, "", jsontree.Problem{Offset: at.Offset, Path: path, Message: message}))
}

// refuse reports a problem at file level.
func (c *checker) refuse(path, message string) { c.add(FileError, path, message) }

// given reports whether there is a value at a path, and whether it is of a kind. One of another kind has been told.
func (c *checker) given(path string, k jsontree.Kind) (given, right bool) {
	v, found := c.file.root.Find(path)
	return found, found && v.Kind == k
}

// complete reports whether a list of the file is known as it was meant, so that what is not found in it can be blamed.
func (c *checker) complete(list string) bool {
	for _, p := range c.shape {
		top := !strings.ContainsAny(p.Path, ".[")
		if top || strings.HasPrefix(p.Path, list+"[") {
			return false
		}
	}
	return true
}
