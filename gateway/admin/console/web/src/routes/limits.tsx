// Limits of a route, or of all routes that do not say otherwise.
import { Chevron } from "../ui/basic";
import { Choice, Num, Tags, Text } from "../form/fields";
import { useForm } from "../form/context";
import { usePolled } from "../poll";
import { get } from "../form/paths";

// What holds where neither the route nor the defaults of the file say anything (docs/configuration.md).
const built: Record<string, string> = {
  "timeouts.connect": "3s",
  "timeouts.first_byte": "10m",
  "timeouts.idle": "5m",
  "timeouts.client_stall": "30s",
  "retry.max_attempts": "3",
  "retry.deadline": "10m",
  "retry.status_codes": "502, 503",
  "retry.peek_first_event": "no",
  "health.unhealthy_threshold": "3",
  "health.cooldown": "10s",
  "health.ramp": "10s",
  "health.fail_open": "yes",
  max_body_bytes: "104857600",
};

const members = ["queue", "heartbeat", "timeouts", "retry", "health", "max_body_bytes"];

export function LimitsForm({ route }: { route?: boolean }) {
  const form = useForm();
  const defaults = usePolled<{ config: unknown }>("/api/defaults").value;
  const otherwise = (path: string) => {
    const value = route ? get(defaults?.config, path) : undefined;
    if (value === undefined) return built[path]!;
    return typeof value === "boolean" ? (value ? "yes" : "no") : Array.isArray(value) ? value.join(", ") : String(value);
  };
  const set = members.filter((m) => (form.value as Record<string, unknown>)[m] !== undefined);
  const text = (path: string, label: string, hint?: string) => <Text tidy path={path} label={label} hint={hint} placeholder={otherwise(path)} />;
  const num = (path: string, label: string, hint?: string) => <Num tidy path={path} label={label} hint={hint} placeholder={otherwise(path)} />;
  const choice = (path: string, label: string, hint: string) => <Choice tidy path={path} label={label} hint={hint} otherwise={`As otherwise: ${otherwise(path)}`} />;
  const fields = (
    <div class="stack">
      {route && (
        <Group title="When every instance is full">
          <Num tidy path="queue.max" label="Requests that may wait" placeholder="none; they get 429" />
          <Text tidy path="queue.timeout" label="How long each" placeholder="10s, with a queue" />
          <Text path="heartbeat" label="Heartbeat in silent streams" placeholder="none" />
        </Group>
      )}
      <Group title="Time limits">
        {text("timeouts.connect", "To connect")}
        {text("timeouts.first_byte", "To the answer's first byte")}
        {text("timeouts.idle", "Silence after that")}
        {text("timeouts.client_stall", "A client that does not read")}
      </Group>
      <Group title="Retries, before the first byte">
        {num("retry.max_attempts", "Attempts, fallback included")}
        {text("retry.deadline", "Latest start of another")}
        <Tags tidy path="retry.status_codes" label="On status" placeholder={otherwise("retry.status_codes")} />
        {choice("retry.peek_first_event", "Look at a stream's first event", "An error there counts as a 502.")}
      </Group>
      <Group title="Instances that fail">
        {num("health.unhealthy_threshold", "Failures in a row that eject")}
        {text("health.cooldown", "Ejected for")}
        {text("health.ramp", "Treated with care for")}
        {choice("health.fail_open", "If all are ejected, try all", "Otherwise the fallback targets, or 503.")}
      </Group>
      <Group title="Requests">{num("max_body_bytes", "Largest body, in bytes", "0 is unlimited.")}</Group>
    </div>
  );
  if (!route) return <section class="panel section">{fields}</section>;
  return (
    <details class="panel limits">
      <summary>
        <Chevron />
        <h2>Limits</h2>
        <span class="muted">{set.length > 0 ? `of its own: ${set.join(", ")}` : "as all routes have them"}</span>
      </summary>
      <div class="section">{fields}</div>
    </details>
  );
}

function Group({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <fieldset class="group">
      <legend>
        <h3>{title}</h3>
      </legend>
      <div class="fields">{children}</div>
    </fieldset>
  );
}
