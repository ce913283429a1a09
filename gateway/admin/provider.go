package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gpustack/gpustack-gateway/route"
)

// How a provider is asked for its models, and how long its answer is good for.
const (
	askedFor     = 10 * time.Second
	maxOffer     = 1 << 20 // bytes
	offerKept    = time.Minute
	failureKept  = 3 * time.Second
	anthropicAPI = "2023-06-01" // the version that Anthropic's API wants to be told
)

// offer is what a provider says that it has, or why that is not known.
type offer struct {
	Models  []string  `json:"models"`
	Fetched time.Time `json:"fetched"`
	fault   string
}

// offers remembers what the providers of one snapshot offer.
type offers struct {
	mu       sync.Mutex
	snapshot *route.Snapshot
	known    map[string]*known
}

// known is what is known of one provider. Its lock is held while the provider is asked, so that it is asked once.
type known struct {
	mu sync.Mutex
	offer
}

// of returns what is known of a provider of a snapshot.
func (o *offers) of(s *route.Snapshot, name string) *known {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.snapshot != s {
		o.snapshot, o.known = s, map[string]*known{}
	}
	k := o.known[name]
	if k == nil {
		k = &known{}
		o.known[name] = k
	}
	return k
}

// newAsker returns a client that asks providers. It follows no redirect and uses no proxy: the token goes where the file
// says.
func newAsker() *http.Client {
	return &http.Client{
		Timeout:       askedFor,
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// providerModels answers with the models that a provider says it has.
func (a *admin) providerModels(w http.ResponseWriter, r *http.Request) {
	s, name := a.Table.Load(), named(r, "name")
	up, ok := s.Provider(name)
	if !ok {
		a.refuse(w, refusef(http.StatusNotFound, "", "there is no provider %s", quote(name)))
		return
	}
	k := a.offers.of(s, name)
	k.mu.Lock()
	defer k.mu.Unlock()
	keep := offerKept
	if k.fault != "" {
		keep = failureKept
	}
	if time.Since(k.Fetched) >= keep {
		k.offer = a.ask(r.Context(), &up)
	}
	if k.fault != "" {
		fail(w, http.StatusBadGateway, k.fault)
		return
	}
	write(w, http.StatusOK, k.offer)
}

// ask asks a provider. It says nothing of the token, whatever happens.
func (a *admin) ask(ctx context.Context, up *route.Upstream) offer {
	// Who asked may leave; who asks next is glad of the answer.
	ctx = context.WithoutCancel(ctx)
	o := offer{}
	models, err := a.fetchModels(ctx, up)
	if err != nil {
		o.fault = fmt.Sprintf("the provider %s can't be asked for its models: %v", quote(up.Target), err)
	}
	o.Models, o.Fetched = list(models), time.Now()
	return o
}

func (a *admin) fetchModels(ctx context.Context, up *route.Upstream) ([]string, error) {
	scheme := "http://"
	if up.Address.TLS {
		scheme = "https://"
	}
	url := scheme + up.Address.Authority + up.Address.BasePath + "/models"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody) //nolint:gosec // the operator says where
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "gpustack-gateway")
	if !up.Credential.IsZero() {
		req.Header.Set(up.Header, up.Credential.Reveal())
	}
	if up.Header == "x-api-key" {
		req.Header.Set("anthropic-version", anthropicAPI)
	}
	resp, err := a.asker.Do(req) //nolint:gosec // as above
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxOffer+1))
	switch {
	case err != nil:
		return nil, errors.New("its answer broke off")
	case len(text) > maxOffer:
		return nil, fmt.Errorf("its answer has more than %d bytes", maxOffer)
	}
	return namesOf(text)
}

// namesOf reads a list of models: of the decision services' kind, {"models": [{"name"}]}, or of OpenAI's and Anthropic's,
// {"data": [{"id"}]}.
func namesOf(text []byte) ([]string, error) {
	var answer struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Models == nil && answer.Data == nil {
		return nil, errors.New("its answer is no list of models")
	}
	names := []string{}
	for _, m := range answer.Models {
		if m.Name != "" {
			names = append(names, m.Name)
		}
	}
	for _, m := range answer.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}
