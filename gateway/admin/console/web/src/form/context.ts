// A form over a value of the routes file. Each field stands for a path of it, and shows the problems that are there.
import { createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import { get } from "./paths";

export interface Mistake {
  path: string; // "" is the whole
  message: string;
  level: "error" | "unusable" | "warning";
}

export interface Form {
  value: unknown;
  mistakes: Mistake[];
  all: boolean; // show every mistake, not only those of fields that were left: somebody has tried to save
  touched: ReadonlySet<string>;
  claimed: Set<string>; // paths that have a field, which shows their mistakes
  change(path: string, value: unknown, tidy?: boolean): void;
  touch(path: string): void;
}

export const FormContext = createContext<Form | undefined>(undefined);

export function useForm(): Form {
  const form = useContext(FormContext);
  if (!form) throw new Error("a field stands outside of a form");
  return form;
}

export interface FieldState<T> {
  id: string;
  value: T | undefined;
  mistake: Mistake | undefined;
  set(value: T | undefined): void;
  touch(): void;
}

export const idOf = (path: string) => `f-${path.replace(/[^\w-]+/g, "-").replace(/-$/, "")}`;

// useField returns what a field at a path needs. With deep it shows the mistakes of whatever is below as well.
export function useField<T>(path: string, { deep = false, tidy = false } = {}): FieldState<T> {
  const form = useForm();
  useEffect(() => {
    form.claimed.add(path);
    return () => void form.claimed.delete(path);
  }, [path]);
  const here = (m: Mistake) => m.path === path || (deep && (m.path.startsWith(`${path}[`) || m.path.startsWith(`${path}.`)));
  const seen = (m: Mistake) => form.all || m.level !== "error" || form.touched.has(path);
  return {
    id: idOf(path),
    value: get(form.value, path) as T | undefined,
    mistake: form.mistakes.find((m) => here(m) && seen(m)),
    set: (value) => form.change(path, value, tidy),
    touch: () => form.touch(path),
  };
}
