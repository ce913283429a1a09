// How the console calls what the file calls otherwise.

export const routeBy: Record<string, string> = {
  target_weight: "Target weight",
  round_robin: "Round robin",
  policy: "Policy",
  unusable: "Unusable",
};

export const access: Record<string, string> = {
  public: "Public",
  authed: "Any valid key",
  allowed_users: "Allowed users",
};

// title makes a heading of a name of the file: session_affinity is Session affinity.
export function title(name: string): string {
  const words = name.replaceAll("_", " ").replace("inflight", "in-flight");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const count = (n: number, one: string, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export function list(names: string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

// host shows a URL by what tells it from others.
export const host = (url: string) => url.replace(/^https?:\/\//, "");
