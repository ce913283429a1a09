// What the gateway says now, asked every two seconds for as long as somebody looks.
import { useEffect, useState } from "preact/hooks";
import { Refusal, request } from "./api";

const interval = 2000; // ms

export interface Polled<T> {
  value?: T; // the last good answer
  error?: Refusal; // why there is no newer one
}

interface Source {
  state: Polled<unknown>;
  lookers: Set<(state: Polled<unknown>) => void>;
  timer?: ReturnType<typeof setTimeout>;
  asking?: AbortController;
  again?: boolean; // asked for while an answer is under way
}

const sources = new Map<string, Source>();

function source(path: string): Source {
  let s = sources.get(path);
  if (!s) sources.set(path, (s = { state: {}, lookers: new Set() }));
  return s;
}

async function ask(path: string, s: Source): Promise<void> {
  if (s.asking) {
    s.again = true;
    return;
  }
  clearTimeout(s.timer);
  const asking = (s.asking = new AbortController());
  let state: Polled<unknown> | undefined;
  try {
    state = { value: (await request<unknown>(path, { signal: asking.signal })).value };
  } catch (error) {
    if (error instanceof Refusal) state = { value: s.state.value, error };
  }
  if (s.asking !== asking) return; // nobody looks any more, or others have begun to
  s.asking = undefined;
  if (state) s.state = state;
  for (const look of s.lookers) look(s.state);
  if (s.again) {
    s.again = false;
    void ask(path, s);
  } else if (!document.hidden) {
    s.timer = setTimeout(() => void ask(path, s), interval);
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  refresh();
});

// refresh asks at once for everything that is looked at.
export function refresh(): void {
  for (const [path, s] of sources) if (s.lookers.size > 0) void ask(path, s);
}

// usePolled returns what is at a path of the API, and renders again whenever it has been asked. Nothing is at "".
export function usePolled<T>(path: string): Polled<T> {
  const [state, set] = useState<Polled<unknown>>(source(path).state);
  useEffect(() => {
    if (path === "") return;
    const s = source(path);
    set(s.state);
    s.lookers.add(set);
    void ask(path, s);
    return () => {
      s.lookers.delete(set);
      if (s.lookers.size === 0) {
        clearTimeout(s.timer);
        s.asking?.abort();
        s.asking = undefined;
      }
    };
  }, [path]);
  return state as Polled<T>;
}
