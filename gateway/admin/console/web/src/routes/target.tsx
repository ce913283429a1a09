// A target of a route, with its instances as they are now.
import type { Instance, Target } from "../types";
import { Badge } from "../ui/basic";
import { Bar, Health, InFlight, percent } from "../ui/health";
import { count, host } from "../words";

// TargetRow shows a target; wanted is the share that its weight asks for, from 0 to 1.
export function TargetRow({ target: t, wanted }: { target: Target; wanted?: number | undefined }) {
  return (
    <li class="target" data-target={t.name}>
      <div class="target-line">
        <div class="target-name">
          <strong class="mono">{t.name}</strong>{" "}
          <span class="muted">
            {t.kind}
            {t.weight > 0 && !t.fallback && `, weight ${t.weight}`}
            {t.model !== t.of && (
              <>
                , asked for <code>{t.model}</code>
              </>
            )}
          </span>
          {t.fallback && (
            <span class="row codes">
              {t.fallback_status_codes.map((c) => (
                <Badge key={c}>{c}</Badge>
              ))}
            </span>
          )}
        </div>
        <div class="share">
          <span>
            {percent(t.share)} <span class="muted">of traffic{wanted !== undefined && `, ${percent(wanted)} wanted`}</span>
          </span>
          <Bar part={t.share} />
        </div>
        <span class="served">{count(t.requests, "request")}</span>
      </div>
      {t.instances.length === 0 ? (
        <p class="muted instance">It has no instance, so nothing can be sent here.</p>
      ) : (
        <ul aria-label={`Instances of ${t.name}`}>
          {t.instances.map((i) => (
            <InstanceRow key={i.name} instance={i} />
          ))}
        </ul>
      )}
    </li>
  );
}

export function InstanceRow({ instance: i, children }: { instance: Instance; children?: preact.ComponentChildren }) {
  return (
    <li class="instance" data-instance={i.name}>
      <span class="instance-name">
        <span class="mono">{i.name}</span> <span class="muted small mono">{host(i.url)}</span>
      </span>
      <InFlight count={i.in_flight} limit={i.limit} />
      <Health state={i.state} until={i.until} />
      <span class="served muted">{count(i.requests, "request")}</span>
      {children}
    </li>
  );
}
