// Adding and editing a provider. Its token goes in and never comes out.
import { useCallback, useState } from "preact/hooks";
import { at, Refusal, request } from "../api";
import { checkProvider, type Known } from "../form/checks";
import { useField, useForm } from "../form/context";
import { useEditing } from "../form/edit";
import { described, Said, Select, Tags, Text } from "../form/fields";
import { EditPage } from "../form/page";
import { useKnown } from "../known";
import { usePolled } from "../poll";
import { href } from "../router";
import type { Provider, ProviderConfig } from "../types";
import { Button, Loading } from "../ui/basic";

const blank: ProviderConfig = {};

export function ProviderEditor({ name }: { name: string | undefined }) {
  const known = useKnown("providers", name);
  return known ? <Editor name={name} known={known} /> : <Loading />;
}

function Editor({ name, known }: { name: string | undefined; known: Known }) {
  const check = useCallback((p: ProviderConfig) => checkProvider(p, known), [known]);
  const editing = useEditing<ProviderConfig>({ list: "providers", name, blank, check, secrets: ["api_token"] });
  const now = usePolled<Provider>(name === undefined ? "" : at("providers", name)).value;
  return (
    <EditPage editing={editing} what="provider" name={name} back={href("models")} gone={<p>Routes that use it have to let go of it first.</p>}>
      <section class="panel section" aria-label="Provider">
        <div class="fields">
          <Text path="name" label="Name" mono hint="What targets and policies call it." />
          <Select
            path="type"
            label="Type"
            none="Choose…"
            options={[
              ["openai", "openai (serves requests)"],
              ["anthropic", "anthropic (serves requests)"],
              ["typesafe", "typesafe (decision service)"],
              ["systemone", "systemone (decision service)"],
            ]}
          />
          <Text path="endpoint" label="Endpoint" mono placeholder="https://api.example.com/v1" hint="Text of requests leaves only to here." />
        </div>
        <TokenField now={now?.api_token} />
        <Offers name={editing.dirty || editing.gone ? undefined : name} />
      </section>
    </EditPage>
  );
}

// TokenField says of the token only that there is one. Empty leaves it as it is.
function TokenField({ now }: { now: Provider["api_token"] | undefined }) {
  const form = useForm();
  const f = useField<string | null>("api_token");
  const removed = f.value === null;
  const hint = removed
    ? "The token will be removed."
    : now?.set
      ? `${now.variable ? `It comes from the variable ${now.variable}` : "One is set"}, and is never shown. Leave this empty to keep it.`
      : "Itself, or ${NAME} for the environment variable that holds it, which is better: then it is not in the file.";
  return (
    <div class="field">
      <label for={f.id}>{now?.set ? "New API token" : "API token"}</label>
      <div class="row">
        <input
          id={f.id}
          class="grow mono"
          type="password"
          autocomplete="new-password"
          disabled={removed}
          value={f.value ?? ""}
          placeholder={now?.set ? "unchanged" : "none"}
          onInput={(e) => f.set(e.currentTarget.value || undefined)}
          onBlur={f.touch}
          {...described(f.id, f.mistake, hint)}
        />
        {now?.set && (
          <Button small onClick={() => form.change("api_token", removed ? undefined : null)}>
            {removed ? "Keep it after all" : "Remove the token"}
          </Button>
        )}
      </div>
      <Said id={f.id} mistake={f.mistake} hint={hint} />
    </div>
  );
}

// Offers are the models that the provider is said to offer; one that is saved can be asked itself.
function Offers({ name }: { name: string | undefined }) {
  const f = useField<string[]>("models");
  const [said, setSaid] = useState("");
  const ask = async () => {
    setSaid("Asking…");
    try {
      const { value } = await request<{ models: string[] }>(at("providers", name!, "models"));
      setSaid(value.models.length > 0 ? `It offers ${value.models.length}; they are listed now, to be saved.` : "It names no models.");
      if (value.models.length > 0) f.set(value.models);
    } catch (e) {
      setSaid(e instanceof Refusal ? e.message : String(e));
    }
  };
  return (
    <div class="stack-s">
      <Tags path="models" label="Models it offers" hint="Empty is unknown. Of a decision service, a policy that asks for another one abstains." />
      <div class="row">
        {name !== undefined && (
          <Button small onClick={() => void ask()}>
            Ask the provider what it offers
          </Button>
        )}
        <span class="hint" role="status">
          {said}
        </span>
      </div>
    </div>
  );
}
