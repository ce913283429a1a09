// The policies of a route. Their fields come from the schema that the gateway has of each, so that a policy which the
// console has never heard of can be set up as well; some fields have something better than a plain input.
import type { Known } from "../form/checks";
import { useField, useForm } from "../form/context";
import { Area, Choice, Num, Select, Tags, Text } from "../form/fields";
import { get, join } from "../form/paths";
import { usePolicies, type Schema } from "../once";
import type { Obj } from "../types";
import { Loading } from "../ui/basic";
import { title } from "../words";
import { Criteria, DecisionModel, DecisionProvider } from "./decision";
import { RawJson } from "./raw";
import { SessionKeys } from "./session";

export function PoliciesForm({ known }: { known: Known }) {
  const policies = usePolicies();
  if (!policies) return <Loading />;
  return (
    <div class="cards">
      {policies.map(([name, schema]) => (
        <PolicyForm key={name} name={name} schema={schema} known={known} />
      ))}
    </div>
  );
}

interface WidgetProps {
  path: string;
  known: Known;
}

// widgets stand in for the plain input of a setting.
const widgets: Record<string, (props: WidgetProps) => preact.JSX.Element> = {
  "session_affinity.session_keys": SessionKeys,
  "decision_service.provider": DecisionProvider,
  "decision_service.model": DecisionModel,
  "decision_service.criteria": Criteria,
};

// labels say better what a setting is than its name.
const labels: Record<string, string> = { cache_ttl: "Use an answer again for", max_state_bytes: "Most text it is told, in bytes", timeout: "Wait for it at most" };

// order puts what is asked for first in front; everything else follows as the schema has it.
const order = ["provider", "model", "instructions", "criteria", "session_keys"];

function PolicyForm({ name, schema, known }: { name: string; schema: Schema; known: Known }) {
  const form = useForm();
  const at = join("policies", name);
  const field = useField<Obj>(at);
  const settings = field.value;
  const on = settings !== undefined && settings["enabled"] !== false;
  // Off means: no object, or, if it has settings that should not be lost, one that says so.
  const toggle = (to: boolean) => {
    const { enabled: _, ...rest } = (get(form.value, at) as Obj | undefined) ?? {};
    if (to) form.change(at, rest);
    else form.change(at, Object.keys(rest).length > 0 ? { enabled: false, ...rest } : undefined, true);
  };
  const others = Object.entries(schema.properties ?? {})
    .filter(([setting]) => setting !== "enabled" && setting !== "weight")
    .sort(([a], [b]) => rank(a) - rank(b));
  return (
    <fieldset class="card policy" data-policy={name} id={field.id} tabIndex={-1}>
      <legend class="hidden">{title(name)}</legend>
      <label class="check">
        <input type="checkbox" role="switch" checked={on} onChange={(e) => toggle(e.currentTarget.checked)} />
        <strong>{title(name)}</strong>
        <span class="hint">{schema.description}</span>
      </label>
      {field.mistake && <p class={field.mistake.level === "warning" ? "error warning" : "error"}>{field.mistake.message}</p>}
      {on && (
        <div class="fields">
          <Num path={join(at, "weight")} label="Weight of its vote" placeholder={String(schema.properties?.["weight"]?.default ?? 1)} />
          {others.map(([setting, s]) => {
            const Widget = widgets[`${name}.${setting}`];
            const path = join(at, setting);
            return Widget ? <Widget key={setting} path={path} known={known} /> : <Setting key={setting} path={path} name={setting} schema={s} />;
          })}
        </div>
      )}
    </fieldset>
  );
}

function rank(setting: string): number {
  const i = order.indexOf(setting);
  return i < 0 ? order.length : i;
}

// Setting is the plain input for what a schema says.
function Setting({ path, name, schema }: { path: string; name: string; schema: Schema }) {
  const common = { path, label: labels[name] ?? title(name), hint: schema.description };
  const otherwise = schema.default === undefined ? "" : String(schema.default);
  const type = schema.type ?? (schema.oneOf?.some((s) => s.type === "string") ? "string" : undefined);
  if (schema.enum) return <Select {...common} none={otherwise || "–"} options={schema.enum.map((v) => [v, v])} />;
  if (name === "instructions") {
    return (
      <div class="wide">
        <Area {...common} />
      </div>
    );
  }
  if (type === "string") return <Text {...common} placeholder={otherwise} />;
  if (type === "integer" || type === "number") return <Num {...common} placeholder={otherwise} />;
  if (type === "boolean") return <Choice {...common} otherwise={otherwise === "" ? "–" : `As otherwise: ${otherwise === "true" ? "yes" : "no"}`} />;
  if (type === "array" && schema.items?.type === "string") return <Tags {...common} />;
  return <RawJson {...common} />;
}
