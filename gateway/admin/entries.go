package admin

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/gpustack/gpustack-gateway/internal/apikey"
	"github.com/gpustack/gpustack-gateway/internal/jsonedit"
	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/route"
)

// kind is one of the file's lists of entries.
type kind struct {
	list string
	one  string // what an entry is called
	// show shows the i-th entry.
	show func(v *viewer, i int) any
	// text makes an entry's text of a body; was is the entry that it replaces, nil if it is new.
	text func(d *document, body *entry, was *jsontree.Value) ([]byte, error)
}

var (
	routeKind = kind{routesList, "route", func(v *viewer, i int) any { return v.route(i) }, plainText}
	modelKind = kind{modelsList, "model", func(v *viewer, i int) any { return v.model(i) }, plainText}
	// Tokens go in and never come out.
	providerKind = kind{providersList, "provider", func(v *viewer, i int) any { return v.provider(i) }, providerText}
	keyKind      = kind{keysList, "key", func(v *viewer, i int) any { return v.key(i) }, keyText}
)

func plainText(_ *document, body *entry, _ *jsontree.Value) ([]byte, error) {
	return body.given(), nil
}

// at returns the path of the entry that a request names.
func (k *kind) at(d *document, r *http.Request) (path string, i int, err error) {
	name := named(r, "name")
	if i = d.find(k.list, name); i < 0 {
		return "", i, refusef(http.StatusNotFound, "", "there is no %s %s", k.one, quote(name))
	}
	return jsontree.Index(k.list, i), i, nil
}

// shown shows the entry of a name, or, if somebody has removed it meanwhile, nothing.
func (k *kind) shown(name string) func(*viewer) any {
	return func(v *viewer) any {
		if i := v.find(k.list, name); i >= 0 {
			return k.show(v, i)
		}
		return struct{}{}
	}
}

// nameIn returns the name that an entry's text gives it.
func nameIn(text []byte) string {
	v, _ := jsontree.Parse(text)
	if name := v.Member("name"); name != nil {
		return name.Text
	}
	return ""
}

func (k *kind) create(d *document, _ *http.Request, body *entry) (*edit, error) {
	text, err := k.text(d, body, nil)
	if err != nil {
		return nil, err
	}
	edited, err := jsonedit.Append(d.snapshot.Text(), k.list, text)
	if err != nil {
		return nil, err
	}
	path := jsontree.Index(k.list, len(d.list(k.list)))
	return &edit{text: edited, entry: path, status: http.StatusCreated, show: k.shown(nameIn(text))}, nil
}

func (k *kind) replace(d *document, r *http.Request, body *entry) (*edit, error) {
	path, i, err := k.at(d, r)
	if err != nil {
		return nil, err
	}
	text, err := k.text(d, body, d.list(k.list)[i])
	if err != nil {
		return nil, err
	}
	edited, err := jsonedit.Set(d.snapshot.Text(), path, text)
	if err != nil {
		return nil, err
	}
	return &edit{text: edited, entry: path, status: http.StatusOK, show: k.shown(nameIn(text))}, nil
}

func (k *kind) remove(d *document, r *http.Request, _ *entry) (*edit, error) {
	path, _, err := k.at(d, r)
	if err != nil {
		return nil, err
	}
	edited, err := jsonedit.Remove(d.snapshot.Text(), path)
	if err != nil {
		return nil, err
	}
	return &edit{text: edited, entry: path}, nil
}

// fieldProblem refuses an entry for one of its members.
func fieldProblem(field, message string) error {
	return &refused{status: http.StatusUnprocessableEntity, code: codeRefused, message: field + " " + message,
		problems: []problemView{{Level: route.FileError.String(), Field: field, Message: message}}}
}

const tokenMember = "api_token"

// providerText keeps the token that a provider has, unless the body has another one, or null. Where requests would go to
// another address with it, it has to be given again: whoever may write must not learn by that what can't be read.
func providerText(d *document, body *entry, was *jsontree.Value) ([]byte, error) {
	text := body.given()
	if was == nil || body.Member(tokenMember) != nil {
		return text, nil
	}
	token := was.Member(tokenMember)
	if token == nil {
		return text, nil
	}
	from, to := was.Member("endpoint"), body.Member("endpoint")
	if from != nil && to != nil && !route.SameAddress(from.Text, to.Text) {
		return nil, fieldProblem(tokenMember,
			"has to be given again, since the endpoint is at another address (null takes it away)")
	}
	return with(text, tokenMember, d.raw(token)), nil
}

