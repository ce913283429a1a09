// Settings of the decision service: who is asked, for which model, and what each model of the route is good for.
import { useState } from "preact/hooks";
import { at, Refusal, request } from "../api";
import { decides, type Known } from "../form/checks";
import { idOf, useField, useForm } from "../form/context";
import { Area, Select, Text } from "../form/fields";
import { join } from "../form/paths";
import type { RouteConfig, TargetConfig } from "../types";
import { Button } from "../ui/basic";

export function DecisionProvider({ path, known }: { path: string; known: Known }) {
  const options = known.providers.filter((p) => decides(p.type)).map((p) => [p.name, p.name] as [string, string]);
  return <Select path={path} label="Provider" none="Choose…" options={options} hint="Of type typesafe or systemone." />;
}

export function DecisionModel({ path, known }: { path: string; known: Known }) {
  const provider = useField<string>(path.replace(/model$/, "provider")).value;
  const [offers, setOffers] = useState<{ of: string; models: string[] }>();
  const [said, setSaid] = useState("");
  const listed = known.providers.find((p) => p.name === provider)?.models ?? [];
  const asked = offers?.of === provider ? offers?.models : undefined;
  const ask = async () => {
    setSaid("Asking…");
    try {
      const { value } = await request<{ models: string[] }>(at("providers", provider!, "models"));
      setOffers({ of: provider!, models: value.models });
      setSaid(value.models.length > 0 ? `It offers ${value.models.join(", ")}.` : "It names no models.");
    } catch (e) {
      setSaid(e instanceof Refusal ? e.message : String(e));
    }
  };
  return (
    <div class="stack-s">
      <Text path={path} label="Decision model" mono list={asked ?? listed} hint={said || "Without one that the provider offers, this policy abstains."} />
      {provider && (
        <div>
          <Button small onClick={() => void ask()}>
            Ask the provider what it offers
          </Button>
        </div>
      )}
    </div>
  );
}

// modelsOf returns what policies call the models of a route: once each, in the order of its targets.
export function modelsOf(targets: TargetConfig[]): string[] {
  const names = targets.filter((t) => !t.fallback_status_codes?.length).map((t) => t.overridden_model_name || t.model || "");
  return [...new Set(names.filter((n) => n !== ""))];
}

export function Criteria({ path }: { path: string }) {
  const form = useForm();
  const f = useField<Record<string, string>>(path);
  const criteria = f.value ?? {};
  const models = modelsOf((form.value as RouteConfig).targets ?? []);
  const missing = models.filter((m) => criteria[m] === undefined);
  const generate = () => {
    const first = missing[0];
    const strangers = Object.keys(criteria).filter((m) => !models.includes(m));
    f.set(Object.fromEntries([...models, ...strangers].map((m) => [m, criteria[m] ?? ""])));
    if (first !== undefined) requestAnimationFrame(() => document.getElementById(idOf(join(path, first)))?.focus());
  };
  return (
    <fieldset class="group wide" id={f.id} tabIndex={-1}>
      <legend>
        <h3>Criteria</h3>
      </legend>
      <p class="hint">What each model is good for, in words for the decision service.</p>
      {f.mistake && <p class="error">{f.mistake.message}</p>}
      <div class="stack">
        {Object.keys(criteria).map((model) => (
          <div class="criterion" key={model}>
            <Area path={join(path, model)} label={model} rows={2} keep hint={models.includes(model) ? undefined : "No target is asked for this model, so this is not used."} />
            <Button small kind="quiet" aria-label={`Remove the criterion of ${model}`} onClick={() => f.set(without(criteria, model))}>
              Remove
            </Button>
          </div>
        ))}
      </div>
      <div class="row">
        <Button small aria-disabled={missing.length === 0} onClick={() => missing.length > 0 && generate()}>
          Generate from targets
        </Button>
        <span class="hint">{missing.length > 0 ? `Adds ${missing.join(", ")}.` : models.length > 0 ? "Every model of the targets is here." : "The route has no target yet."}</span>
      </div>
    </fieldset>
  );
}

function without(criteria: Record<string, string>, model: string): Record<string, string> | undefined {
  const { [model]: _, ...rest } = criteria;
  return Object.keys(rest).length > 0 ? rest : undefined;
}
