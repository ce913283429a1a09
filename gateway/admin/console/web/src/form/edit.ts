// Editing an entry of the routes file: a draft that survives a reload of the page, checks while it is typed, and a save
// that never overwrites what somebody else has written meanwhile.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, Refusal, request } from "../api";
import { refresh, usePolled } from "../poll";
import type { Problem } from "../types";
import type { Form, Mistake } from "./context";
import { same, set } from "./paths";

interface Entry<C> {
  config: C;
}

// Trial is what the gateway says would become of the draft.
export interface Trial {
  problems: Problem[];
  route_by?: string;
  usable?: boolean;
  reason?: string;
}

export interface Options<C> {
  list: string; // of the API: "routes"
  name: string | undefined; // undefined: a new entry; "": what the list names is no list, but the entry itself
  blank: C; // what a new one begins with
  check: (value: C) => Mistake[];
  secrets?: (keyof C)[]; // members that a kept draft goes without
}

const pathOf = (list: string, name: string | undefined) => (name ? at(list, name) : at(list));

// Kept is a draft in the tab's storage.
interface Kept<C> {
  base: C; // what the file said when the draft was begun
  value: C;
  gone?: boolean; // that it is in the file no more was seen, and the draft is to add it again
}

export const draftKey = (list: string, name: string | undefined) => `gpustack-gateway.draft.${list}${name === undefined ? "" : `/${name}`}`;

export function hasDraft(list: string, name: string | undefined): boolean {
  return sessionStorage.getItem(draftKey(list, name)) !== null;
}

function kept<C>(key: string): Kept<C> | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(key) ?? "null") as Kept<C> | null) ?? undefined;
  } catch {
    return undefined;
  }
}

// Saved is an entry as the gateway answers when it has written it.
export interface Saved {
  name?: string;
}

export interface Editing<C> {
  form: Form;
  value: C | undefined; // undefined until the entry has come
  shown: C | undefined; // the same without secrets
  base: C | undefined;
  theirs: C | undefined; // the entry as the file has it now; undefined if it is not there
  error: Refusal | undefined; // why the entry can't be shown
  gone: boolean; // it is not in the file any more
  dirty: boolean;
  conflict: boolean; // there are changes here, and others in the file
  trial: Trial | undefined;
  errors: Mistake[]; // that keep it from being saved
  saving: boolean;
  failed: Refusal | undefined; // why the last save failed
  attempt(): Promise<Trial | undefined>; // asks now what would become of the draft; undefined if there is no answer
  save(): Promise<Saved | undefined>; // what the gateway made of it, if it was saved
  remove(): Promise<boolean>;
  replace(value: C): void;
  discard(): void;
  rebase(): void; // take what the file says for known, and go on with the draft
}

const pause = 300; // ms without typing, after which the gateway is asked

