// The gateway and its routes file, besides the console.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { admin, gateway, patience, required } from "./browser.mjs";

export const key = required("GATEWAY_KEY");

// api asks the admin API.
export async function api(path, init = {}) {
  const response = await fetch(admin + path, { ...init, headers: { "Content-Type": "application/json", ...init.headers } });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

export const file = (await api("/api/status")).file.path;

// routes reads the routes file.
export const routes = async () => JSON.parse(await readFile(file, "utf8"));

// edit changes the routes file on disk, as an editor would, and waits until it serves.
export async function edit(change) {
  const was = await readFile(file, "utf8");
  const next = JSON.parse(was);
  change(next);
  await save(JSON.stringify(next, null, 2));
  return was;
}

// save writes the routes file, and waits until the gateway has seen it.
export async function save(text) {
  await writeFile(file, text);
  await until("the gateway sees the file", async () => {
    const { last_reload: last } = await api("/api/status");
    const served = last.result === "ok";
    let good = true;
    try {
      JSON.parse(text);
    } catch {
      good = false;
    }
    return served === good && (!good || (await same(text)));
  });
}

// same reports whether what serves is what the text says, by the routes' own words.
async function same(text) {
  const { routes } = await api("/api/routes");
  return JSON.stringify(routes.map((r) => r.config)) === JSON.stringify(JSON.parse(text).routes);
}

// until waits for a condition outside of the browser.
export async function until(what, condition) {
  const end = Date.now() + patience;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`it did not come true that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// chat asks a route as a client, and returns status and body.
export async function chat(model, headers = {}, secret = key) {
  const response = await fetch(`${gateway}/v1/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(secret && { Authorization: `Bearer ${secret}` }), ...headers },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Say hello." }] }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

// add puts a route into the file, unless it is there.
export async function add(route) {
  const { etag } = await api("/api/routes");
  await api("/api/routes", { method: "POST", body: JSON.stringify(route), headers: { "If-Match": etag } });
}
