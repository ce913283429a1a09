// Paths of values, written as the gateway's problems write them: targets[1].weight, criteria["qwen3-0.6b"].
export type Step = string | number;

export function join(path: string, step: Step): string {
  if (typeof step === "number") return `${path}[${step}]`;
  if (!/^[\w$-]+$/.test(step)) return `${path}[${JSON.stringify(step)}]`;
  return path === "" ? step : `${path}.${step}`;
}

export function steps(path: string): Step[] {
  const out: Step[] = [];
  for (const match of path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)) {
    if (match[1] !== undefined) out.push(Number(match[1]));
    else if (match[2] !== undefined) out.push(unquote(match[2]));
    else out.push(match[3]!);
  }
  return out;
}

function unquote(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    return text; // Go escapes some characters otherwise; such a name has no field
  }
}

// parent returns the path of what a value stands in; "" is the root, and has none.
export const parent = (path: string) => steps(path).slice(0, -1).reduce<string>(join, "");

type Holder = { [step: Step]: unknown } | undefined | null;

export function get(root: unknown, path: string): unknown {
  let at = root;
  for (const step of steps(path)) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as { [step: Step]: unknown })[step];
  }
  return at;
}

// set returns root with another value at a path; undefined takes the member or element away. Objects that there are not
// are made; with tidy, those that are left empty go as well.
export function set<T>(root: T, path: string, value: unknown, tidy = false): T {
  return put(root as Holder, steps(path), value, tidy) as T;
}

function put(holder: Holder, [step, ...rest]: Step[], value: unknown, tidy: boolean): unknown {
  if (step === undefined) return value;
  if (Array.isArray(holder)) {
    const list = [...(holder as unknown[])];
    const next = put(list[step as number] as Holder, rest, value, tidy);
    if (next === undefined) list.splice(step as number, 1);
    else list[step as number] = next;
    return list;
  }
  const next = put(holder?.[step] as Holder, rest, value, tidy);
  if (next === undefined) {
    const { [step]: _, ...others } = holder ?? {};
    return tidy && rest.length > 0 && Object.keys(others).length === 0 ? undefined : others;
  }
  return { ...holder, [step]: next };
}

// same reports whether two values are the same JSON, whatever the order of members; members that are undefined are not
// there.
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  if (Array.isArray(a) && a.length !== (b as unknown[]).length) return false;
  for (const name of names) if (!same((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name])) return false;
  return true;
}

export const text = (value: unknown) => JSON.stringify(value, null, 2) as string;
