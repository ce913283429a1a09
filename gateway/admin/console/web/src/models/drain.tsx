// Takes an engine out of every choice, and puts it back.
import { useState } from "preact/hooks";
import { at, Refusal, request } from "../api";
import { refresh } from "../poll";
import type { Instance } from "../types";
import { Button } from "../ui/basic";
import { say } from "../ui/toast";

export function Drain({ model, instance: i }: { model: string; instance: Instance }) {
  const [busy, setBusy] = useState(false);
  const drained = i.state === "drained";
  const act = async () => {
    setBusy(true);
    try {
      await request(at("models", model, "instances", i.name, "drain"), { method: drained ? "DELETE" : "POST" });
      say(drained ? `${i.name} takes requests again.` : `${i.name} gets no new requests. What it has runs on.`);
      refresh();
    } catch (e) {
      say(e instanceof Refusal ? e.message : String(e));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button small kind="quiet" disabled={busy} aria-label={`${drained ? "Put back" : "Drain"} ${i.name}`} onClick={() => void act()}>
      {drained ? "Put back" : "Drain"}
    </Button>
  );
}
