package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/atomicfile"
	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/route"
)

// maxEntry bounds the body of a request that writes an entry.
const maxEntry = 1 << 20

// edit is what a request makes of the file's text.
type edit struct {
	text   []byte
	entry  string              // path of what is written: problems name their fields within it
	status int                 // of the answer
	show   func(v *viewer) any // what the answer shows once the text serves; nil: nothing
}

// planner works out an edit from a request's body, nil for a request without one.
type planner func(d *document, r *http.Request, body *entry) (*edit, error)

// refused is an error that a request is answered with.
type refused struct {
	status   int
	code     string
	message  string
	problems []problemView
}

func (e *refused) Error() string { return e.message }

func refusef(status int, code, format string, args ...any) *refused {
	return &refused{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// Codes of refusals, for programs.
const (
	codeBody       = "invalid_body"          // the body is no JSON object
	codeCondition  = "precondition_required" // there is no If-Match
	codeStale      = "stale"                 // the file is not what If-Match says
	codeRefused    = "refused"               // the file would not be one any more
	codeFileBroken = "file_refused"          // the file as it is can't be used, and so not be edited
	codeReadOnly   = "read_only"             // the file can't be replaced
)

// writes returns a handler that edits the file as plan says.
func (a *admin) writes(plan planner) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := a.write(w, r, plan); err != nil {
			a.refuse(w, err)
		}
	}
}

func (a *admin) refuse(w http.ResponseWriter, err error) {
	var e *refused
	if !errors.As(err, &e) {
		e = &refused{status: http.StatusInternalServerError, message: err.Error()}
	}
	if e.code == codeStale {
		w.Header().Set("ETag", a.documents.of(a.Table.Load()).etag)
	}
	var f failure
	f.Error.Message, f.Error.Code, f.Error.Problems = e.message, e.code, e.problems
	write(w, e.status, f)
}

