// What would become of a request now, and why.
import { useEffect, useState } from "preact/hooks";
import { Refusal, request } from "../api";
import { usePolled } from "../poll";
import type { Explanation, Routes } from "../types";
import { Button, Empty, Head, Notice } from "../ui/basic";
import { Result } from "./result";
import { Shifts, sticky } from "./shifts";

interface Question {
  path: string;
  headers: string; // lines of name: value
  body: string;
  ask: boolean;
}

const kept = "gpustack-gateway.explain";

const paths = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions", "/v1/embeddings", "/v1/rerank"];

function bodyFor(model: string, path: string): string {
  const said = "Write a one-line greeting card.";
  const body: Record<string, unknown> = { model };
  if (path.endsWith("/responses") || path.endsWith("/embeddings")) body["input"] = said;
  else if (path.endsWith("/rerank")) Object.assign(body, { query: said, documents: ["one", "two"] });
  else if (path.endsWith("/completions") && !path.endsWith("/chat/completions")) body["prompt"] = said;
  else body["messages"] = [{ role: "user", content: said }];
  if (path.endsWith("/messages")) body["max_tokens"] = 100;
  return JSON.stringify(body, null, 2);
}

function start(route: string | undefined): Question {
  try {
    const was = JSON.parse(sessionStorage.getItem(kept) ?? "") as Question;
    if (!route || modelIn(was.body) === route) return was;
    return { ...was, body: bodyFor(route, was.path) };
  } catch {
    return { path: paths[0]!, headers: "session-id: one", body: route ? bodyFor(route, paths[0]!) : "", ask: false };
  }
}

function modelIn(body: string): string | undefined {
  try {
    return (JSON.parse(body) as { model?: string }).model;
  } catch {
    return undefined;
  }
}

// headersIn reads lines of name: value, and says which line is none.
export function headersIn(text: string): { headers: Record<string, string[]>; error?: string } {
  const headers: Record<string, string[]> = {};
  for (const [i, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const at = line.indexOf(":");
    if (at < 1) return { headers, error: `Line ${i + 1} is not of the form name: value.` };
    const name = line.slice(0, at).trim().toLowerCase();
    (headers[name] ??= []).push(line.slice(at + 1).trim());
  }
  return { headers };
}

export function Explain({ route }: { route?: string | undefined }) {
  const { value: routes } = usePolled<Routes>("/api/routes");
  const [q, setQ] = useState(() => start(route));
  const [answer, setAnswer] = useState<Explanation>();
  const [failed, setFailed] = useState<Refusal>();
  const [busy, setBusy] = useState(false);
  const names = routes?.routes.map((r) => r.name) ?? [];
  useEffect(() => sessionStorage.setItem(kept, JSON.stringify(q)), [q]);
  useEffect(() => {
    if (q.body === "" && names[0]) setQ({ ...q, body: bodyFor(names[0], q.path) });
  }, [names[0]]);
  const { headers, error } = headersIn(q.headers);
  const model = modelIn(q.body);
  const asked = routes?.routes.find((r) => r.name === model);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (error) return;
    setBusy(true);
    try {
      const body = { path: q.path, headers, body: q.body, call_decision_service: q.ask };
      setAnswer((await request<Explanation>("/api/explain", { method: "POST", body })).value);
      setFailed(undefined);
    } catch (e) {
      setFailed(e instanceof Refusal ? e : new Refusal(0, String(e)));
    } finally {
      setBusy(false);
    }
  };

  return (
    <>
      <Head title="Explain">Where a request would go at this moment, and how every policy votes. Nothing is sent and nothing is counted.</Head>
      <div class="explain">
        <form class="panel pad stack" onSubmit={(e) => void submit(e)} aria-label="The request">
          <div class="field">
            <label for="x-route">Route</label>
            <select id="x-route" value={model && names.includes(model) ? model : ""} onChange={(e) => setQ({ ...q, body: bodyFor(e.currentTarget.value, q.path) })}>
              {(!model || !names.includes(model)) && <option value="">As the body says</option>}
              {names.map((n) => (
                <option key={n}>{n}</option>
              ))}
            </select>
            <p class="hint">Fills in a request to it, for you to change.</p>
          </div>
          <div class="field">
            <label for="x-path">Path</label>
            <input
              id="x-path"
              class="mono"
              type="text"
              list="x-paths"
              value={q.path}
              spellcheck={false}
              onInput={(e) => setQ({ ...q, path: e.currentTarget.value })}
            />
            <datalist id="x-paths">
              {paths.map((p) => (
                <option key={p} value={p} />
              ))}
            </datalist>
          </div>
          <div class="field">
            <label for="x-headers">Headers</label>
            <textarea
              id="x-headers"
              class="mono"
              rows={2}
              spellcheck={false}
              value={q.headers}
              aria-invalid={!!error}
              aria-describedby="x-headers-hint"
              onInput={(e) => setQ({ ...q, headers: e.currentTarget.value })}
            />
            <p id="x-headers-hint" class={error ? "error" : "hint"}>
              {error ?? "One a line, as name: value. Those that name a session matter. No key is needed: access is not checked."}
            </p>
          </div>
          <div class="field">
            <label for="x-body">Body</label>
            <textarea id="x-body" class="mono" rows={10} spellcheck={false} value={q.body} onInput={(e) => setQ({ ...q, body: e.currentTarget.value })} />
          </div>
          <label class="check">
            <input type="checkbox" checked={q.ask} onChange={(e) => setQ({ ...q, ask: e.currentTarget.checked })} />
            <span>Really ask the decision service</span>
          </label>
          <Button kind="primary" type="submit" disabled={busy}>
            {busy ? "Asking…" : "Explain"}
          </Button>
        </form>
        <div class="stack">
          <div aria-live="polite">
            {failed && (
              <Notice tone="bad" role="alert" title="It could not be explained">
                <p>{failed.message}</p>
              </Notice>
            )}
            {answer && <Result answer={answer} />}
          </div>
          {!answer && !failed && (
            <Empty title="Paste a request, or choose a route">
              <p>The answer shows every candidate with its votes, the pick, and who would be next.</p>
            </Empty>
          )}
          {asked && sticky(asked) && <Shifts key={asked.name} route={asked} />}
        </div>
      </div>
    </>
  );
}
