// Questions that have to be answered before anything else. The browser's own dialog keeps the focus inside and closes on
// Escape.
import type { ComponentChildren } from "preact";
import { render } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./basic";

interface DialogProps {
  title: string;
  close: () => void; // asked for by Escape
  children: ComponentChildren;
}

function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={(e) => (e.preventDefault(), close())}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

export interface Answer {
  value: string;
  label: string;
  kind?: "primary" | "danger" | "quiet";
}

// ask shows a question with some answers, and returns the value of the one that is given; "" is Escape.
export function ask(title: string, text: ComponentChildren, answers: Answer[]): Promise<string> {
  const place = document.createElement("div");
  const before = document.activeElement;
  document.body.append(place);
  return new Promise((resolve) => {
    const answer = (value: string) => {
      render(null, place);
      place.remove();
      if (before instanceof HTMLElement) before.focus();
      resolve(value);
    };
    render(
      <Dialog title={title} close={() => answer("")}>
        <div class="stack-s asked">{text}</div>
        <div class="actions">
          {answers.map((a) => (
            <Button key={a.value} class={[a.kind, a.kind === "danger" && "primary"].filter(Boolean).join(" ")} onClick={() => answer(a.value)}>
              {a.label}
            </Button>
          ))}
        </div>
      </Dialog>,
      place,
    );
  });
}

export const confirm = async (title: string, text: ComponentChildren, yes: string, kind: "primary" | "danger" = "danger"): Promise<boolean> =>
  (await ask(title, text, [
    { value: "no", label: "Cancel" },
    { value: "yes", label: yes, kind },
  ])) === "yes";
