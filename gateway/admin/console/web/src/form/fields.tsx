// Fields: a label, an input, a hint, and the mistake that stands there.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useField, type Mistake } from "./context";

interface FieldProps {
  path: string;
  label: string;
  hint?: ComponentChildren;
  tidy?: boolean; // objects that are left empty go
}

interface FrameProps {
  id: string;
  label: string;
  hint?: ComponentChildren;
  mistake: Mistake | undefined;
  children: ComponentChildren;
}

function Frame({ id, label, hint, mistake, children }: FrameProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <Said id={id} mistake={mistake} hint={hint} />
    </div>
  );
}

export function Said({ id, mistake, hint }: { id: string; mistake: Mistake | undefined; hint?: ComponentChildren }) {
  return (
    <>
      {mistake && (
        <p class={mistake.level === "warning" ? "error warning" : "error"} id={`${id}-mistake`}>
          {mistake.message}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  );
}

// described ties an input to what is said of it.
export function described(id: string, mistake: Mistake | undefined, hint: unknown) {
  const by = [mistake && `${id}-mistake`, hint && `${id}-hint`].filter(Boolean).join(" ");
  return { "aria-invalid": mistake ? mistake.level !== "warning" : undefined, "aria-describedby": by || undefined };
}

export function Text({ path, label, hint, tidy, mono, placeholder, list }: FieldProps & { mono?: boolean; placeholder?: string; list?: string[] | undefined }) {
  const f = useField<string>(path, { tidy: !!tidy });
  return (
    <Frame id={f.id} label={label} hint={hint} mistake={f.mistake}>
      <input
        id={f.id}
        type="text"
        class={mono ? "mono" : ""}
        value={f.value ?? ""}
        placeholder={placeholder}
        list={list && `${f.id}-list`}
        autocomplete="off"
        spellcheck={!mono}
        autocapitalize={mono ? "none" : undefined}
        onInput={(e) => f.set(e.currentTarget.value || undefined)}
        onBlur={f.touch}
        {...described(f.id, f.mistake, hint)}
      />
      {list && (
        <datalist id={`${f.id}-list`}>
          {list.map((o) => (
            <option key={o} value={o} />
          ))}
        </datalist>
      )}
    </Frame>
  );
}

export function Area({ path, label, hint, rows = 3, placeholder, keep }: FieldProps & { rows?: number; placeholder?: string; keep?: boolean }) {
  const f = useField<string>(path);
  return (
    <Frame id={f.id} label={label} hint={hint} mistake={f.mistake}>
      <textarea
        id={f.id}
        rows={rows}
        value={f.value ?? ""}
        placeholder={placeholder}
        onInput={(e) => f.set(e.currentTarget.value || (keep ? "" : undefined))}
        onBlur={f.touch}
        {...described(f.id, f.mistake, hint)}
      />
    </Frame>
  );
}

// Num is a number. Text that is none stays as it was typed, and is a mistake until it is one.
export function Num({ path, label, hint, tidy, placeholder }: FieldProps & { placeholder?: string }) {
  const f = useField<number | string>(path, { tidy: !!tidy });
  const [typed, setTyped] = useState(""); // 1.50 stays so until the field shows another number
  const shown = numberOf(typed) === f.value ? typed : String(f.value ?? "");
  return (
    <Frame id={f.id} label={label} hint={hint} mistake={f.mistake}>
      <input
        id={f.id}
        type="text"
        inputMode="decimal"
        autocomplete="off"
        value={shown}
        placeholder={placeholder}
        onInput={(e) => {
          setTyped(e.currentTarget.value);
          f.set(numberOf(e.currentTarget.value));
        }}
        onBlur={f.touch}
        {...described(f.id, f.mistake, hint)}
      />
    </Frame>
  );
}

// numberOf takes text for a number if it is written as one, and as a whole one would not be rounded.
export function numberOf(text: string): number | string | undefined {
  const t = text.trim();
  if (t === "") return undefined;
  const n = Number(t);
  return /^-?\d+(\.\d+)?$/.test(t) && (t.includes(".") || Number.isSafeInteger(n)) ? n : text;
}

export function Select({ path, label, hint, options, none }: FieldProps & { options: [value: string, label: string][]; none?: string }) {
  const f = useField<string>(path);
  const unknown = f.value !== undefined && !options.some(([v]) => v === f.value);
  return (
    <Frame id={f.id} label={label} hint={hint} mistake={f.mistake}>
      <select
        id={f.id}
        value={f.value ?? ""}
        onChange={(e) => {
          f.set(e.currentTarget.value || undefined);
          f.touch();
        }}
        onBlur={f.touch}
        {...described(f.id, f.mistake, hint)}
      >
        {none !== undefined && <option value="">{none}</option>}
        {unknown && <option value={f.value}>{f.value}</option>}
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </Frame>
  );
}

// Choice is a boolean that may be left to the default.
export function Choice({ path, label, hint, tidy, otherwise }: FieldProps & { otherwise: string }) {
  const f = useField<boolean>(path, { tidy: !!tidy });
  return (
    <Frame id={f.id} label={label} hint={hint} mistake={f.mistake}>
      <select
        id={f.id}
        value={f.value === undefined ? "" : String(f.value)}
        onChange={(e) => f.set(e.currentTarget.value === "" ? undefined : e.currentTarget.value === "true")}
        {...described(f.id, f.mistake, hint)}
      >
        <option value="">{otherwise}</option>
        <option value="true">Yes</option>
        <option value="false">No</option>
      </select>
    </Frame>
  );
}

// Tags is a list of short texts. A text is added with Enter, a comma, or by leaving the field.
export function Tags({ path, label, hint, tidy, list, placeholder, keepEmpty }: FieldProps & { list?: string[]; placeholder?: string; keepEmpty?: boolean }) {
  const f = useField<string[]>(path, { deep: true, tidy: !!tidy });
  const [typed, setTyped] = useState("");
  const tags = Array.isArray(f.value) ? f.value : [];
  const put = (next: string[]) => f.set(next.length > 0 || keepEmpty ? next : undefined);
  const add = (text: string) => {
    const more = text.split(/[,\n]/).map((t) => t.trim()).filter((t) => t !== "" && !tags.includes(t));
    if (more.length > 0) put([...tags, ...new Set(more)]);
    setTyped("");
  };
  return (
    <Frame id={f.id} label={label} hint={hint} mistake={f.mistake}>
      <div class="tags">
        {tags.map((t, i) => (
          <span class="tag" key={i}>
            {String(t)}
            <button type="button" aria-label={`Remove ${t}`} onClick={() => put(tags.filter((_, n) => n !== i))}>
              ×
            </button>
          </span>
        ))}
        <input
          id={f.id}
          type="text"
          value={typed}
          placeholder={tags.length === 0 ? placeholder : ""}
          list={list && `${f.id}-list`}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          onInput={(e) => (e.currentTarget.value.includes(",") ? add(e.currentTarget.value) : setTyped(e.currentTarget.value))}
          onKeyDown={(e) => {
            if (e.key === "Enter" && typed.trim() !== "") {
              e.preventDefault();
              add(typed);
            } else if (e.key === "Backspace" && typed === "" && tags.length > 0) put(tags.slice(0, -1));
          }}
          onBlur={() => {
            add(typed);
            f.touch();
          }}
          {...described(f.id, f.mistake, hint)}
        />
      </div>
      {list && (
        <datalist id={`${f.id}-list`}>
          {list.filter((o) => !tags.includes(o)).map((o) => (
            <option key={o} value={o} />
          ))}
        </datalist>
      )}
    </Frame>
  );
}
