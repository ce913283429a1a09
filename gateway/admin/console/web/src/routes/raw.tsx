// A setting as its JSON, where the console knows nothing better.
import { useState } from "preact/hooks";
import { described, Said } from "../form/fields";
import { useField } from "../form/context";
import { text } from "../form/paths";

export function RawJson({ path, label, hint }: { path: string; label: string; hint?: string | undefined }) {
  const f = useField<unknown>(path, { deep: true });
  const [typed, setTyped] = useState<string>();
  const [wrong, setWrong] = useState(false);
  const input = (now: string) => {
    setTyped(now);
    try {
      f.set(now.trim() === "" ? undefined : (JSON.parse(now) as unknown));
      setWrong(false);
    } catch {
      setWrong(true);
    }
  };
  const mistake = wrong ? ({ path, message: "This is not JSON yet, so what was there before stays.", level: "error" } as const) : f.mistake;
  return (
    <div class="field wide">
      <label for={f.id}>{label}</label>
      <textarea
        id={f.id}
        class="mono"
        rows={4}
        spellcheck={false}
        value={typed ?? (f.value === undefined ? "" : text(f.value))}
        onInput={(e) => input(e.currentTarget.value)}
        onBlur={() => {
          if (!wrong) setTyped(undefined);
          f.touch();
        }}
        {...described(f.id, mistake, hint)}
      />
      <Said id={f.id} mistake={mistake} hint={hint} />
    </div>
  );
}
