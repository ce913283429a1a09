// What of the file an editor needs besides the entry itself.
import { useMemo } from "preact/hooks";
import type { Known } from "./form/checks";
import { usePolled } from "./poll";
import type { Keys, Models, Providers, Routes } from "./types";

// useKnown returns what there is, without the entry that is edited; undefined until all has come.
export function useKnown(list: string, name: string | undefined): Known | undefined {
  const routes = usePolled<Routes>("/api/routes").value?.routes;
  const models = usePolled<Models>("/api/models").value?.models;
  const providers = usePolled<Providers>("/api/providers").value?.providers;
  const keys = usePolled<Keys>("/api/keys").value?.keys;
  const others = <T extends { name: string }>(entries: T[], of: string) => entries.filter((e) => of !== list || e.name !== name);
  const text =
    routes && models && providers && keys
      ? JSON.stringify({
          routes: others(routes, "routes").map((r) => r.name),
          models: others(models, "models").map((m) => m.name),
          providers: others(providers, "providers").map((p) => ({ name: p.name, type: p.type, models: p.models })),
          keys: others(keys, "keys").map((k) => k.name),
        } satisfies Known)
      : "";
  return useMemo(() => (text ? (JSON.parse(text) as Known) : undefined), [text]); // the same until something of it changes
}
