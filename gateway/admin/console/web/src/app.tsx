// The frame of the console: navigation, what the process says of itself, and the page that the address names.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { onUnauthorized } from "./api";
import { Explain } from "./explain/page";
import { KeyEditor } from "./keys/editor";
import { KeysPage } from "./keys/page";
import { LivePage } from "./live/page";
import { DefaultsEditor } from "./models/defaults";
import { ModelEditor } from "./models/model";
import { ModelsPage } from "./models/page";
import { ProviderEditor } from "./models/provider";
import { usePolled } from "./poll";
import { href, usePlace } from "./router";
import { RouteEditor } from "./routes/editor";
import { RouteList } from "./routes/list";
import { Banner } from "./banner";
import { SignIn } from "./signin";
import type { Status } from "./types";
import { Badge, Empty } from "./ui/basic";
import { Toasts } from "./ui/toast";
import { title } from "./words";

const pages: [page: string, title: ComponentChildren, count?: keyof Status["counts"]][] = [
  ["routes", "Routes", "routes"],
  ["models", <span>Models<span class="wide"> &amp; providers</span></span>],
  ["keys", "Keys", "keys"],
  ["explain", "Explain"],
  ["live", "Live"],
];

export function App() {
  const [locked, lock] = useState(false);
  useEffect(() => onUnauthorized(() => lock(true)), []);
  return (
    <>
      {locked ? <SignIn done={() => lock(false)} /> : <Frame />}
      <Toasts />
    </>
  );
}

function Frame() {
  const place = usePlace();
  const { value: status, error } = usePolled<Status>("/api/status");
  const main = useRef<HTMLElement>(null);
  const section = sectionOf(place.page === "new" ? (place.rest[0] ?? "") : place.page);
  const key = [place.page, ...place.rest].join("/");
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.focus(); // so that a keyboard and a screen reader go on from the top of the new page
    document.title = `${title(section)} · GPUStack Gateway`;
  }, [key]);
  const skip = (event: Event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <div class="frame">
      <a class="skip" href="#content" onClick={skip}>
        Skip to the page
      </a>
      <header class="side">
        <a class="brand" href={href("routes")}>
          <img src="icon.svg" alt="" />
          GPUStack Gateway
        </a>
        <nav class="nav" aria-label="Pages">
          {pages.map(([page, name, counted]) => (
            <a key={page} href={href(page)} aria-current={section === page ? "page" : undefined}>
              {name}
              {counted === "routes" && status && status.counts.unusable_routes > 0 ? (
                <span class="count">
                  <Badge tone="bad">{status.counts.unusable_routes} unusable</Badge>
                </span>
              ) : (
                counted && status && <span class="count">{status.counts[counted]}</span>
              )}
            </a>
          ))}
        </nav>
        {status && <Vitals status={status} />}
      </header>
      <main class="page" ref={main} tabIndex={-1} id="content">
        <Banner status={status} error={error} />
        <Page key={key} page={place.page} rest={place.rest} />
      </main>
    </div>
  );
}

// sectionOf returns the page of the navigation that a place belongs to.
const sectionOf = (page: string) => (page === "providers" || page === "defaults" ? "models" : page);

function Page({ page, rest }: { page: string; rest: string[] }) {
  switch (page) {
    case "routes":
      if (rest[1] === "edit") return <RouteEditor name={rest[0]} />;
      return <RouteList open={rest[0]} />;
    case "new":
      if (rest[0] === "routes") return <RouteEditor name={undefined} />;
      if (rest[0] === "models") return <ModelEditor name={undefined} />;
      if (rest[0] === "providers") return <ProviderEditor name={undefined} />;
      if (rest[0] === "keys") return <KeyEditor name={undefined} />;
      break;
    case "models":
      return rest[0] === undefined ? <ModelsPage /> : <ModelEditor name={rest[0]} />;
    case "providers":
      return rest[0] === undefined ? <ModelsPage /> : <ProviderEditor name={rest[0]} />;
    case "defaults":
      return <DefaultsEditor />;
    case "keys":
      return rest[0] === undefined ? <KeysPage /> : <KeyEditor name={rest[0]} />;
    case "live":
      return <LivePage />;
    case "explain":
      return <Explain route={rest[0]} />;
  }
  return (
    <Empty title="There is no such page">
      <a href={href("routes")}>Go to the routes</a>
    </Empty>
  );
}

function Vitals({ status }: { status: Status }) {
  return (
    <dl class="vitals">
      <div>
        <dt>Requests now</dt>
        <dd data-vital="active">{status.active_requests}</dd>
      </div>
      <div>
        <dt>Connections</dt>
        <dd>{status.clients}</dd>
      </div>
      <div>
        <dt>Generation</dt>
        <dd data-vital="generation">
          {status.generation}, <time dateTime={status.loaded}>{new Date(status.loaded).toLocaleTimeString()}</time>
        </dd>
      </div>
      <div>
        <dt>Version</dt>
        <dd>{status.version}</dd>
      </div>
      <div>
        <dt>File</dt>
        <dd class="mono" title={status.file.path}>
          {status.file.path.split("/").at(-1)}
        </dd>
      </div>
    </dl>
  );
}
