// The frame of an editor: what is edited, the fields, what is wrong, and what can be done.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { go, guardLeaving } from "../router";
import { Button, Empty, Head, Notice, Waiting } from "../ui/basic";
import { ask, confirm } from "../ui/dialog";
import { say } from "../ui/toast";
import { count } from "../words";
import { Conflict } from "./conflict";
import { FormContext, idOf, type Mistake } from "./context";
import type { Editing, Saved } from "./edit";
import { parent } from "./paths";

interface Props<C> {
  editing: Editing<C>;
  what: string; // "route"
  name: string | undefined; // undefined: a new one
  back: string; // where to go after it
  after?: (name: string) => string; // where to go when it was saved, if not back
  saved?: (answer: Saved) => void; // does what there is to do then instead
  fixed?: boolean; // it can't be removed
  gone?: ComponentChildren; // said when removing
  children: ComponentChildren;
}

export function EditPage<C extends object>({ editing: e, what, name, back, after, saved: done, fixed, gone, children }: Props<C>) {
  const summary = useRef<HTMLDivElement>(null);
  useLeaving(e.dirty, e.discard);

  const busy = useRef(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy.current) return; // a second press of Enter
    busy.current = true;
    try {
      await save();
    } finally {
      busy.current = false;
    }
  };

  const save = async () => {
    if (e.conflict) {
      document.getElementById("conflict")?.focus();
      return;
    }
    const trial = await e.attempt();
    const refused = trial?.problems.some((p) => p.level === "error");
    if (trial?.usable === false && !(await confirm(`Save a ${what} that can't serve?`, <Unusable what={what} reason={trial.reason} />, "Save anyway", "primary"))) return;
    const saved = refused ? undefined : await e.save();
    if (saved === undefined) {
      requestAnimationFrame(() => summary.current?.focus());
      return;
    }
    if (done) return done(saved);
    say(`Saved ${saved.name ? `${what} ${saved.name}` : what}.`);
    go(after && saved.name ? after(saved.name) : back);
  };

  const remove = async () => {
    if (!(await confirm(`Delete ${what} ${name}?`, gone, "Delete"))) return;
    if (!(await e.remove())) return;
    say(`Deleted ${what} ${name}.`);
    go(back);
  };

  const title = name === undefined ? `New ${what}` : name;
  if (!e.value) {
    return (
      <>
        <Head title={title} />
        {e.gone ? (
          <Empty title={`There is no ${what} ${name}`}>
            <a href={back}>Go back</a>
          </Empty>
        ) : (
          <Waiting error={e.error} value={undefined} />
        )}
      </>
    );
  }
  return (
    <form class="editor" noValidate onSubmit={(ev) => void submit(ev)} aria-label={title}>
      <Head
        title={name === undefined || fixed ? title : <span class="mono">{title}</span>}
        actions={
          !fixed &&
          name !== undefined &&
          !e.gone && (
            <Button kind="danger" onClick={() => void remove()}>
              Delete
            </Button>
          )
        }
      >
        <a href={back}>← Back</a>
      </Head>
      <div class="stack">
        <Waiting error={e.error} value={e.value} />
        {e.conflict && <Conflict editing={e} what={what} />}
        {e.gone && !e.conflict && (
          <Notice tone="warn" role="alert" title={`This ${what} is not in the file any more`}>
            <p>Saving adds it again.</p>
          </Notice>
        )}
        <FormContext.Provider value={e.form}>
          {children}
          <div ref={summary} tabIndex={-1} class="summary">
            <Wrong editing={e} what={what} />
          </div>
        </FormContext.Provider>
      </div>
      <div class="save">
        <Button kind="primary" type="submit" disabled={e.saving || (!e.dirty && name !== undefined && !e.gone)}>
          {e.saving ? "Saving…" : name === undefined ? `Add ${what}` : "Save"}
        </Button>
        <Button disabled={!e.dirty} onClick={e.discard}>
          Discard changes
        </Button>
        <span class="muted small" role="status">
          {e.dirty ? "Not saved yet. The draft is kept while this tab is open." : ""}
        </span>
      </div>
    </form>
  );
}

function Unusable({ what, reason }: { what: string; reason: string | undefined }) {
  return (
    <>
      <p>{reason}</p>
      <p>Clients of the {what} get 503 until that is put right.</p>
    </>
  );
}

// Wrong lists what keeps the entry from being saved, once that was tried: first why, then every mistake, with a link to
// its field where it has one.
function Wrong<C>({ editing: e, what }: { editing: Editing<C>; what: string }) {
  const form = e.form;
  const errors = e.errors;
  const homeless = form.mistakes.filter((m) => m.level !== "error" && !holder(form.claimed, m));
  if (!form.all && homeless.length === 0 && !e.failed) return null;
  return (
    <>
      {e.failed && (
        <Notice tone="bad" role="alert" title={`The ${what} was not saved`}>
          <p>{e.failed.message}</p>
        </Notice>
      )}
      {form.all && errors.length > 0 && (
        <Notice tone="bad" role="alert" title={`${count(errors.length, "thing")} to put right`}>
          <List mistakes={errors} claimed={form.claimed} />
        </Notice>
      )}
      {homeless.length > 0 && (
        <Notice tone="warn" title="Worth a look">
          <List mistakes={homeless} claimed={form.claimed} />
        </Notice>
      )}
    </>
  );
}

// holder returns the path of the field that shows a mistake: the one it is at, or the nearest around it.
function holder(claimed: Set<string>, m: Mistake): string | undefined {
  for (let path = m.path; path !== ""; path = parent(path)) {
    if (claimed.has(path)) return path;
  }
  return undefined;
}

function List({ mistakes, claimed }: { mistakes: Mistake[]; claimed: Set<string> }) {
  const focus = (path: string) => (event: Event) => {
    event.preventDefault();
    const field = document.getElementById(idOf(path));
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
  };
  return (
    <ul>
      {mistakes.map((m) => {
        const field = holder(claimed, m);
        return (
          <li key={m.path + m.message}>
            {field !== undefined ? (
              <a href={`#${idOf(field)}`} onClick={focus(field)}>
                <code>{m.path}</code>
              </a>
            ) : (
              m.path && <code>{m.path}</code>
            )}{" "}
            {m.message}
          </li>
        );
      })}
    </ul>
  );
}

// useLeaving warns before changes are left behind. A draft is kept in any case, unless it is thrown away.
function useLeaving(dirty: boolean, discard: () => void): void {
  useEffect(() => {
    if (!dirty) return;
    const unload = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", unload);
    const unguard = guardLeaving((leave) => {
      void ask("Leave without saving?", <p>What you have changed is not saved. It can be kept as a draft for as long as this tab is open.</p>, [
        { value: "stay", label: "Stay here" },
        { value: "discard", label: "Discard changes", kind: "danger" },
        { value: "keep", label: "Keep draft and leave", kind: "primary" },
      ]).then((answer) => {
        if (answer === "discard") discard();
        if (answer === "keep" || answer === "discard") leave();
      });
      return false;
    });
    return () => {
      removeEventListener("beforeunload", unload);
      unguard();
    };
  }, [dirty, discard]);
}
