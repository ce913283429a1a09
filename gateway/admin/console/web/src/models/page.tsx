// Models with their instances, and providers.
import { hasDraft } from "../form/edit";
import { usePolled } from "../poll";
import { href } from "../router";
import type { Circuit, Model, Models, Provider, Providers, Status } from "../types";
import { Badge, Empty, Head, Waiting } from "../ui/basic";
import { Health, InFlight } from "../ui/health";
import { count, host } from "../words";
import { Drain } from "./drain";

export function ModelsPage() {
  const models = usePolled<Models>("/api/models");
  const providers = usePolled<Providers>("/api/providers");
  const circuits = usePolled<Status>("/api/status").value?.circuits;
  return (
    <>
      <Head
        title="Models & providers"
        actions={
          <>
            <a class="button" href={href("new", "providers")}>
              Add provider
            </a>
            <a class="button primary" href={href("new", "models")}>
              Add model
            </a>
          </>
        }
      >
        Models run on engines of your own; providers are services elsewhere. Routes send requests to both.
      </Head>
      <div class="stack">
        <section class="stack-s" aria-labelledby="models">
          <div class="spread">
            <h2 id="models">Models</h2>
            <a class="small" href={href("defaults")}>
              Limits of all routes
            </a>
          </div>
          <Waiting error={models.error} value={models.value} />
          {models.value?.models.length === 0 && <Empty title="There are no models yet" />}
          {models.value && models.value.models.length > 0 && (
            <ul class="panel entries">
              {models.value.models.map((m) => (
                <ModelItem key={m.name} model={m} />
              ))}
            </ul>
          )}
        </section>
        <section class="stack-s" aria-labelledby="providers">
          <h2 id="providers">Providers</h2>
          <Waiting error={providers.error} value={providers.value} />
          {providers.value?.providers.length === 0 && <Empty title="There are no providers yet" />}
          {providers.value && providers.value.providers.length > 0 && (
            <ul class="panel entries">
              {providers.value.providers.map((p) => (
                <ProviderItem key={p.name} provider={p} circuit={circuits?.find((c) => c.provider === p.name)} />
              ))}
            </ul>
          )}
        </section>
      </div>
    </>
  );
}

function Used({ routes }: { routes: string[] }) {
  if (routes.length === 0) return <span class="muted">in no route</span>;
  return (
    <span class="muted">
      in {routes.slice(0, 4).map((r, i) => [i > 0 && ", ", <a key={r} href={href("routes", r)}>{r}</a>])}
      {routes.length > 4 && ` and ${count(routes.length - 4, "more", "more")}`}
    </span>
  );
}

function ModelItem({ model: m }: { model: Model }) {
  const check = m.config.health_check;
  return (
    <li class="entry" data-model={m.name}>
      <div class="spread">
        <div class="row">
          <h3 class="mono">{m.name}</h3>
          {m.served_model_name !== m.name && (
            <span class="muted">
              its engines say <code>{m.served_model_name}</code>
            </span>
          )}
          <Used routes={m.routes} />
          {check ? (
            <Badge>
              asked at {check.path} every {check.interval ?? "5s"}
            </Badge>
          ) : (
            <Badge>no health check</Badge>
          )}
          {hasDraft("models", m.name) && <Badge tone="info">Draft</Badge>}
        </div>
        <a class="button small" href={href("models", m.name)} aria-label={`Edit model ${m.name}`}>
          Edit
        </a>
      </div>
      {m.instances.length === 0 ? (
        <p class="muted">It has no instance, so no request can be served by it.</p>
      ) : (
        <ul aria-label={`Instances of ${m.name}`}>
          {m.instances.map((i) => (
            <li class="engine" key={i.name} data-instance={i.name}>
              <span class="instance-name">
                <span class="mono">{i.name}</span> <span class="muted small mono">{host(i.url)}</span>
              </span>
              <InFlight count={i.in_flight} limit={i.limit} />
              <Health state={i.state} until={i.until} />
              <Drain model={m.name} instance={i} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const types: Record<string, string> = { openai: "OpenAI API", anthropic: "Anthropic API", typesafe: "decision service", systemone: "decision service" };

function ProviderItem({ provider: p, circuit }: { provider: Provider; circuit: Circuit | undefined }) {
  return (
    <li class="entry" data-provider={p.name}>
      <div class="spread">
        <div class="row">
          <h3 class="mono">{p.name}</h3>
          <span class="muted">
            {types[p.type] ?? p.type} at <code>{host(p.endpoint)}</code>
          </span>
          <Used routes={p.routes} />
          {hasDraft("providers", p.name) && <Badge tone="info">Draft</Badge>}
        </div>
        <a class="button small" href={href("providers", p.name)} aria-label={`Edit provider ${p.name}`}>
          Edit
        </a>
      </div>
      <div class="row">
        <Badge tone={p.api_token.set ? "neutral" : "warn"}>
          {p.api_token.variable ? `token from $${p.api_token.variable}` : p.api_token.set ? "token set" : "no token"}
        </Badge>
        {circuit && circuit.state !== "closed" && (
          <Badge tone="bad" title={circuit.until && `until ${new Date(circuit.until).toLocaleString()}`}>
            circuit {circuit.state === "open" ? "open" : "half open"} after {count(circuit.failures, "failure")}
          </Badge>
        )}
        {p.models.length > 0 && <span class="muted small">offers {p.models.join(", ")}</span>}
        <InFlight count={p.in_flight} />
      </div>
    </li>
  );
}
