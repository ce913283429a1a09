package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
)

type explainCommand struct {
	Admin          string `help:"The gateway's admin address, or its URL." default:"127.0.0.1:9090" env:"GPUSTACK_GATEWAY_ADMIN_LISTEN" placeholder:"URL"`
	AdminTokenFile string `help:"File with the token of the admin address, if it asks for one." type:"path" env:"GPUSTACK_GATEWAY_ADMIN_TOKEN_FILE" placeholder:"FILE"`

	Path   string   `help:"The path that a client would ask." default:"/v1/chat/completions" placeholder:"PATH"`
	Header []string `help:"A header of the request, as NAME: VALUE. May be given more than once." short:"H" sep:"none" placeholder:"HEADER"`
	Body   string   `help:"File with the request's body; - reads standard input." required:"" type:"path" placeholder:"FILE"`
	Ask    bool     `help:"Really ask the decision service. Without it that policy abstains."`
	JSON   bool     `name:"json" help:"Print the answer of the admin API as it is."`
}

// explainTimeout bounds the whole answer, a decision service's included.
const explainTimeout = time.Minute

// Help is shown below the command's usage.
func (*explainCommand) Help() string {
	return `Tells which instance of a running gateway a request would go to at this moment, and how every policy voted. Nothing is sent to an upstream and nothing is counted. Access is not checked, so no key is needed.`
}

// explained is the part of the admin API's answer that is printed.
type explained struct {
	Route   string `json:"route"`
	Access  string `json:"access_policy"`
	Refused *struct {
		Status  int    `json:"status"`
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"refused"`
	Choice    *lb.Report `json:"choice"`
	Fallbacks []struct {
		Target string `json:"target"`
		Codes  string `json:"status_codes"`
	} `json:"fallbacks"`
}

// Run asks and prints.
func (c *explainCommand) Run(ctx context.Context, p *process) error {
	answer, err := c.ask(ctx, p)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = p.stdout.Write(answer)
		return err
	}
	var e explained
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("the admin API's answer is not understood: %w", err)
	}
	printExplained(p.stdout, &e)
	return nil
}

// ask sends the question to the admin API and returns its answer.
func (c *explainCommand) ask(ctx context.Context, p *process) ([]byte, error) {
	_, body, err := readFile(c.Body, p.stdin)
	if err != nil {
		return nil, usagef("--body: %v", err)
	}
	headers := map[string][]string{}
	for _, h := range c.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usagef("--header: %q is not of the form NAME: VALUE", h)
		}
		headers[name] = append(headers[name], strings.TrimSpace(value))
	}
	question, err := json.Marshal(map[string]any{"path": c.Path, "headers": headers, "body": string(body), "call_decision_service": c.Ask})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, adminURL(c.Admin)+"/api/explain", bytes.NewReader(question))
	if err != nil {
		return nil, usagef("--admin: %q is not an address: %v", c.Admin, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.AdminTokenFile != "" {
		token, err := os.ReadFile(c.AdminTokenFile)
		if err != nil {
			return nil, usagef("--admin-token-file: %v", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		var f struct {
			Error struct{ Message string }
		}
		if json.Unmarshal(answer, &f) == nil && f.Error.Message != "" {
			return nil, errors.New(f.Error.Message)
		}
		return nil, fmt.Errorf("%s answered %s", req.URL, resp.Status)
	}
	return answer, nil
}

// printExplained prints an explanation for a person.
func printExplained(w io.Writer, e *explained) {
	if e.Route != "" {
		fmt.Fprintf(w, "Route %q (%s)", e.Route, e.Access)
		if e.Choice != nil {
			fmt.Fprintf(w, ", by %s", e.Choice.RouteBy)
		}
		fmt.Fprintln(w)
	}
	if r := e.Refused; r != nil {
		fmt.Fprintf(w, "It would be refused with status %d", r.Status)
		if r.Code != "" {
			fmt.Fprintf(w, " (%s)", r.Code)
		}
		fmt.Fprintf(w, ": %s\n", r.Message)
		return
	}
	printVotes(w, e.Choice)
	printCandidates(w, e.Choice)
	printPick(w, e.Choice)
	for _, f := range e.Fallbacks {
		fmt.Fprintf(w, "If that fails (%s): target %q.\n", f.Codes, f.Target)
	}
}

func printVotes(w io.Writer, r *lb.Report) {
	if len(r.Votes) == 0 {
		return
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "POLICY\tWEIGHT\tSTRENGTH\tWENT BY")
	for _, v := range r.Votes {
		strength := fmt.Sprintf("%.3g", v.Strength)
		if v.Abstained {
			strength = "abstains"
		}
		fmt.Fprintf(table, "%s\t%g\t%s\t%s\n", v.Plugin, v.Weight, strength, v.Reason)
	}
	_ = table.Flush()
}

func printCandidates(w io.Writer, r *lb.Report) {
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\tTARGET\tINSTANCE\tIN FLIGHT\tSTATE")
	weighted := r.RouteBy == lb.TargetWeight.String()
	if weighted {
		fmt.Fprint(table, "\tSHARE")
	}
	for _, v := range r.Votes {
		fmt.Fprintf(table, "\t%s", strings.ToUpper(v.Plugin))
	}
	if len(r.Votes) > 0 {
		fmt.Fprint(table, "\tTOTAL")
	}
	fmt.Fprintln(table)
	for i := range r.Candidates {
		c := &r.Candidates[i]
		mark := ""
		if i == r.Pick {
			mark = "->"
		}
		inflight := strconv.FormatInt(c.InFlight, 10)
		if c.Limit > 0 {
			inflight += fmt.Sprintf(" of %d", c.Limit)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s", mark, c.Target, c.Instance, inflight, stateOf(c))
		if weighted {
			fmt.Fprintf(table, "\t%s", percent(c.Share))
		}
		for _, v := range c.Votes {
			fmt.Fprintf(table, "\t%.4g: %s, +%.4g", v.Score, percent(v.Normalised), v.Contribution)
		}
		if len(r.Votes) > 0 {
			fmt.Fprintf(table, "\t%.4g", c.Total)
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush()
}

func stateOf(c *lb.CandidateReport) string {
	state := c.State
	if c.Until != nil {
		state += " until " + c.Until.Local().Format(time.TimeOnly)
	}
	if c.Penalty > 0 {
		state += fmt.Sprintf(", penalty %.2g", c.Penalty)
	}
	if c.Full {
		state += ", full"
	}
	return state
}

func printPick(w io.Writer, r *lb.Report) {
	names := func(of []int) string {
		var all []string
		for _, i := range of {
			all = append(all, fmt.Sprintf("%q", r.Candidates[i].Instance))
		}
		return strings.Join(all, ", ")
	}
	fmt.Fprintln(w)
	switch {
	case r.Error != "":
		fmt.Fprintf(w, "Nobody can be chosen: %s.\n", r.Error)
	case len(r.Ties) > 0:
		fmt.Fprintf(w, "It would be drawn among %s.\n", names(r.Ties))
	default:
		fmt.Fprintf(w, "It would go to %s", names([]int{r.Pick}))
		if r.DecidedBy != "" {
			fmt.Fprintf(w, ", decided by %s", r.DecidedBy)
		}
		fmt.Fprintln(w, ".")
	}
	if r.Note != "" {
		fmt.Fprintf(w, "(%s)\n", r.Note)
	}
	if len(r.Rest) > 0 {
		fmt.Fprintf(w, "After it: %s.\n", names(r.Rest))
	}
}