const digestMember = "sha256"

// keyText keeps the digest that a key has. A new key gets one elsewhere.
func keyText(d *document, body *entry, was *jsontree.Value) ([]byte, error) {
	if body.Member(digestMember) != nil {
		return nil, fieldProblem(digestMember, "is not to be given: the gateway makes the secret of a key")
	}
	text := body.given()
	if digest := was.Member(digestMember); digest != nil {
		text = with(text, digestMember, d.raw(digest))
	}
	return text, nil
}

// createKey makes a key, whose secret is in the answer and nowhere else.
func createKey(d *document, r *http.Request, body *entry) (*edit, error) {
	text, err := keyText(d, body, nil)
	if err != nil {
		return nil, err
	}
	id, secret := apikey.New()
	if body.Member("name") == nil || body.Member("name").Kind == jsontree.Null {
		if user := body.Member("user"); user != nil && user.Kind == jsontree.String {
			text = with(text, "name", []byte(jsonString(apikey.NameFor(user.Text, id))))
		}
	}
	text = with(text, digestMember, []byte(jsonString(apikey.Digest(secret))))
	v, _ := jsontree.Parse(text)
	made := kind{list: keysList, text: plainText}
	e, err := made.create(d, r, &entry{text, v})
	if err != nil {
		return nil, err
	}
	shown := keyKind.shown(nameIn(text))
	e.show = func(v *viewer) any {
		k, _ := shown(v).(keyView)
		return struct {
			keyView
			Secret string `json:"secret"`
		}{k, secret}
	}
	return e, nil
}

// targetAt returns the path of the target that a request names, by its position, and the name of its route.
func targetAt(d *document, r *http.Request) (path, of string, err error) {
	at, i, err := routeKind.at(d, r)
	if err != nil {
		return "", "", err
	}
	targets := d.list(routesList)[i].Member("targets")
	number := named(r, "index")
	n, err := strconv.Atoi(number)
	if err != nil || targets == nil || n < 0 || n >= len(targets.Items) || strconv.Itoa(n) != number {
		return "", "", refusef(http.StatusNotFound, "", "the route has no target %s; they are counted from 0", quote(number))
	}
	return jsontree.Index(jsontree.Field(at, "targets"), n), named(r, "name"), nil
}

func createTarget(d *document, r *http.Request, body *entry) (*edit, error) {
	at, i, err := routeKind.at(d, r)
	if err != nil {
		return nil, err
	}
	path := jsontree.Field(at, "targets")
	edited, err := jsonedit.Append(d.snapshot.Text(), path, body.given())
	if err != nil {
		return nil, err
	}
	path = jsontree.Index(path, len(d.file.Routes[i].Targets))
	return &edit{text: edited, entry: path, status: http.StatusCreated, show: routeKind.shown(named(r, "name"))}, nil
}

func replaceTarget(d *document, r *http.Request, body *entry) (*edit, error) {
	path, name, err := targetAt(d, r)
	if err != nil {
		return nil, err
	}
	edited, err := jsonedit.Set(d.snapshot.Text(), path, body.given())
	if err != nil {
		return nil, err
	}
	return &edit{text: edited, entry: path, status: http.StatusOK, show: routeKind.shown(name)}, nil
}

func removeTarget(d *document, r *http.Request, _ *entry) (*edit, error) {
	path, name, err := targetAt(d, r)
	if err != nil {
		return nil, err
	}
	edited, err := jsonedit.Remove(d.snapshot.Text(), path)
	if err != nil {
		return nil, err
	}
	return &edit{text: edited, entry: path, status: http.StatusOK, show: routeKind.shown(name)}, nil
}

// replaceDefaults sets what holds for every route that does not say otherwise.
func replaceDefaults(d *document, _ *http.Request, body *entry) (*edit, error) {
	edited, err := jsonedit.Set(d.snapshot.Text(), defaultsMember, body.given())
	if err != nil {
		return nil, err
	}
	shown := func(v *viewer) any { return v.defaults() }
	return &edit{text: edited, entry: defaultsMember, status: http.StatusOK, show: shown}, nil
}

// jsonString writes a string as JSON.
func jsonString(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("admin: a string that is no JSON: " + err.Error()) // there is none
	}
	return string(text)
}
