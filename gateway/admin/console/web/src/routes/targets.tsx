// The targets of a route, as a form.
import type { Known } from "../form/checks";
import { idOf, useField, useForm } from "../form/context";
import { Num, Select, Tags, Text } from "../form/fields";
import { get, join } from "../form/paths";
import type { TargetConfig } from "../types";
import { Button } from "../ui/basic";
import { useFocus } from "../ui/focus";

export function TargetsForm({ known }: { known: Known }) {
  const f = useField<TargetConfig[]>("targets");
  const targets = f.value ?? [];
  const focus = useFocus();
  const add = () => {
    focus(idOf(join("targets", targets.length)) + "-kind");
    f.set([...targets, { model: "" }]);
  };
  const remove = (i: number) => {
    focus("add-target");
    f.set(targets.filter((_, n) => n !== i));
  };
  const move = (i: number, by: number) => {
    const next = [...targets];
    next.splice(i + by, 0, ...next.splice(i, 1));
    focus(`${idOf(join("targets", i + by))}-${by < 0 ? "up" : "down"}`);
    f.set(next);
  };
  return (
    <>
      <header>
        <h2>Targets</h2>
        <p>Who serves. Either all of them have a weight, or none; fallback targets, which are asked only when the others fail, do not count.</p>
      </header>
      {f.mistake && (
        <p class="error" id="f-targets" tabIndex={-1}>
          {f.mistake.message}
        </p>
      )}
      <ol class="cards">
        {targets.map((t, i) => (
          <TargetForm
            key={i}
            index={i}
            target={t}
            known={known}
            up={i > 0 ? () => move(i, -1) : undefined}
            down={i < targets.length - 1 ? () => move(i, 1) : undefined}
            remove={() => remove(i)}
          />
        ))}
      </ol>
      <div>
        <Button id="add-target" onClick={add}>
          Add target
        </Button>
      </div>
    </>
  );
}

interface TargetProps {
  index: number;
  target: TargetConfig;
  known: Known;
  up: (() => void) | undefined;
  down: (() => void) | undefined;
  remove: () => void;
}

function TargetForm({ index, target: t, known, up, down, remove }: TargetProps) {
  const form = useForm();
  const at = join("targets", index);
  const id = idOf(at);
  const provider = t.provider !== undefined;
  const fallback = t.fallback_status_codes !== undefined;
  const kind = (to: string) => {
    const { model, provider: was, ...rest } = get(form.value, at) as TargetConfig;
    form.change(at, to === "provider" ? { provider: "", ...rest } : { model: "", ...rest });
  };
  const label = `target ${index + 1}`;
  return (
    <li>
      <fieldset class="card" id={id} tabIndex={-1}>
        <legend class="hidden">Target {index + 1}</legend>
        <div class="card-head">
          <span class="muted" aria-hidden="true">
            {index + 1}
          </span>
          <span class="grow mono">{t.provider || t.model || ""}</span>
          <Button small kind="quiet" id={`${id}-up`} aria-label={`Move ${label} up`} aria-disabled={!up} onClick={() => up?.()}>
            ↑
          </Button>
          <Button small kind="quiet" id={`${id}-down`} aria-label={`Move ${label} down`} aria-disabled={!down} onClick={() => down?.()}>
            ↓
          </Button>
          <Button small kind="quiet" aria-label={`Remove ${label}`} onClick={remove}>
            Remove
          </Button>
        </div>
        <div class="fields target-fields">
          <div class="field">
            <label for={`${id}-kind`}>Kind</label>
            <select id={`${id}-kind`} value={provider ? "provider" : "model"} onChange={(e) => kind(e.currentTarget.value)}>
              <option value="model">Model</option>
              <option value="provider">Provider</option>
            </select>
          </div>
          {provider ? (
            <Select key="provider" path={join(at, "provider")} label="Provider" none="Choose…" options={known.providers.map((p) => [p.name, p.name])} />
          ) : (
            <Select key="model" path={join(at, "model")} label="Model" none="Choose…" options={known.models.map((m) => [m, m])} />
          )}
          <Text
            path={join(at, "overridden_model_name")}
            label="Asked for as"
            mono
            placeholder={provider ? "" : "its own name"}
            list={provider ? known.providers.find((p) => p.name === t.provider)?.models : undefined}
          />
          {!fallback && <Num path={join(at, "weight")} label="Weight" placeholder="none" />}
          {fallback && <Tags path={join(at, "fallback_status_codes")} label="On status" list={["5xx", "4xx", "429", "500", "502", "503", "504"]} keepEmpty />}
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={fallback}
            onChange={(e) => form.change(join(at, "fallback_status_codes"), e.currentTarget.checked ? ["5xx"] : undefined)}
          />
          Fallback target
          <span class="hint">asked only if the others answered with one of these statuses, or not at all</span>
        </label>
      </fieldset>
    </li>
  );
}
