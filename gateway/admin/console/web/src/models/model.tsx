// Adding and editing a model.
import { useCallback } from "preact/hooks";
import { checkModel, type Known } from "../form/checks";
import { idOf, useField, useForm } from "../form/context";
import { useEditing } from "../form/edit";
import { Num, Text } from "../form/fields";
import { EditPage } from "../form/page";
import { join } from "../form/paths";
import { useKnown } from "../known";
import { href } from "../router";
import type { ModelConfig } from "../types";
import { Button, Loading } from "../ui/basic";
import { useFocus } from "../ui/focus";

type Instance = NonNullable<ModelConfig["instances"]>[number];

const blank: ModelConfig = { instances: [{}] };

export function ModelEditor({ name }: { name: string | undefined }) {
  const known = useKnown("models", name);
  return known ? <Editor name={name} known={known} /> : <Loading />;
}

function Editor({ name, known }: { name: string | undefined; known: Known }) {
  const check = useCallback((m: ModelConfig) => checkModel(m, known), [known]);
  const editing = useEditing<ModelConfig>({ list: "models", name, blank, check });
  return (
    <EditPage editing={editing} what="model" name={name} back={href("models")} gone={<p>Routes that name it as a target have to let go of it first.</p>}>
      <section class="panel section" aria-label="Model">
        <div class="fields">
          <Text path="name" label="Name" mono hint="What targets call it." />
          <Text path="served_model_name" label="Served as" mono placeholder="its name" hint="The name its engines know it by." />
        </div>
      </section>
      <section class="panel section" aria-label="Instances">
        <Instances />
      </section>
      <section class="panel section" aria-label="Health check">
        <HealthCheck />
      </section>
    </EditPage>
  );
}

function Instances() {
  const f = useField<Instance[]>("instances");
  const list = f.value ?? [];
  const focus = useFocus();
  return (
    <>
      <header>
        <h2>Instances</h2>
        <p>
          Where it runs. An address without a path gets <code>/v1</code> before the endpoint. Instances with one address are one engine, and share what is in flight
          there, its health and its cap.
        </p>
      </header>
      {f.mistake && <p class="error">{f.mistake.message}</p>}
      <ol class="cards" id={f.id} tabIndex={-1}>
        {list.map((_, i) => (
          <li key={i}>
            <fieldset class="card instance-card">
              <legend class="hidden">Instance {i + 1}</legend>
              <div class="fields">
                <Text path={join(join("instances", i), "name")} label="Name" mono />
                <Text path={join(join("instances", i), "url")} label="Address" mono placeholder="http://10.0.0.11:8000" />
                <Num path={join(join("instances", i), "max_inflight")} label="At most in flight" placeholder="unlimited" />
              </div>
              <Button
                small
                kind="quiet"
                aria-label={`Remove instance ${i + 1}`}
                onClick={() => {
                  focus("add-instance");
                  f.set(list.filter((_, n) => n !== i));
                }}
              >
                Remove
              </Button>
            </fieldset>
          </li>
        ))}
      </ol>
      <div>
        <Button
          id="add-instance"
          onClick={() => {
            focus(idOf(join(join("instances", list.length), "name")));
            f.set([...list, {}]);
          }}
        >
          Add instance
        </Button>
      </div>
    </>
  );
}

function HealthCheck() {
  const form = useForm();
  const on = (form.value as ModelConfig).health_check !== undefined;
  return (
    <>
      <label class="check">
        <input type="checkbox" role="switch" checked={on} onChange={(e) => form.change("health_check", e.currentTarget.checked ? { path: "/health" } : undefined)} />
        <strong>Health check</strong>
        <span class="hint">Engines are asked, so that one that is down costs no request.</span>
      </label>
      {on && (
        <div class="fields">
          <Text path="health_check.path" label="Path" mono hint="Asked with GET at the engine's address; any 2xx is well." />
          <Text path="health_check.interval" label="Every" placeholder="5s" />
        </div>
      )}
    </>
  );
}
