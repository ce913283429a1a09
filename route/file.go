package route

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/internal/secret"
)

// File is a routes file as it was written: the fields are the file's members. Parse makes it.
type File struct {
	Schema    string          `json:"$schema"` // for editors
	Models    []ModelEntry    `json:"models"`
	Providers []ProviderEntry `json:"providers"`
	Routes    []Entry         `json:"routes"`
	Keys      []KeyEntry      `json:"api_keys"`
	Defaults  DefaultsEntry   `json:"defaults"`

	text    source
	root    *jsontree.Value
	refused bool // something at file level is wrong with it
}

// ModelEntry is a deployed model.
type ModelEntry struct {
	Name            string            `json:"name" jsontree:"required"`
	ServedModelName string            `json:"served_model_name"` // "" is Name
	Instances       []InstanceEntry   `json:"instances" jsontree:"required"`
	HealthCheck     *HealthCheckEntry `json:"health_check"` // nil is none
}

// HealthCheckEntry is how a model's engines are asked whether they are well.
type HealthCheckEntry struct {
	Path     string         `json:"path" jsontree:"required"`
	Interval *time.Duration `json:"interval"` // nil is 5 s
}

// served returns the name that the model's engines know it by.
func (m *ModelEntry) served() string { return cmp.Or(m.ServedModelName, m.Name) }

// interval returns how long it is from one question to the next.
func (h *HealthCheckEntry) interval() time.Duration {
	interval := 5 * time.Second
	set(&interval, h.Interval)
	return interval
}

// String returns what tells a check from another; none is "".
func (h *HealthCheckEntry) String() string {
	if h == nil {
		return ""
	}
	return h.Path + " every " + h.interval().String()
}

// InstanceEntry is one running copy of a model.
type InstanceEntry struct {
	Name        string `json:"name" jsontree:"required"`
	URL         string `json:"url" jsontree:"required"`
	MaxInflight int64  `json:"max_inflight"` // 0 is unlimited
}

// ProviderEntry is an external service.
type ProviderEntry struct {
	Name     string   `json:"name" jsontree:"required"`
	Type     string   `json:"type" jsontree:"required"`
	Endpoint string   `json:"endpoint" jsontree:"required"`
	APIToken Token    `json:"api_token" jsontree:"secret"`
	Models   []string `json:"models"` // what it offers; empty is unknown
}

// Entry is a name that clients send, and what serves it.
type Entry struct {
	Name         string          `json:"name" jsontree:"required"`
	Description  string          `json:"description"`
	Categories   []string        `json:"categories"`
	AccessPolicy *string         `json:"access_policy"` // nil is "authed"
	AllowedUsers []string        `json:"allowed_users"`
	Targets      []TargetEntry   `json:"targets" jsontree:"required"`
	Policies     *jsontree.Value `json:"policies"`
	Queue        *QueueEntry     `json:"queue"`     // nil is none
	Heartbeat    time.Duration   `json:"heartbeat"` // 0 is none
	Usage        *string         `json:"usage"`     // nil is "read"
	LimitsEntry
}

// QueueEntry is how requests wait for a place where all instances are full.
type QueueEntry struct {
	Max     *int           `json:"max"`     // nil is 100
	Timeout *time.Duration `json:"timeout"` // nil is 10 s
}

// TargetEntry is one line of a route: exactly one of Model and Provider.
type TargetEntry struct {
	Model               *string  `json:"model"`
	Provider            *string  `json:"provider"`
	OverriddenModelName *string  `json:"overridden_model_name"`
	Weight              int64    `json:"weight"`
	FallbackStatusCodes []string `json:"fallback_status_codes"`
}

// KeyEntry is an API key.
type KeyEntry struct {
	Name          string     `json:"name" jsontree:"required"`
	User          string     `json:"user" jsontree:"required"`
	SHA256        string     `json:"sha256" jsontree:"required,secret"`
	ExpiresAt     *time.Time `json:"expires_at"`
	AllowedRoutes []string   `json:"allowed_routes"` // nil is all, empty none
}

// DefaultsEntry is what holds for every route that does not say otherwise.
type DefaultsEntry struct {
	LimitsEntry
	DebugHeaders bool `json:"debug_headers"`
}

// LimitsEntry is what defaults and routes have in common. What is nil is not said.
type LimitsEntry struct {
	Timeouts     TimeoutsEntry `json:"timeouts"`
	Retry        RetryEntry    `json:"retry"`
	Health       HealthEntry   `json:"health"`
	MaxBodyBytes *int64        `json:"max_body_bytes"`
}

// TimeoutsEntry is the member timeouts.
type TimeoutsEntry struct {
	Connect     *time.Duration `json:"connect"`
	FirstByte   *time.Duration `json:"first_byte"`
	Idle        *time.Duration `json:"idle"`
	ClientStall *time.Duration `json:"client_stall"`
}

// RetryEntry is the member retry.
type RetryEntry struct {
	MaxAttempts    *int           `json:"max_attempts"`
	Deadline       *time.Duration `json:"deadline"`
	StatusCodes    []string       `json:"status_codes"`
	PeekFirstEvent *bool          `json:"peek_first_event"`
}

// HealthEntry is the member health.
type HealthEntry struct {
	UnhealthyThreshold *int           `json:"unhealthy_threshold"`
	Cooldown           *time.Duration `json:"cooldown"`
	Ramp               *time.Duration `json:"ramp"`
	FailOpen           *bool          `json:"fail_open"`
}

// Token is a provider's credential as it was written: itself, or the name of a variable that holds it.
type Token struct {
	literal  secret.String
	variable string
}

// UnmarshalText takes a literal, or exactly ${NAME}. The error does not show the text.
func (t *Token) UnmarshalText(text []byte) error {
	token := string(text)
	if name, ok := strings.CutPrefix(token, "${"); ok {
		if name, ok = strings.CutSuffix(name, "}"); ok && variableName(name) {
			*t = Token{variable: name}
			return nil
		}
	}
	switch {
	case token == "":
		return errors.New("is empty; leave it out if the provider wants none")
	case strings.Contains(token, "${"):
		return errors.New("has a ${ in it, but is not just the name of a variable, as ${API_KEY} is")
	case !sendable(token):
		return errors.New(notSendable)
	}
	*t = Token{literal: secret.New(token)}
	return nil
}

// variableName reports whether a name can be one of an environment variable: letters, digits and _, no digit first.
func variableName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

const notSendable = "has a character that a header can't carry: a space, a line break, or one beyond ASCII"

// sendable reports whether a token can be sent in a header.
func sendable(token string) bool {
	for _, c := range []byte(token) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
