// API keys: who may call. Secrets are shown once, when a key is made.
import { hasDraft, write } from "../form/edit";
import { refresh, usePolled } from "../poll";
import { href } from "../router";
import type { Key, Keys } from "../types";
import { Badge, Button, Empty, Head, Waiting } from "../ui/basic";
import { confirm } from "../ui/dialog";
import { say } from "../ui/toast";

export function KeysPage() {
  const { value, error } = usePolled<Keys>("/api/keys");
  return (
    <>
      <Head
        title="Keys"
        actions={
          <a class="button primary" href={href("new", "keys")}>
            Create key
          </a>
        }
      >
        A key says who calls. The routes file holds only its digest, so a secret that is lost can't be shown again.
      </Head>
      <div class="stack">
        <Waiting error={error} value={value} />
        {value?.keys.length === 0 && (
          <Empty title="There are no keys yet">
            <p>Until there is one, only public routes can be used.</p>
          </Empty>
        )}
        {value && value.keys.length > 0 && (
          <ul class="panel entries">
            {value.keys.map((k) => (
              <KeyItem key={k.name} value={k} />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function KeyItem({ value: k }: { value: Key }) {
  const remove = async () => {
    if (!(await confirm(`Delete key ${k.name}?`, <p>Whoever uses it gets 401 from then on. It can't be brought back.</p>, "Delete"))) return;
    try {
      await write("keys", k.name, { base: k.config, value: undefined });
      say(`Deleted key ${k.name}.`);
    } catch (e) {
      say((e as Error).message);
    }
    refresh();
  };
  return (
    <li class="entry key" data-key={k.name}>
      <div class="key-name">
        <h2 class="mono">{k.name}</h2>
        <span class="muted">of {k.user}</span>
        {hasDraft("keys", k.name) && <Badge tone="info">Draft</Badge>}
      </div>
      <span>
        {k.allowed_routes === null ? <span class="muted">every route of its user</span> : k.allowed_routes.length === 0 ? "public routes only" : k.allowed_routes.join(", ")}
      </span>
      <span>
        {k.expired ? (
          <Badge tone="bad">expired</Badge>
        ) : k.expires_at ? (
          <span title={k.expires_at}>until {new Date(k.expires_at).toLocaleDateString()}</span>
        ) : (
          <span class="muted">does not expire</span>
        )}
      </span>
      <span class="row">
        <a class="button small" href={href("keys", k.name)} aria-label={`Edit key ${k.name}`}>
          Edit
        </a>
        <Button small kind="danger" aria-label={`Delete key ${k.name}`} onClick={() => void remove()}>
          Delete
        </Button>
      </span>
    </li>
  );
}
