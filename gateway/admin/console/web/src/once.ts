// What the gateway says and does not change while it runs.
import { useEffect, useState } from "preact/hooks";
import { request } from "./api";

const answers = new Map<string, unknown>();
const pause = 2000; // ms between two tries

// useOnce returns what is at a path of the API, asked for until it has come, and then never again.
export function useOnce<T>(path: string): T | undefined {
  const [value, set] = useState(answers.get(path));
  useEffect(() => {
    if (answers.has(path)) return set(answers.get(path));
    const asking = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const ask = () => {
      request(path, { signal: asking.signal }).then(
        (answer) => (answers.set(path, answer.value), set(answer.value)),
        () => asking.signal.aborted || (timer = setTimeout(ask, pause)),
      );
    };
    ask();
    return () => {
      asking.abort();
      clearTimeout(timer);
    };
  }, [path]);
  return value as T | undefined;
}

// Schema is a JSON Schema, as far as the console reads it.
export interface Schema {
  description?: string;
  type?: string;
  default?: unknown;
  enum?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  oneOf?: Schema[];
  $defs?: Record<string, Schema>;
}

// usePolicies returns the schema of each policy that the gateway has.
export function usePolicies(): [name: string, schema: Schema][] | undefined {
  const schema = useOnce<Schema>("/api/schema");
  const policies = schema?.$defs?.["route"]?.properties?.["policies"]?.properties;
  return policies && Object.entries(policies);
}
