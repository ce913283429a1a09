// Creating and editing a key.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { checkKey, type Known } from "../form/checks";
import { useField, useForm } from "../form/context";
import { useEditing } from "../form/edit";
import { described, Said, Tags, Text } from "../form/fields";
import { EditPage } from "../form/page";
import { useKnown } from "../known";
import { href } from "../router";
import type { KeyConfig } from "../types";
import { Copy, Head, Loading, Notice } from "../ui/basic";

const blank: KeyConfig = {};

interface Made {
  name: string;
  secret: string;
}

export function KeyEditor({ name }: { name: string | undefined }) {
  const known = useKnown("keys", name);
  const [made, setMade] = useState<Made>();
  if (made) return <Secret made={made} />;
  return known ? <Editor name={name} known={known} made={setMade} /> : <Loading />;
}

function Editor({ name, known, made }: { name: string | undefined; known: Known; made: (m: Made) => void }) {
  const check = useCallback((k: KeyConfig) => checkKey(k, known, name === undefined), [known, name]);
  const editing = useEditing<KeyConfig>({ list: "keys", name, blank, check });
  return (
    <EditPage
      editing={editing}
      what="key"
      name={name}
      back={href("keys")}
      saved={name === undefined ? (answer) => made(answer as Made) : undefined}
      gone={<p>Whoever uses it gets 401 from then on. It can't be brought back.</p>}
    >
      <section class="panel section" aria-label="Key">
        <div class="fields">
          <Text path="user" label="User" hint="Whom it belongs to; routes grant access to users." />
          <Text path="name" label="Name" placeholder={name === undefined ? "made from the user" : ""} hint="What the access log calls it." />
          <Expiry />
        </div>
        <Scope routes={known.routes} />
      </section>
    </EditPage>
  );
}

function Expiry() {
  const f = useField<string>("expires_at");
  const hint = "In your time zone. Empty is never.";
  return (
    <div class="field">
      <label for={f.id}>Expires</label>
      <input
        id={f.id}
        type="datetime-local"
        value={f.value ? local(f.value) : ""}
        onInput={(e) => f.set(e.currentTarget.value ? new Date(e.currentTarget.value).toISOString().replace(".000Z", "Z") : undefined)}
        onBlur={f.touch}
        {...described(f.id, f.mistake, hint)}
      />
      <Said id={f.id} mistake={f.mistake} hint={hint} />
    </div>
  );
}

// local writes a time as the input wants it.
function local(time: string): string {
  const t = new Date(time);
  if (Number.isNaN(t.getTime())) return "";
  return new Date(t.getTime() - t.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

// Scope narrows a key to some routes. A list that is empty is not the same as none.
function Scope({ routes }: { routes: string[] }) {
  const form = useForm();
  const narrow = (form.value as KeyConfig).allowed_routes !== undefined;
  return (
    <fieldset class="group">
      <legend>
        <h3>Routes</h3>
      </legend>
      <label class="check">
        <input type="radio" name="scope" checked={!narrow} onChange={() => form.change("allowed_routes", undefined)} />
        All that its user may use
      </label>
      <label class="check">
        <input type="radio" name="scope" checked={narrow} onChange={() => form.change("allowed_routes", [])} />
        Only these, and public ones
      </label>
      {narrow && <Tags path="allowed_routes" label="Allowed routes" list={routes} keepEmpty />}
    </fieldset>
  );
}

// Secret shows the secret of a key that has just been made. It is nowhere else.
function Secret({ made }: { made: Made }) {
  const heading = useRef<HTMLDivElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <>
      <Head title={<>Key {made.name}</>} />
      <div class="stack" ref={heading} tabIndex={-1}>
        <Notice tone="good" role="status" title="This is its secret. It is shown only now.">
          <p>Copy it to where it will be used. The gateway keeps only a digest of it.</p>
          <div class="row secret">
            <code data-secret>{made.secret}</code>
            <Copy text={made.secret} label="Copy secret" />
          </div>
        </Notice>
        <div>
          <a class="button primary" href={href("keys")}>
            I have kept it
          </a>
        </div>
      </div>
    </>
  );
}
