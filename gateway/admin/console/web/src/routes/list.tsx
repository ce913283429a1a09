// The routes: what each is, how it chooses, and, unfolded, what is happening there.
import { useState } from "preact/hooks";
import { derive } from "../form/checks";
import { hasDraft, write } from "../form/edit";
import { refresh, usePolled } from "../poll";
import { href } from "../router";
import type { Route, Routes } from "../types";
import { Badge, Button, Chevron, Empty, Head, Notice, Waiting } from "../ui/basic";
import { confirm } from "../ui/dialog";
import { say } from "../ui/toast";
import { access, count, routeBy } from "../words";
import { TargetRow } from "./target";

// many is how many routes can be looked over without a filter.
const many = 8;

function matches(r: Route, filter: string): boolean {
  const text = [r.name, r.description, ...r.categories, ...r.allowed_users, ...r.targets.flatMap((t) => [t.of, t.model])].join("\n").toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export function RouteList({ open: first }: { open?: string | undefined }) {
  const { value, error } = usePolled<Routes>("/api/routes");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(first ? [first] : []));
  const [filter, setFilter] = useState("");
  const shown = value?.routes.filter((r) => matches(r, filter)) ?? [];
  const toggle = (name: string) =>
    setOpen((was) => {
      const now = new Set(was);
      if (!now.delete(name)) now.add(name);
      return now;
    });
  return (
    <>
      <Head
        title="Routes"
        actions={
          <a class="button primary" href={href("new", "routes")}>
            Add route
          </a>
        }
      >
        A route is a name that clients send as <code>model</code>, and everything that decides who answers.
      </Head>
      <div class="stack">
        <Waiting error={error} value={value} />
        {hasDraft("routes", undefined) && (
          <Notice tone="info" title="There is a draft of a new route">
            <a href={href("new", "routes")}>Go on with it</a>
          </Notice>
        )}
        {value && value.routes.length === 0 && (
          <Empty title="There are no routes yet">
            <p>Until there is one, clients get 404 for every model name.</p>
          </Empty>
        )}
        {value && value.routes.length > many && (
          <div class="field">
            <label class="hidden" for="filter">
              Filter
            </label>
            <input id="filter" type="search" placeholder="Filter by name, description, target or user…" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
          </div>
        )}
        {value && value.routes.length > 0 && shown.length === 0 && (
          <Empty title="No route is like that">
            <Button onClick={() => setFilter("")}>Show all</Button>
          </Empty>
        )}
        {value && shown.length > 0 && (
          <ul class="panel routes">
            {shown.map((r) => (
              <RouteItem key={r.name} route={r} open={open.has(r.name)} toggle={() => toggle(r.name)} window={value.window_seconds} />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function RouteItem({ route: r, open, toggle, window }: { route: Route; open: boolean; toggle: () => void; window: number }) {
  const inFlight = new Map(r.targets.flatMap((t) => t.instances.map((i) => [i.url, i.in_flight] as const)));
  const total = [...inFlight.values()].reduce((a, b) => a + b, 0);
  const warnings = r.problems.filter((p) => p.level === "warning").length;
  const panel = `route-${encodeURIComponent(r.name)}`;
  return (
    <li class="route" data-route={r.name}>
      <div class="route-line">
        <h2 class="route-name">
          <button type="button" class="unfold" aria-expanded={open} aria-controls={panel} onClick={toggle}>
            <Chevron />
            <span class="mono">{r.name}</span>
          </button>
          {hasDraft("routes", r.name) && (
            <span class="draft">
              <a href={href("routes", r.name, "edit")}>
                <Badge tone="info">Draft not saved</Badge>
              </a>
            </span>
          )}
          {r.description && <span class="route-about">{r.description}</span>}
        </h2>
        <dl class="route-facts">
          <Fact name="Route By">{mixed(r) ? "None" : (routeBy[r.route_by] ?? r.route_by)}</Fact>
          <Fact name="Access">{access[r.access_policy] ?? r.access_policy}</Fact>
          <Fact name="In flight">{total.toLocaleString("en")}</Fact>
          <Fact name={`Last ${Math.round(window / 60)} min`}>{count(r.requests, "request")}</Fact>
          <Fact name="State">
            {!r.usable ? <Badge tone="bad">Unusable</Badge> : warnings ? <Badge tone="warn">{count(warnings, "warning")}</Badge> : <Badge tone="good">Serving</Badge>}
          </Fact>
        </dl>
      </div>
      {open && <Unfolded id={panel} route={r} />}
    </li>
  );
}

// mixed reports whether some targets have a weight and some have none, so that a route does not choose at all.
const mixed = (r: Route) => derive(r.config.targets ?? [], r.config.policies) === "mixed";

async function remove(r: Route): Promise<void> {
  if (!(await confirm(`Delete route ${r.name}?`, <p>Clients that ask for it get 404 from then on. Requests that run finish.</p>, "Delete"))) return;
  try {
    await write("routes", r.name, { base: r.config, value: undefined });
    say(`Deleted route ${r.name}.`);
  } catch (e) {
    say((e as Error).message);
  }
  refresh();
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Unfolded({ id, route: r }: { id: string; route: Route }) {
  const chosen = r.targets.filter((t) => !t.fallback);
  const fallbacks = r.targets.filter((t) => t.fallback);
  const weights = chosen.reduce((sum, t) => sum + t.weight, 0);
  return (
    <div class="route-body stack" id={id} role="region" aria-label={`Route ${r.name}`}>
      {!r.usable && (
        <Notice tone="bad" title="This route can't serve. Its clients get 503.">
          <p>{r.reason}</p>
        </Notice>
      )}
      {r.problems.some((p) => p.level === "warning") && (
        <Notice tone="warn" title="Worth a look">
          <ul>
            {r.problems
              .filter((p) => p.level === "warning")
              .map((p) => (
                <li key={p.path + p.message}>
                  {p.field && <code>{p.field}</code>} {p.message}
                </li>
              ))}
          </ul>
        </Notice>
      )}
      <ul class="targets" aria-label="Targets">
        {chosen.map((t) => (
          <TargetRow key={t.index} target={t} wanted={r.usable && r.route_by === "target_weight" ? t.weight / weights : undefined} />
        ))}
      </ul>
      {fallbacks.length > 0 && (
        <div class="stack-s">
          <h3>Only if those fail, in this order</h3>
          <ul class="targets" aria-label="Fallback targets">
            {fallbacks.map((t) => (
              <TargetRow key={t.index} target={t} />
            ))}
          </ul>
        </div>
      )}
      <div class="row">
        <a class="button small" href={href("routes", r.name, "edit")} aria-label={`Edit route ${r.name}`}>
          Edit
        </a>
        <a class="button small" href={href("explain", r.name)}>
          Explain a request
        </a>
        <Button small kind="danger" onClick={() => void remove(r)}>
          Delete
        </Button>
      </div>
    </div>
  );
}
