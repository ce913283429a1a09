// Requests to the admin API of the address that the page is from.
import type { Failure, Problem } from "./types";

const tokenKey = "gpustack-gateway.token";

// Refusal is an answer that says no, or no answer (status 0).
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code = "",
    readonly problems: Problem[] = [],
    readonly etag = "",
  ) {
    super(message);
  }
}

export interface Answer<T> {
  value: T;
  etag: string;
}

export const token = {
  get: () => sessionStorage.getItem(tokenKey) ?? "",
  set(value: string) {
    if (value) sessionStorage.setItem(tokenKey, value);
    else sessionStorage.removeItem(tokenKey);
  },
};

// listeners are told when an answer says that a token is needed, or that the one given is wrong.
const listeners = new Set<() => void>();

export function onUnauthorized(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

interface Options {
  method?: string;
  body?: unknown;
  match?: string; // If-Match
  signal?: AbortSignal;
}

export async function request<T>(path: string, o: Options = {}): Promise<Answer<T>> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (token.get()) headers["Authorization"] = `Bearer ${token.get()}`;
  if (o.method && o.method !== "GET") headers["Content-Type"] = "application/json"; // with or without a body, the API wants it
  if (o.match) headers["If-Match"] = o.match;
  const init: RequestInit = { method: o.method ?? "GET", headers, cache: "no-store", credentials: "omit", signal: o.signal ?? null };
  if (o.body !== undefined) init.body = JSON.stringify(o.body);
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refusal(0, "The gateway does not answer.");
  }
  const etag = response.headers.get("ETag") ?? "";
  if (response.status === 401) for (const tell of listeners) tell();
  const text = await response.text();
  let value: unknown;
  try {
    value = text === "" ? undefined : JSON.parse(text);
  } catch {
    throw new Refusal(response.status, `The gateway answered ${response.status} with something that is not JSON.`);
  }
  if (response.ok) return { value: value as T, etag };
  const error = (value as Failure | undefined)?.error;
  throw new Refusal(response.status, error?.message ?? `The gateway answered ${response.status}.`, error?.code, error?.problems, etag);
}

// at builds the path of an entry; names may hold anything, slashes as well.
export const at = (list: string, ...names: (string | number)[]) =>
  ["/api", list, ...names.map((name) => encodeURIComponent(name))].join("/");
