// Small parts that every page uses.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Refusal } from "../api";
import { say } from "./toast";

export type Tone = "neutral" | "good" | "warn" | "bad" | "info";

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "size"> & { kind?: "primary" | "quiet" | "danger"; small?: boolean };

export function Button({ kind, small, class: more, type = "button", ...rest }: ButtonProps) {
  return <button {...rest} type={type} class={["button", kind, small && "small", more].filter(Boolean).join(" ")} />;
}

export function Badge({ tone = "neutral", children, title }: { tone?: Tone; children: ComponentChildren; title?: string }) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

interface NoticeProps {
  tone?: Tone;
  title?: ComponentChildren;
  children?: ComponentChildren;
  role?: "alert" | "status";
}

export function Notice({ tone = "neutral", title, children, role }: NoticeProps) {
  return (
    <div class={`notice ${tone}`} role={role}>
      {title && <strong>{title}</strong>}
      {children}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Chevron() {
  return (
    <svg class="chevron" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M6 4l4 4-4 4" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

// Head is the top of a page: what it is, and what can be done there.
export function Head({ title, children, actions }: { title: ComponentChildren; children?: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <header class="head">
      <div>
        <h1>{title}</h1>
        {children && <p>{children}</p>}
      </div>
      {actions && <div class="row">{actions}</div>}
    </header>
  );
}

// Waiting stands in for what has not come yet, or says why it does not come. What has come stays, with the error above.
export function Waiting({ error, value }: { error?: Refusal | undefined; value: unknown }) {
  if (error) {
    return (
      <Notice tone="bad" role="alert" title={value === undefined ? "This could not be loaded" : "This is not up to date"}>
        <p>{error.message} It is tried again every two seconds.</p>
      </Notice>
    );
  }
  return value === undefined ? <Loading /> : null;
}

// Loading shows itself only after a moment, so that what is quick does not flicker.
export function Loading() {
  const [late, set] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => set(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return late ? (
    <p class="muted" role="status">
      Loading…
    </p>
  ) : null;
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const copy = async () => {
    try {
      if (navigator.clipboard) await navigator.clipboard.writeText(text);
      else copySelected(field.current!); // an address without TLS that is not loopback has no clipboard
      say("Copied.");
    } catch {
      say("The browser does not let this page copy. Select the text and copy it yourself.");
    }
  };
  return (
    <>
      <Button small onClick={() => void copy()}>
        {label}
      </Button>
      <textarea ref={field} class="hidden" tabIndex={-1} aria-hidden="true" readOnly value={text} />
    </>
  );
}

function copySelected(field: HTMLTextAreaElement): void {
  const before = document.activeElement;
  field.select();
  const copied = document.execCommand("copy");
  if (before instanceof HTMLElement) before.focus();
  if (!copied) throw new Error("refused");
}