// write carries out one request. Requests that write do so one after the other, and each sees what the file says now.
func (a *admin) write(w http.ResponseWriter, r *http.Request, plan planner) error {
	var body *entry
	if r.Method != http.MethodDelete {
		var err error
		if body, err = readEntry(w, r); err != nil {
			return err
		}
	}
	dry, err := dryRun(r)
	if err != nil {
		return err
	}
	match := strings.Join(r.Header.Values("If-Match"), ",")
	if match == "" && !dry {
		return refusef(http.StatusPreconditionRequired, codeCondition,
			"If-Match is required, with the ETag of the answer that what is written was made from")
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	if err := a.current(); err != nil {
		return err
	}
	d := a.documents.of(a.Table.Load())
	if match != "" && !matches(match, d.etag) {
		return stale()
	}
	e, err := plan(d, r, body)
	if err != nil {
		return err
	}
	snapshot, problems := a.Check(e.text)
	if snapshot == nil {
		return &refused{status: http.StatusUnprocessableEntity, code: codeRefused,
			message: "the routes file can't be used with this", problems: problemsOf(problems, e.entry)}
	}
	if dry {
		write(w, http.StatusOK, trial(snapshot, problems, e.entry))
		return nil
	}
	if err := a.replace(d, e.text); err != nil {
		return err
	}
	v := a.viewer()
	w.Header().Set("ETag", v.etag)
	if e.show == nil {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	write(w, e.status, e.show(v))
	return nil
}

// dryRun reports whether a request only wants to know what would become of it.
func dryRun(r *http.Request) (bool, error) {
	switch v := r.URL.Query().Get("dry_run"); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, refusef(http.StatusBadRequest, "", "dry_run is true or false, not %s", quote(v))
	}
}

// trialView is what would become of a request that writes.
type trialView struct {
	Problems []problemView `json:"problems"` // route level and warnings, of the entry that is written only
	RouteBy  string        `json:"route_by,omitempty"`
	Usable   *bool         `json:"usable,omitempty"`
	Reason   string        `json:"reason,omitempty"`
}

// trial says what would become of an entry.
func trial(s *route.Snapshot, problems []route.Problem, entry string) trialView {
	var own []route.Problem
	top, _, _ := strings.Cut(entry, ".")
	for _, p := range problems {
		if within(p.Path, top) {
			own = append(own, p)
		}
	}
	view := trialView{Problems: problemsOf(own, entry)}
	var i int
	if _, err := fmt.Sscanf(top, routesList+"[%d]", &i); err == nil && i < len(s.Routes()) {
		r := s.Routes()[i]
		usable := r.Reason == ""
		view.RouteBy, view.Usable, view.Reason = r.By.String(), &usable, r.Reason
	}
	return view
}

// current brings what serves up to date with the file, or says why that can't be.
func (a *admin) current() error {
	a.Reload()
	status := a.Table.Status()
	switch {
	case status.Err != nil:
		return refusef(http.StatusConflict, codeFileBroken, "the routes file can't be read: %v", status.Err)
	case status.Refused:
		e := refusef(http.StatusConflict, codeFileBroken, "the routes file as it is now can't be used, and the last good one "+
			"serves; what is wrong has to be put right in the file")
		e.problems = problemsOf(status.Problems, "")
		return e
	}
	return nil
}

// replace writes the file, if it still says what serves, and has it loaded.
func (a *admin) replace(d *document, text []byte) error {
	if bytes.Equal(text, d.snapshot.Text()) {
		return nil
	}
	err := atomicfile.Edit(a.Table.Path(), func(was []byte) ([]byte, error) {
		if !bytes.Equal(was, d.snapshot.Text()) {
			return nil, atomicfile.ErrChanged
		}
		return text, nil
	})
	switch {
	case errors.Is(err, atomicfile.ErrChanged):
		a.Reload()
		return stale()
	case errors.Is(err, atomicfile.ErrReadOnly):
		return refusef(http.StatusConflict, codeReadOnly, "%v", err)
	case err != nil:
		return err
	}
	return a.current()
}

func stale() error {
	return refusef(http.StatusPreconditionFailed, codeStale,
		"the routes file has been changed since it was read; the ETag of this answer is the present one")
}

// matches reports whether an If-Match names a version (RFC 9110, section 13.1.1).
func matches(match, etag string) bool {
	for tag := range strings.SplitSeq(match, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == etag {
			return true
		}
	}
	return false
}

// entry is an entry of the file as a request has it.
type entry struct {
	text []byte
	*jsontree.Value
}

// readEntry reads a body: a JSON object. Its members that are null are left out, as forms leave fields empty.
func readEntry(w http.ResponseWriter, r *http.Request) (*entry, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEntry))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, refusef(http.StatusRequestEntityTooLarge, codeBody, "the body has more than %d bytes", maxEntry)
	case err != nil:
		return nil, refusef(http.StatusBadRequest, codeBody, "the body could not be read")
	}
	v, problems := jsontree.Parse(text)
	if len(problems) > 0 {
		e := refusef(http.StatusBadRequest, codeBody, "the body is not JSON")
		whole := &entry{text: text}
		for _, p := range problems {
			e.problems = append(e.problems, whole.problem(p))
		}
		return nil, e
	}
	if v.Kind != jsontree.Object {
		return nil, refusef(http.StatusBadRequest, codeBody, "the body is %s and not an object", v.Kind)
	}
	return &entry{text, v}, nil
}

// problem shows a problem of the body.
func (e *entry) problem(p jsontree.Problem) problemView {
	before := e.text[:p.Offset]
	return problemView{Level: route.FileError.String(), Path: p.Path, Field: p.Path,
		Line: bytes.Count(before, []byte("\n")) + 1, Column: p.Offset - bytes.LastIndexByte(before, '\n'), Message: p.Message}
}

// given returns the entry's text without the members that are null.
func (e *entry) given() []byte {
	left := []string{}
	for i := range e.Members {
		if e.Members[i].Value.Kind == jsontree.Null {
			left = append(left, e.Members[i].Name)
		}
	}
	return members(e.text, e.Value, left)
}

// with returns an object's text with a member more.
func with(object []byte, name string, value []byte) []byte {
	out := append([]byte(`{`+jsonString(name)+`:`), value...)
	if rest := bytes.TrimSpace(object[1:]); rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, object[1:]...)
}

// within reports whether a path is another one, or leads into it.
func within(path, holder string) bool {
	rest, ok := strings.CutPrefix(path, holder)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
