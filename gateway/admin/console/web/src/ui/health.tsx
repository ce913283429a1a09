// How an instance is, and how much of it is in use.
import { useEffect, useState } from "preact/hooks";
import type { State } from "../types";
import type { Tone } from "./basic";

// useNow returns the time, and renders again every second while it counts something down.
export function useNow(on: boolean): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!on) return;
    set(Date.now());
    const timer = setInterval(() => set(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [on]);
  return now;
}

const tones: Record<State, Tone> = { up: "good", probation: "warn", ejected: "bad", down: "bad", drained: "neutral" };

export function Health({ state, until }: { state: State; until?: string | undefined }) {
  const now = useNow(!!until);
  let words: string = state;
  if (until) {
    const seconds = Math.ceil((Date.parse(until) - now) / 1000);
    words = seconds > 0 ? `ejected, back in ${duration(seconds)}` : "ejected, about to be back";
  }
  return (
    <span class="health" title={until && `until ${new Date(until).toLocaleString()}`}>
      <span class={`dot ${tones[state] ?? ""}`} aria-hidden="true" />
      {words}
    </span>
  );
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// InFlight shows requests in flight, and, if there is one, the cap.
export function InFlight({ count, limit }: { count: number; limit?: number | undefined }) {
  return (
    <span class="inflight">
      <span>
        {count}
        {limit ? <span class="muted"> of {limit}</span> : null}
        <span class="muted"> in flight</span>
      </span>
      {limit ? <Bar part={count / limit} full={count >= limit} /> : null}
    </span>
  );
}

// Bar is a part of a whole as a picture; the number stands beside it in words.
export function Bar({ part, full }: { part: number; full?: boolean }) {
  return (
    <span class="bar" aria-hidden="true">
      <span class={full ? "full" : ""} style={{ width: `${Math.min(100, Math.max(0, part * 100))}%` }} />
    </span>
  );
}

export function percent(part: number): string {
  const p = part * 100;
  return `${p > 0 && p < 10 ? p.toFixed(1) : Math.round(p)} %`;
}
