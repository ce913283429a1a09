// Where in the console the page is: the part of the address behind #, so that the gateway serves one page only.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  page: string; // "routes", "models", ...
  rest: string[]; // names behind it, unescaped
}

function parse(hash: string): Place {
  const [page = "", ...rest] = hash.replace(/^#\/?/, "").split("/");
  return { page: page || "routes", rest: rest.map(unescape) };
}

function unescape(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const href = (page: string, ...rest: string[]) => "#/" + [page, ...rest.map(encodeURIComponent)].join("/");

// A guard may keep the page where it is: it returns false, and calls go later if it changes its mind.
type Guard = (go: () => void) => boolean;
let guard: Guard | undefined;

// guardLeaving asks g before the page moves on; the returned function ends that.
export function guardLeaving(g: Guard): () => void {
  guard = g;
  return () => {
    if (guard === g) guard = undefined;
  };
}

let current = location.hash;
const lookers = new Set<(place: Place) => void>();

addEventListener("hashchange", () => {
  const wanted = location.hash;
  if (wanted === current) return;
  const stay = guard && !guard(() => move(wanted));
  if (stay) {
    history.replaceState(null, "", current || "#/");
    return;
  }
  arrive(wanted);
});

function move(hash: string): void {
  guard = undefined;
  if (location.hash === hash) arrive(hash);
  else location.hash = hash;
}

function arrive(hash: string): void {
  current = hash;
  const place = parse(hash);
  for (const look of lookers) look(place);
}

// go moves on without asking the guard: after something was saved, say.
export const go = (hash: string) => move(hash);

export function usePlace(): Place {
  const [place, set] = useState(() => parse(current));
  useEffect(() => {
    lookers.add(set);
    return () => void lookers.delete(set);
  }, []);
  return place;
}
