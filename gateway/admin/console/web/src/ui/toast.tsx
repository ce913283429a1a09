// Short words on what has just been done, shown for a while and read aloud.
import { useEffect, useState } from "preact/hooks";

interface Toast {
  id: number;
  text: string;
}

let last = 0;
let show: ((toast: Toast) => void) | undefined;

export function say(text: string): void {
  show?.({ id: ++last, text });
}

export function Toasts() {
  const [toasts, set] = useState<Toast[]>([]);
  useEffect(() => {
    show = (toast) => {
      set((all) => [...all, toast]);
      setTimeout(() => set((all) => all.filter((t) => t !== toast)), 6000);
    };
    return () => (show = undefined);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map((t) => (
        <div class="toast" key={t.id}>
          {t.text}
        </div>
      ))}
    </div>
  );
}