export function useEditing<C extends object>({ list, name, blank, check, secrets = [] }: Options<C>): Editing<C> {
  const key = draftKey(list, name);
  const polled = usePolled<Entry<C>>(name === undefined ? "" : pathOf(list, name));
  const [state, setState] = useState<Kept<C> | undefined>(() => kept<C>(key) ?? (name === undefined ? { base: blank, value: blank } : undefined));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState(false);
  const [trial, setTrial] = useState<Trial>();
  const [saving, setSaving] = useState(false);
  const [failed, setFailed] = useState<Refusal>();
  const claimed = useRef(new Set<string>());

  const gone = polled.error?.status === 404;
  const theirs = gone ? undefined : polled.value?.config;
  const dirty = !!state && !same(state.base, state.value);
  const follow = name !== undefined && theirs !== undefined && (!state || (!dirty && !same(state.base, theirs)));
  useEffect(() => {
    if (follow) setState({ base: theirs, value: theirs });
  }, [follow, theirs]);
  useEffect(() => {
    if (dirty && state) sessionStorage.setItem(key, JSON.stringify({ ...state, value: without(state.value, secrets) }));
    else sessionStorage.removeItem(key);
  }, [key, state, dirty]);

  const value = state?.value;
  const mine = useMemo(() => (value ? check(value) : []), [value, check]);
  const body = useMemo(() => (value ? JSON.stringify(value) : ""), [value]);
  useEffect(() => {
    if (!dirty || mine.some((m) => m.level === "error")) return setTrial(undefined);
    const asking = new AbortController();
    const timer = setTimeout(() => {
      tryOut(list, gone ? undefined : name, value!, asking.signal).then(setTrial, () => asking.signal.aborted || setTrial(undefined));
    }, pause);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [body, dirty, mine]);

  const theirMistakes = (failed?.problems.length ? failed.problems : (trial?.problems ?? [])).map(mistakeOf);
  const mistakes = [...mine, ...theirMistakes.filter((t) => !mine.some((m) => m.path === t.path))];
  const change = (next: C) => {
    setFailed(undefined);
    setState((was) => was && { ...was, value: next });
  };

  return {
    form: {
      value,
      mistakes,
      all,
      touched,
      claimed: claimed.current,
      change: (path, v, tidy) => {
        setFailed(undefined);
        setState((was) => was && { ...was, value: set(was.value, path, v, tidy) });
      },
      touch: (path) => setTouched((was) => (was.has(path) ? was : new Set(was).add(path))),
    },
    value,
    shown: value && without(value, secrets),
    base: state?.base,
    theirs,
    error: polled.error?.status === 404 ? undefined : polled.error,
    gone,
    dirty,
    conflict: dirty && name !== undefined && !!state && (gone ? !state.gone : theirs !== undefined && (!!state.gone || !same(state.base, theirs))),
    trial,
    errors: mistakes.filter((m) => m.level === "error"),
    saving,
    failed,
    async attempt() {
      setAll(true);
      if (!value || mine.some((m) => m.level === "error")) return undefined;
      try {
        const now = await tryOut(list, gone ? undefined : name, value);
        setTrial(now);
        return now;
      } catch {
        return undefined; // saving will tell why
      }
    },
    async save() {
      setAll(true);
      if (!state || mine.some((m) => m.level === "error")) return undefined;
      setSaving(true);
      try {
        const saved = await write(list, gone ? undefined : name, state);
        sessionStorage.removeItem(key);
        setFailed(undefined);
        return saved;
      } catch (e) {
        setFailed(e instanceof Refusal ? e : new Refusal(0, String(e)));
        refresh(); // somebody may have written meanwhile
        return undefined;
      } finally {
        setSaving(false);
      }
    },
    async remove() {
      setSaving(true);
      try {
        await write(list, name, { base: state!.base, value: undefined });
        sessionStorage.removeItem(key);
        return true;
      } catch (e) {
        setFailed(e instanceof Refusal ? e : new Refusal(0, String(e)));
        return false;
      } finally {
        setSaving(false);
      }
    },
    replace: change,
    discard() {
      setAll(false);
      setTouched(new Set());
      setFailed(undefined);
      setState(name === undefined ? { base: blank, value: blank } : theirs && { base: theirs, value: theirs });
    },
    rebase() {
      setState((was) => was && { base: theirs ?? was.base, value: was.value, gone });
    },
  };
}

function without<C extends object>(value: C, members: (keyof C)[]): C {
  const rest = { ...value };
  for (const m of members) delete rest[m];
  return rest;
}

function mistakeOf(p: Problem): Mistake {
  return { path: p.field, level: p.level, message: p.field ? p.message : `${p.path} ${p.message}`.trim() };
}

// tryOut asks what would become of a value, without writing it.
async function tryOut(list: string, name: string | undefined, value: object, signal?: AbortSignal): Promise<Trial> {
  try {
    return (await request<Trial>(`${pathOf(list, name)}?dry_run=true`, { method: name === undefined ? "POST" : "PUT", body: value, ...(signal && { signal }) })).value;
  } catch (e) {
    if (e instanceof Refusal && e.status === 422) return { problems: e.problems };
    throw e;
  }
}

// stale is thrown where an entry is not what a change was made from.
export const stale = "entry_changed";

// write writes an entry, removes it (without a value), or adds it (without a name), if the file has it as it was when the
// change was begun. The file's version guards that nobody comes in between; that something else of the file has changed
// is no reason not to write.
export async function write<C extends object>(list: string, name: string | undefined, change: { base: C | undefined; value: C | undefined }): Promise<Saved> {
  for (let left = 5; ; left--) {
    const etag = await version(list, name, change.base);
    const method = name === undefined ? "POST" : change.value ? "PUT" : "DELETE";
    try {
      const answer = await request<Saved | undefined>(pathOf(list, name), { method, body: change.value, match: etag });
      return answer.value ?? {};
    } catch (e) {
      if (!(e instanceof Refusal) || e.status !== 412 || left === 0) throw e;
    }
  }
}

// version returns the version of the file, in which the entry is what base says.
async function version(list: string, name: string | undefined, base: object | undefined): Promise<string> {
  if (name === undefined) return (await request(at(list))).etag;
  const now = await request<Entry<object>>(pathOf(list, name));
  if (base && !same(now.value.config, base)) throw new Refusal(412, "It has been changed in the file since you began.", stale);
  return now.etag;
}
