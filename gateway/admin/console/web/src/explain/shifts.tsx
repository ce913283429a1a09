// At which load the policies of a route move a session away from its owner: hold, tie or flip, by the number of
// candidates and of requests in flight at the owner, all others being idle.
import { useEffect, useState } from "preact/hooks";
import { Refusal, request } from "../api";
import type { Route, Simulation } from "../types";
import { Button, Notice } from "../ui/basic";
import { numberOf } from "../form/fields";
import { title } from "../words";

// sticky reports whether a route has sessions that could be moved.
export function sticky(route: Route | undefined): boolean {
  const policy = route?.config.policies?.["session_affinity"];
  return !!route && route.usable && route.route_by === "policy" && !!policy && policy["enabled"] !== false;
}

export function Shifts({ route }: { route: Route }) {
  const [table, setTable] = useState<Simulation>();
  const [failed, setFailed] = useState<Refusal>();
  const [tried, setTried] = useState<Record<string, string>>({});
  const weights: Record<string, number> = {};
  for (const [plugin, text] of Object.entries(tried)) {
    const n = numberOf(text);
    if (typeof n === "number" && n > 0) weights[plugin] = n;
  }
  const question = JSON.stringify({ route: route.name, weights });
  const version = JSON.stringify([route.config.policies, route.targets.map((t) => t.instances.length)]);
  useEffect(() => {
    const asking = new AbortController();
    const timer = setTimeout(() => {
      request<Simulation>("/api/simulate", { method: "POST", body: JSON.parse(question) as unknown, signal: asking.signal }).then(
        (a) => (setTable(a.value), setFailed(undefined)),
        (e: unknown) => e instanceof Refusal && setFailed(e),
      );
    }, 150);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [question, version]);
  if (failed) return <Notice tone="warn">{failed.message}</Notice>;
  if (!table) return null;
  return (
    <section class="panel pad stack shifts" aria-labelledby="shifts">
      <header class="stack-s">
        <h2 id="shifts">What moves a session of {route.name}</h2>
        <p class="muted small">
          Its owner has requests in flight, every other candidate is idle. Hold: it stays. Tie: it is drawn. Flip: it moves. Decision services have no say in this.
        </p>
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of shifts">
        <table>
          <thead>
            <tr>
              <td />
              <th scope="colgroup" colSpan={table.rows[0]?.shifts.length ?? 1}>
                In flight at the owner
              </th>
              <td />
            </tr>
            <tr>
              <th scope="col">Candidates</th>
              {table.rows[0]?.shifts.map((_, x) => (
                <th scope="col" key={x}>
                  {x}
                </th>
              ))}
              <th scope="col">Moves at</th>
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row) => (
              <tr key={row.candidates} class={row.candidates === table.candidates ? "own" : ""}>
                <th scope="row">
                  {row.candidates}
                  {row.candidates === table.candidates && " (this route)"}
                </th>
                {row.shifts.map((s, x) => (
                  <td key={x}>
                    <span class={`shift ${s}`}>{s}</span>
                  </td>
                ))}
                <td>{row.first_flip ?? "never"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <fieldset class="group">
        <legend>
          <h3>Try other weights</h3>
        </legend>
        <div class="row weights">
          {table.votes
            .filter((v) => v.plugin !== "decision_service")
            .map((v) => (
              <div class="field" key={v.plugin}>
                <label for={`weight-${v.plugin}`}>{title(v.plugin)}</label>
                <input
                  id={`weight-${v.plugin}`}
                  type="text"
                  inputMode="decimal"
                  value={tried[v.plugin] ?? ""}
                  placeholder={String(v.weight)}
                  onInput={(e) => setTried({ ...tried, [v.plugin]: e.currentTarget.value })}
                />
              </div>
            ))}
          {Object.values(tried).some(Boolean) && (
            <Button small onClick={() => setTried({})}>
              The route's own
            </Button>
          )}
        </div>
        <p class="hint">Nothing is saved.</p>
      </fieldset>
    </section>
  );
}
