// What the gateway says and does not change while it runs.
import { useEffect, useState } from "preact/hooks";
import { request } from "./api";

const answers = new Map<string, Promise<unknown>>();

export function useOnce<T>(path: string): T | undefined {
  const [value, set] = useState<T>();
  useEffect(() => {
    let answer = answers.get(path);
    if (!answer) {
      answer = request<T>(path).then((a) => a.value);
      answers.set(path, answer);
      answer.catch(() => answers.delete(path));
    }
    let gone = false;
    answer.then((v) => !gone && set(v as T), () => {});
    return () => void (gone = true);
  }, [path]);
  return value;
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
