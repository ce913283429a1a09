// Requests as they end: what became of each, where it went, and why.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refusal, request } from "../api";
import type { Ended, Live } from "../types";
import { Badge, Button, Empty, Head, Waiting, type Tone } from "../ui/basic";
import { count, routeBy, title } from "../words";

const interval = 1000; // ms
const most = 500; // requests that are kept

const outcomes: Record<string, [label: string, tone: Tone]> = {
  ok: ["ok", "good"],
  client_closed: ["client left", "neutral"],
  upstream_error: ["upstream error", "bad"],
  upstream_aborted: ["broken off", "bad"],
  rejected: ["rejected", "warn"],
  internal_error: ["internal error", "bad"],
};

// useLive follows the requests that end, unless it is paused. Those that end meanwhile come with the next answer.
function useLive(paused: boolean): { requests: Ended[]; loaded: boolean; error: Refusal | undefined } {
  const [requests, setRequests] = useState<Ended[]>([]);
  const [loaded, setLoaded] = useState(false);
  const [error, setError] = useState<Refusal>();
  const last = useRef(0);
  useEffect(() => {
    if (paused) return;
    let timer: ReturnType<typeof setTimeout>;
    const asking = new AbortController();
    const ask = async () => {
      try {
        const { value } = await request<Live>(`/api/live?after=${last.current}`, { signal: asking.signal });
        if (value.last < last.current) setRequests([]); // another process has begun to count
        last.current = value.last;
        if (value.requests.length > 0) setRequests((were) => [...value.requests.reverse(), ...were].slice(0, most));
        setLoaded(true);
        setError(undefined);
      } catch (e) {
        if (asking.signal.aborted) return;
        setError(e instanceof Refusal ? e : new Refusal(0, String(e)));
      }
      timer = setTimeout(() => void ask(), interval);
    };
    void ask();
    return () => {
      asking.abort();
      clearTimeout(timer);
    };
  }, [paused]);
  return { requests, loaded, error };
}

export function LivePage() {
  const [paused, setPaused] = useState(false);
  const [text, setText] = useState("");
  const [outcome, setOutcome] = useState("");
  const { requests, loaded, error } = useLive(paused);
  const shown = useMemo(() => requests.filter((r) => matches(r, text, outcome)), [requests, text, outcome]);
  return (
    <>
      <Head title="Live">The requests that ended last, newest first. Nothing of what was asked or answered is kept.</Head>
      <div class="stack">
        <div class="row filter" role="search">
          <div class="field grow">
            <label class="hidden" for="filter">
              Filter
            </label>
            <input id="filter" type="search" placeholder="Filter by route, instance, key, status, request id…" value={text} onInput={(e) => setText(e.currentTarget.value)} />
          </div>
          <div class="field">
            <label class="hidden" for="outcome">
              Outcome
            </label>
            <select id="outcome" value={outcome} onChange={(e) => setOutcome(e.currentTarget.value)}>
              <option value="">Every outcome</option>
              {Object.entries(outcomes).map(([value, [label]]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </div>
          <Button aria-pressed={paused} onClick={() => setPaused(!paused)}>
            {paused ? "Go on" : "Pause"}
          </Button>
          <span class="muted" role="status">
            {paused ? "Paused. " : ""}
            {shown.length === requests.length ? count(requests.length, "request") : `${shown.length} of ${count(requests.length, "request")}`}
          </span>
        </div>
        <Waiting error={error} value={loaded || undefined} />
        {loaded && requests.length === 0 && (
          <Empty title="No request has ended yet">
            <p>They appear here as they end.</p>
          </Empty>
        )}
        {requests.length > 0 && shown.length === 0 && (
          <Empty title="No request is like that">
            <Button onClick={() => (setText(""), setOutcome(""))}>Show all</Button>
          </Empty>
        )}
        {shown.length > 0 && <Table requests={shown} />}
      </div>
    </>
  );
}

function matches(r: Ended, text: string, outcome: string): boolean {
  if (outcome && r.outcome !== outcome) return false;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const all = [r.route, r.target, r.instance, r.model, r.key, r.endpoint, r.decided_by, r.status, r.outcome, r.request_id].join("\n").toLowerCase();
  return words.every((w) => all.includes(w));
}

// Table has its roles written out, since on a narrow screen its style takes away those that it has by itself.
function Table({ requests }: { requests: Ended[] }) {
  return (
    <div class="panel scroll">
      <table class="live" role="table" aria-label="Requests">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">Time</th>
            <th role="columnheader" scope="col">Key</th>
            <th role="columnheader" scope="col">Route</th>
            <th role="columnheader" scope="col">Instance</th>
            <th role="columnheader" scope="col">Why</th>
            <th role="columnheader" scope="col">Status</th>
            <th role="columnheader" scope="col">Outcome</th>
            <th role="columnheader" scope="col" class="number">
              First byte
            </th>
            <th role="columnheader" scope="col" class="number">
              Total
            </th>
            <th role="columnheader" scope="col" class="number">
              Tokens
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {requests.map((r) => (
            <Row key={r.number} request={r} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ request: r }: { request: Ended }) {
  const [label, tone] = outcomes[r.outcome] ?? [r.outcome, "neutral"];
  return (
    <tr role="row" data-request={r.request_id} title={`request ${r.request_id}${r.endpoint ? `, ${r.endpoint}` : ""}`}>
      <td role="cell" data-at="time">
        <time dateTime={r.time}>{new Date(r.time).toLocaleTimeString()}</time>
      </td>
      <td role="cell" data-at="key">{r.key ?? <span class="muted">–</span>}</td>
      <td role="cell" data-at="route" class="mono">{r.route ?? <span class="muted">–</span>}</td>
      <td role="cell" data-at="instance" class="mono">{r.instance ?? <span class="muted">–</span>}</td>
      <td role="cell" data-at="why">{why(r)}</td>
      <td role="cell" data-at="status">{r.status}</td>
      <td role="cell" data-at="outcome">
        <Badge tone={tone}>{label}</Badge>
      </td>
      <td role="cell" data-at="first" class="number">{r.first_byte_ms === null ? "–" : time(r.first_byte_ms)}</td>
      <td role="cell" data-at="total" class="number">{time(r.total_ms)}</td>
      <td role="cell" data-at="tokens" class="number">{r.tokens ? `${r.tokens.input.toLocaleString("en")} → ${r.tokens.output.toLocaleString("en")}` : "–"}</td>
    </tr>
  );
}

// why says what led a request to its instance.
function why(r: Ended): string {
  const said: string[] = [];
  if (r.fallback) said.push("Fallback");
  else if (r.decided_by) said.push(title(r.decided_by));
  else if (r.instance && r.route_by) said.push(r.route_by === "policy" ? "Policy, drawn" : (routeBy[r.route_by] ?? r.route_by));
  if (r.attempts > 1) said.push(`attempt ${r.attempts}`);
  if (r.stream) said.push("stream");
  return said.join(", ") || "–";
}

function time(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
