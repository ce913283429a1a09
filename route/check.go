package route

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/openai"
)

// name checks a name that is referred to, and that it is the only one among those taken.
func (c *checker) name(entry, name string, taken map[string]string) {
	at := jsontree.Field(entry, "name")
	if name == "" {
		c.text(at, name)
		return
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }) {
		c.refuse(at, fmt.Sprintf("%.60q has a space or a character that can't be printed", name))
	}
	c.unique(entry, name, taken)
}

// unique checks that a name is the only one among those taken.
func (c *checker) unique(entry, name string, taken map[string]string) {
	if first, ok := taken[name]; ok {
		c.refuse(jsontree.Field(entry, "name"), fmt.Sprintf("%.60q is the name of %s already", name, first))
		return
	}
	taken[name] = entry
}

// text checks a text that people or upstreams are shown: it is not blank and on one line.
func (c *checker) text(at, text string) {
	if text == "" {
		if _, ok := c.given(at, jsontree.String); ok {
			c.refuse(at, "is empty")
		}
		return
	}
	switch {
	case strings.TrimSpace(text) == "":
		c.refuse(at, "is blank")
	case strings.ContainsFunc(text, unicode.IsControl):
		c.refuse(at, fmt.Sprintf("%.60q has a control character", text))
	}
}

func (c *checker) texts(at string, list []string) {
	for i, text := range list {
		c.text(jsontree.Index(at, i), text)
	}
}

func (c *checker) checkModel(at string, m *ModelEntry) {
	c.name(at, m.Name, c.models)
	c.text(jsontree.Field(at, "served_model_name"), m.ServedModelName)
	c.served[m.Name] = m.served()
	c.checkHealthCheck(jsontree.Field(at, "health_check"), m.HealthCheck)
	names := map[string]string{}
	for i := range m.Instances {
		in := &m.Instances[i]
		at := jsontree.Index(jsontree.Field(at, "instances"), i)
		c.name(at, in.Name, names)
		capAt := jsontree.Field(at, "max_inflight")
		if in.MaxInflight < 0 {
			c.refuse(capAt, fmt.Sprintf("%d is less than 0; 0 is unlimited", in.MaxInflight))
		}
		address, base, ok := c.url(jsontree.Field(at, "url"), in.URL)
		c.longBase(jsontree.Field(at, "url"), in.URL, base)
		if given, right := c.given(capAt, jsontree.Number); !ok || given && !right {
			continue
		}
		engine := identity(address, base)
		first, known := c.caps[engine]
		if known && first.max != in.MaxInflight {
			c.refuse(capAt, fmt.Sprintf("%d differs from the %d of %s, which has the same url and so is the same engine (0 is unlimited)",
				in.MaxInflight, first.max, first.at))
		}
		if known && first.check != m.HealthCheck.String() {
			c.refuse(jsontree.Field(at, "url"), fmt.Sprintf("is the engine of %s as well, whose model has another health_check", first.at))
		}
		if !known {
			c.caps[engine] = limit{in.MaxInflight, m.HealthCheck.String(), at}
		}
	}
}

func (c *checker) checkHealthCheck(at string, h *HealthCheckEntry) {
	if h == nil {
		return
	}
	pathAt := jsontree.Field(at, "path")
	switch u, err := url.ParseRequestURI(h.Path); {
	case h.Path == "":
		c.text(pathAt, h.Path)
	case err != nil, !strings.HasPrefix(h.Path, "/"), u.Host != "":
		c.refuse(pathAt, fmt.Sprintf("%.100q is not a path such as /health", h.Path))
	}
	if i := h.Interval; i != nil && *i <= 0 {
		c.refuse(jsontree.Field(at, "interval"), fmt.Sprintf("%v is not more than 0", *i))
	}
}

// url checks a URL. ok is false if it is none, which has been told.
func (c *checker) url(at, text string) (a Address, base string, ok bool) {
	if text == "" {
		c.text(at, text)
		return a, "", false
	}
	a, base, err := parseURL(text)
	switch {
	case err == nil:
	case strings.ContainsAny(text, "@?#"): // where people put credentials
		c.refuse(at, err.Error())
	default:
		c.refuse(at, fmt.Sprintf("%.100q %v", text, err))
	}
	return a, base, err == nil
}

