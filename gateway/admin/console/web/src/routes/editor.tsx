// Adding and editing a route.
import { useCallback } from "preact/hooks";
import { checkRoute, derive, type Known } from "../form/checks";
import { useEditing, type Editing } from "../form/edit";
import { Select, Tags, Text } from "../form/fields";
import { EditPage } from "../form/page";
import { useKnown } from "../known";
import { href } from "../router";
import type { RouteConfig } from "../types";
import { Badge, Loading, Notice } from "../ui/basic";
import { LimitsForm } from "./limits";
import { PoliciesForm } from "./policies";
import { TargetsForm } from "./targets";

const blank: RouteConfig = { targets: [{ model: "" }] };

export function RouteEditor({ name }: { name: string | undefined }) {
  const known = useKnown("routes", name);
  return known ? <Editor name={name} known={known} /> : <Loading />;
}

function Editor({ name, known }: { name: string | undefined; known: Known }) {
  const check = useCallback((r: RouteConfig) => checkRoute(r, known), [known]);
  const editing = useEditing<RouteConfig>({ list: "routes", name, blank, check });
  const value = editing.value;
  return (
    <EditPage
      editing={editing}
      what="route"
      name={name}
      back={name === undefined ? href("routes") : href("routes", name)}
      after={(saved) => href("routes", saved)}
      gone={<p>Clients that ask for it get 404 from then on. Requests that run finish.</p>}
    >
      <section class="panel section" aria-label="Route">
        <div class="fields about">
          <Text path="name" label="Name" mono hint="What clients send as model, matched exactly." />
          <Text path="description" label="Description" hint="For people." />
          <Tags path="categories" label="Categories" hint="For people. Enter or a comma adds one." />
        </div>
      </section>
      <section class="panel section" aria-label="Targets">
        <TargetsForm known={known} />
      </section>
      <section class="panel section" aria-label="How it chooses">
        {value && <How editing={editing} value={value} />}
        <PoliciesForm known={known} />
      </section>
      <section class="panel section" aria-label="Access">
        <header>
          <h2>Access</h2>
        </header>
        <div class="fields">
          <Select
            path="access_policy"
            label="Who may use it"
            none="Any valid key (the default)"
            options={[
              ["authed", "Any valid key"],
              ["public", "Public: no key is needed"],
              ["allowed_users", "Allowed users: a key of one of them"],
            ]}
          />
          {(value?.access_policy === "allowed_users" || value?.allowed_users) && (
            <Tags path="allowed_users" label="Allowed users" hint="As the keys name them." />
          )}
        </div>
      </section>
      <LimitsForm route />
    </EditPage>
  );
}

const words = {
  target_weight: ["Target weight", "Every target has a weight: its share of the traffic, whatever its number of instances."],
  policy: ["Policy", "No target has a weight and a policy is on: the policies vote, and the candidate with the most gets the request."],
  round_robin: ["Round robin", "No target has a weight and no policy is on: the targets take turns, and within each its instances."],
  mixed: ["Unusable", "Some targets have a weight and some have none. Give all of them one, or none."],
} as const;

// How tells what follows from what is written. Nobody sets it.
function How({ editing, value }: { editing: Editing<RouteConfig>; value: RouteConfig }) {
  const by = derive(value.targets ?? [], value.policies);
  const [name, about] = words[by];
  const ignored = by === "target_weight" && Object.values(value.policies ?? {}).some((p) => p["enabled"] !== false);
  return (
    <header class="stack-s">
      <h2>How it chooses</h2>
      <p role="status">
        <Badge tone={by === "mixed" ? "bad" : "info"}>
          <span data-route-by={by}>Route By: {name}</span>
        </Badge>{" "}
        {about}
      </p>
      {ignored && (
        <Notice tone="warn">
          <p>The policies below count for nothing while the targets have weights.</p>
        </Notice>
      )}
      {editing.dirty && editing.trial?.usable === false && by !== "mixed" && (
        <Notice tone="bad" title="Saved like this, the route could not serve">
          <p>{editing.trial.reason}</p>
        </Notice>
      )}
    </header>
  );
}
