// An explanation as a picture: every candidate with what each policy adds to its total.
import type { Candidate, Explanation, Report } from "../types";
import { Badge, Notice } from "../ui/basic";
import { Health } from "../ui/health";
import { access, list, routeBy, title } from "../words";

export function Result({ answer }: { answer: Explanation }) {
  const { refused, choice } = answer;
  return (
    <section class="stack" aria-label="The answer">
      {refused ? (
        <Notice tone="bad" title={`It would be refused with status ${refused.status}${refused.code ? ` (${refused.code})` : ""}`}>
          <p>{refused.message}</p>
        </Notice>
      ) : (
        choice && <Verdict report={choice} />
      )}
      {answer.route && (
        <p class="row muted">
          <span>
            Route <code>{answer.route}</code>
          </span>
          {choice && <Badge>{routeBy[choice.route_by] ?? choice.route_by}</Badge>}
          {answer.access_policy && <Badge>{access[answer.access_policy] ?? answer.access_policy}</Badge>}
        </p>
      )}
      {choice && choice.votes && choice.votes.length > 0 && <Votes report={choice} />}
      {choice && <Candidates report={choice} />}
      {answer.fallbacks && answer.fallbacks.length > 0 && (
        <p class="muted">
          If these fail:{" "}
          {answer.fallbacks.map((f, i) => (
            <span key={i}>
              {i > 0 && ", then "}
              <code>{f.target}</code> (on {f.status_codes})
            </span>
          ))}
          .
        </p>
      )}
    </section>
  );
}

function Verdict({ report: r }: { report: Report }) {
  const name = (i: number) => r.candidates[i]?.instance ?? "?";
  if (r.error) {
    return (
      <Notice tone="bad" title="Nobody can be chosen">
        <p>{r.error}</p>
      </Notice>
    );
  }
  return (
    <Notice
      tone="good"
      title={
        r.ties ? (
          <>It would be drawn among {list(r.ties.map(name))}</>
        ) : (
          <>
            It would go to <span data-pick>{name(r.pick)}</span>
          </>
        )
      }
    >
      <p>
        {r.decided_by ? `Decided by ${title(r.decided_by).toLowerCase()}. ` : ""}
        {r.note ? `${title(r.note)}. ` : ""}
        {r.rest && r.rest.length > 0 && `After it: ${list(r.rest.map(name))}.`}
      </p>
    </Notice>
  );
}

function Votes({ report: r }: { report: Report }) {
  return (
    <ul class="votes" aria-label="Policies">
      {r.votes!.map((v, i) => (
        <li key={v.plugin} class={v.abstained ? "abstained" : ""}>
          <span class={`swatch vote-${i % 4}`} aria-hidden="true" />
          <strong>{title(v.plugin)}</strong>
          <span class="muted">
            {v.abstained ? "abstains" : `weight ${v.weight}${v.strength < 1 ? ` × confidence ${number(v.strength)}` : ""}${v.per_model ? ", one vote a model" : ""}`}
          </span>
          {v.reason && <span class="reason">{v.reason}</span>}
        </li>
      ))}
    </ul>
  );
}

function Candidates({ report: r }: { report: Report }) {
  const top = Math.max(...r.candidates.map((c) => c.total), 0);
  const rank = new Map<number, number>();
  if (r.pick >= 0) rank.set(r.pick, 1);
  r.rest?.forEach((i, n) => rank.set(i, n + 2));
  const order = r.candidates.map((_, i) => i).sort((a, b) => (rank.get(a) ?? 1e9) - (rank.get(b) ?? 1e9));
  return (
    <ol class="panel candidates" aria-label="Candidates, best first">
      {order.map((i) => (
        <CandidateRow key={i} candidate={r.candidates[i]!} report={r} top={top} rank={rank.get(i)} picked={i === r.pick} tied={r.ties?.includes(i) ?? false} />
      ))}
    </ol>
  );
}

interface RowProps {
  candidate: Candidate;
  report: Report;
  top: number;
  rank: number | undefined;
  picked: boolean;
  tied: boolean;
}

function CandidateRow({ candidate: c, report: r, top, rank, picked, tied }: RowProps) {
  const votes = r.votes ?? [];
  return (
    <li class={`candidate${c.live ? "" : " out"}`} data-candidate={c.instance}>
      <span class="rank" aria-label={rank ? `Number ${rank}` : "Can't be chosen"}>
        {rank ?? "–"}
      </span>
      <div class="stack-s">
        <div class="spread">
          <span>
            <strong class="mono">{c.instance}</strong> <span class="muted">of {c.target}</span>{" "}
            {tied ? <Badge tone="info">Tie</Badge> : picked && <Badge tone="good">Pick</Badge>} {c.full && <Badge tone="bad">Full</Badge>}
          </span>
          <span class="row">
            <span class="muted small">
              {c.in_flight}
              {c.limit ? ` of ${c.limit}` : ""} in flight{c.penalty ? `, penalty ${number(c.penalty)}` : ""}
            </span>
            <span class="small">
              <Health state={c.state} until={c.until} />
            </span>
            {votes.length > 0 && <strong class="total">{number(c.total)}</strong>}
          </span>
        </div>
        {votes.length > 0 && (
          <span class="bar tall" aria-hidden="true">
            {c.votes?.map((v, n) => (
              <span key={n} class={`vote-${n % 4}`} style={{ width: `${top > 0 ? (v.contribution / top) * 100 : 0}%` }} />
            ))}
          </span>
        )}
        {votes.length > 0 && (
          <span class="muted small parts">
            {c.votes?.map((v, n) =>
              votes[n]?.abstained ? null : (
                <span key={n} title={`score ${number(v.score)}, ${number(v.normalised * 100)} % of the vote`}>
                  {title(votes[n]!.plugin)} +{number(v.contribution)}
                </span>
              ),
            )}
          </span>
        )}
      </div>
    </li>
  );
}

export const number = (n: number) => String(Number(n.toPrecision(4)));