// longBase warns of a base URL that has an endpoint's path at its end already.
func (c *checker) longBase(at, text, base string) {
	if end := openai.EndpointAtEnd(base); end != "" {
		c.add(Warning, at, fmt.Sprintf("%.100q ends in the path of an endpoint, which is added to it for each request; leave %s out", text, end))
	}
}

// decides reports whether providers of a type are decision services.
func decides(kind string) bool { return kind == "typesafe" || kind == "systemone" }

var providerTypes = []string{"openai", "anthropic", "typesafe", "systemone"}

func (c *checker) checkProvider(at string, p *ProviderEntry) {
	c.name(at, p.Name, c.providers)
	c.oneOf(jsontree.Field(at, "type"), p.Type, providerTypes)
	endpointAt := jsontree.Field(at, "endpoint")
	_, base, _ := c.url(endpointAt, p.Endpoint)
	if decides(p.Type) && strings.HasSuffix(base, "/v1") {
		c.add(Warning, endpointAt, fmt.Sprintf("%.100q ends in /v1, and /v1/systemone is added to it; leave /v1 out", p.Endpoint))
	}
	c.longBase(endpointAt, p.Endpoint, base)
	c.texts(jsontree.Field(at, "models"), p.Models)
}

// oneOf checks that a value is one of those allowed.
func (c *checker) oneOf(at, value string, allowed []string) {
	if _, ok := c.given(at, jsontree.String); ok && !slices.Contains(allowed, value) {
		c.refuse(at, fmt.Sprintf("%.60q is not one of %s", value, strings.Join(allowed, ", ")))
	}
}

func (c *checker) checkKeys(keys []KeyEntry) {
	names, digests := map[string]string{}, map[string]string{}
	complete := c.complete("routes")
	for i := range keys {
		k := &keys[i]
		at := jsontree.Index("api_keys", i)
		c.text(jsontree.Field(at, "name"), k.Name)
		if k.Name != "" {
			c.unique(at, k.Name, names)
		}
		c.text(jsontree.Field(at, "user"), k.User)
		c.digest(at, k.SHA256, digests)
		for r, name := range k.AllowedRoutes {
			at := jsontree.Index(jsontree.Field(at, "allowed_routes"), r)
			if _, ok := c.routes[name]; !ok && complete {
				c.refuse(at, fmt.Sprintf("%.60q is not a route of this file", name))
			}
		}
	}
}

// digest checks a digest. It is not shown, since whoever mistakes the field writes the secret into it.
func (c *checker) digest(entry, digest string, taken map[string]string) {
	at := jsontree.Field(entry, "sha256")
	if _, ok := c.given(at, jsontree.String); !ok {
		return
	}
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != 32 {
		c.refuse(at, "is not a SHA-256 digest, which is written with 64 hexadecimal digits")
		return
	}
	if first, ok := taken[string(sum)]; ok {
		c.refuse(at, "is the digest of "+first+" already")
		return
	}
	taken[string(sum)] = entry
}

// checkLimits checks what defaults and routes have in common. Durations have been checked by their form.
func (c *checker) checkLimits(at string, l *LimitsEntry) {
	retry := jsontree.Field(at, "retry")
	if n := l.Retry.MaxAttempts; n != nil && *n < 1 {
		c.refuse(jsontree.Field(retry, "max_attempts"), fmt.Sprintf("%d is less than 1", *n))
	}
	c.codes(jsontree.Field(retry, "status_codes"), l.Retry.StatusCodes)
	if n := l.Health.UnhealthyThreshold; n != nil && *n < 0 {
		c.refuse(jsontree.Field(jsontree.Field(at, "health"), "unhealthy_threshold"), fmt.Sprintf("%d is less than 0; 0 never ejects", *n))
	}
	if n := l.MaxBodyBytes; n != nil && *n < 0 {
		c.refuse(jsontree.Field(at, "max_body_bytes"), fmt.Sprintf("%d is less than 0; 0 is unlimited", *n))
	}
}

func (c *checker) codes(at string, codes []string) {
	for i, code := range codes {
		at := jsontree.Index(at, i)
		if _, ok := c.given(at, jsontree.String); !ok {
			continue
		}
		if err := new(Codes).add(code); err != nil {
			c.refuse(at, fmt.Sprintf("%.60q %v", code, err))
		}
	}
}
