// Somebody has changed in the file what is being changed here. Nothing is overwritten before both have been seen.
import { Button, Notice } from "../ui/basic";
import type { Editing } from "./edit";
import { text } from "./paths";

export function Conflict<C extends object>({ editing: e, what }: { editing: Editing<C>; what: string }) {
  const theirs = e.theirs ? text(e.theirs).split("\n") : [];
  const mine = e.shown ? text(e.shown).split("\n") : [];
  const base = e.base ? text(e.base).split("\n") : [];
  return (
    <div id="conflict" tabIndex={-1} role="alert" class="conflict">
      <Notice
        tone="warn"
        title={e.gone ? `This ${what} has been removed from the file while you changed it` : `This ${what} has been changed in the file while you changed it`}
      >
        <p>Nothing of either is lost. Look at both, then choose.</p>
        <div class="versions">
          <Version title="In the file" lines={theirs} base={base} none={e.gone ? "It is not there any more." : undefined} />
          <Version title="Your draft" lines={mine} base={base} />
        </div>
        <div class="row">
          <Button onClick={e.discard}>{e.gone ? "Drop my draft" : "Take the file's version"}</Button>
          <Button onClick={e.rebase}>{e.gone ? "Keep my draft, and add it again" : "Keep my draft, and save over the file's version"}</Button>
        </div>
        <p class="small muted">Nothing is written before you save.</p>
      </Notice>
    </div>
  );
}

// Version shows a text, with the lines marked that the version from which both have come has not.
function Version({ title, lines, base, none }: { title: string; lines: string[]; base: string[]; none?: string | undefined }) {
  const marks = changed(lines, base);
  return (
    <figure>
      <figcaption>{title}</figcaption>
      {none ? (
        <p class="muted">{none}</p>
      ) : (
        <pre tabIndex={0}>
          {lines.map((line, i) => (
            <span key={i} class={marks[i] ? "changed" : ""}>
              {marks[i] ? "± " : "  "}
              {line}
              {"\n"}
            </span>
          ))}
        </pre>
      )}
    </figure>
  );
}

// changed says of each line whether it is no part of the longest common sequence with others.
export function changed(lines: string[], others: string[]): boolean[] {
  const width = others.length + 1;
  const length = new Uint32Array((lines.length + 1) * width);
  for (let i = lines.length - 1; i >= 0; i--) {
    for (let j = others.length - 1; j >= 0; j--) {
      const below = length[(i + 1) * width + j]!;
      const right = length[i * width + j + 1]!;
      length[i * width + j] = lines[i] === others[j] ? length[(i + 1) * width + j + 1]! + 1 : Math.max(below, right);
    }
  }
  const marks = lines.map(() => true);
  for (let i = 0, j = 0; i < lines.length && j < others.length; ) {
    if (lines[i] === others[j]) {
      marks[i++] = false;
      j++;
    } else if (length[(i + 1) * width + j]! >= length[i * width + j + 1]!) i++;
    else j++;
  }
  return marks;
}
