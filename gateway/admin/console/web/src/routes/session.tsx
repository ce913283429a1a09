// Where a request names its session: a chain of headers and body keys, of which the first that has a value counts.
import { useField } from "../form/context";
import { described, Said } from "../form/fields";
import { join } from "../form/paths";
import { Button } from "../ui/basic";

type Key = { header?: string; body_key?: string };

const standard: Key[] = [{ header: "session-id" }, { header: "x-client-request-id" }, { body_key: "prompt_cache_key" }];

export function SessionKeys({ path }: { path: string }) {
  const f = useField<Key[]>(path);
  const keys = f.value;
  return (
    <fieldset class="group wide" id={f.id} tabIndex={-1}>
      <legend>
        <h3>Session keys</h3>
      </legend>
      {!keys ? (
        <div class="row">
          <span class="muted">
            The default ones: {standard.map((k, i) => [i > 0 && ", ", <span key={i}>{k.header ? "header " : "body key "}<code>{k.header ?? k.body_key}</code></span>])}
          </span>
          <Button small onClick={() => f.set(standard)}>
            Change
          </Button>
        </div>
      ) : (
        <>
          <ol class="stack-s">
            {keys.map((k, i) => (
              <KeyRow key={i} path={join(path, i)} index={i} value={k} set={(to) => f.set(to ? keys.map((was, n) => (n === i ? to : was)) : keys.filter((_, n) => n !== i))} />
            ))}
          </ol>
          <Said id={f.id} mistake={f.mistake} hint="The first in this order that a request has counts. Body keys count on /responses and /messages." />
          <div class="row">
            <Button small onClick={() => f.set([...keys, { header: "" }])}>
              Add key
            </Button>
            <Button small kind="quiet" onClick={() => f.set(undefined)}>
              Back to the default ones
            </Button>
          </div>
        </>
      )}
    </fieldset>
  );
}

function KeyRow({ path, index, value, set }: { path: string; index: number; value: Key; set: (to: Key | undefined) => void }) {
  const body = value.body_key !== undefined;
  const f = useField<string>(join(path, body ? "body_key" : "header"));
  const text = f.value ?? "";
  return (
    <li class="key-row">
      <select aria-label={`Kind of key ${index + 1}`} value={body ? "body_key" : "header"} onChange={(e) => set(e.currentTarget.value === "header" ? { header: text } : { body_key: text })}>
        <option value="header">Header</option>
        <option value="body_key">Body key</option>
      </select>
      <div class="field">
        <input
          id={f.id}
          class="mono"
          type="text"
          spellcheck={false}
          autocomplete="off"
          aria-label={`Name of key ${index + 1}`}
          value={text}
          placeholder={body ? "metadata.user_id" : "session-id"}
          onInput={(e) => f.set(e.currentTarget.value)}
          onBlur={f.touch}
          {...described(f.id, f.mistake, undefined)}
        />
        <Said id={f.id} mistake={f.mistake} />
      </div>
      <Button small kind="quiet" aria-label={`Remove key ${index + 1}`} onClick={() => set(undefined)}>
        Remove
      </Button>
    </li>
  );
}
